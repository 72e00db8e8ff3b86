"""Every family keeps the contract, and each check can fail: deliberately broken copies of an adapter."""

import copy
import dataclasses
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner
from vlmdx.cli import app
from vlmdx.models import contract
from vlmdx.models.adapter import Row
from vlmdx.models.load import load

SHIPPED = Path(__file__).resolve().parents[2] / "resources" / "models"


def test_m06_x05_doctor_finds_every_family_in_order(every):
    attention = every.model.config._attn_implementation
    words = ["doctor", every.source, "--device", "cpu", "--attention", attention]
    result = CliRunner(env={"COLUMNS": "300"}).invoke(app, words)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("passed") == 1 + len(contract.CHECKS) and "failed" not in result.stdout


@pytest.mark.parametrize("folder", sorted(SHIPPED.glob("*-demo")), ids=lambda folder: folder.name)
def test_shipped_demo_models_keep_the_contract(folder):
    demo = load(str(folder), device="cpu")
    for check in contract.CHECKS:
        check(demo)


def broken(adapter, **methods):
    """A copy of ``adapter`` whose class has other methods."""
    kind = type("Broken", (type(adapter),), methods)
    fields = {f.name: getattr(adapter, f.name) for f in dataclasses.fields(adapter) if f.init and f.name[0] != "_"}
    return kind(**fields)


def test_check_span_notices_a_wrong_grid(adapter):
    wrong = broken(adapter, image_grids=lambda self, inputs: [(1, 1)], check_image=lambda self, inputs: None)
    with pytest.raises(contract.CheckFailed, match=r"grid 1 x 1"):
        contract.check_span(wrong)


def test_check_span_notices_a_span_off_by_one(adapter):
    def image_span(self, ids):
        start, length = type(adapter).image_span(self, ids)
        return start + 1, length

    with pytest.raises(contract.CheckFailed, match="is not where the image tokens are"):
        contract.check_span(broken(adapter, image_span=image_span))


def test_check_span_notices_rows_and_columns_swapped(qwen_folder):
    adapter = load(str(qwen_folder), device="cpu")
    swapped = broken(adapter, image_grids=lambda self, i: [g[::-1] for g in type(adapter).image_grids(self, i)])
    with pytest.raises(contract.CheckFailed, match="swapped"):
        contract.check_span(swapped)


def test_check_letters_notices_one_wrong_letter(adapter):
    def letter_ids(self, prompt, n):
        ids = type(adapter).letter_ids(self, prompt, n)
        return [ids[0], ids[2], ids[1], *ids[3:]]

    with pytest.raises(contract.CheckFailed, match="letter B: joint encoding"):
        contract.check_letters(broken(adapter, letter_ids=letter_ids))


def test_check_letters_notices_ids_of_another_place(adapter):
    wrong = broken(adapter, letter_ids=lambda self, prompt, n: list(range(40, 40 + n)))
    with pytest.raises(contract.CheckFailed, match="joint encoding"):
        contract.check_letters(wrong)


def test_check_text_side_notices_pixels_of_another_image(adapter):
    other = contract.image((64, 64))
    wrong = broken(adapter, pixels=lambda self, images: type(adapter).pixels(self, [other for _ in images]))
    with pytest.raises(contract.CheckFailed, match="pixel_values"):
        contract.check_text_side(wrong)


def test_check_batch_notices_the_last_column_read_instead_of_the_last_token(adapter):
    def logits(self, rows, images):
        text = self.text_inputs(rows)
        last = torch.full((len(rows), 1), text["input_ids"].shape[1] - 1)
        vision = self.vision_inputs(images, [row.image for row in rows])
        with torch.no_grad():
            return self.model(**text, **vision, logits_to_keep=last, use_cache=False).logits.float()

    wrong = broken(adapter, logits=logits)
    with pytest.raises(contract.CheckFailed, match="probabilities differ"):
        contract.check_batch(wrong)
    with pytest.raises(contract.CheckFailed, match="padded left and right"):
        contract.check_padding(wrong)


def test_check_batch_and_padding_notice_padding_that_is_attended_to(adapter):
    def logits(self, rows, images):
        text = self.text_inputs(rows)
        last = text["attention_mask"].shape[1] - 1 - text["attention_mask"].flip(-1).argmax(-1)
        text["attention_mask"] = torch.ones_like(text["attention_mask"])
        vision = self.vision_inputs(images, [row.image for row in rows])
        with torch.no_grad():
            return self.model(**text, **vision, logits_to_keep=last[:, None], use_cache=False).logits.float()

    wrong = broken(adapter, logits=logits)
    failed = {verdict.check for verdict in contract.examine(wrong) if not verdict.passed}
    # Padded on the right, a causal model never looks at the padding: only the left side shows this defect.
    assert failed == {"padding"}
    left = broken(adapter, logits=logits)
    left.padding_side = "left"
    with pytest.raises(contract.CheckFailed, match=r"sample 0 alone and as row 0 of 3: probabilities differ"):
        contract.check_batch(left)


def test_check_image_notices_a_blind_model(adapter):
    def first_image_for_all(self, images, which):
        return type(adapter).vision_inputs(self, images, [0] * len(which))

    blind = broken(adapter, vision_inputs=first_image_for_all)
    with pytest.raises(contract.CheckFailed, match="same logits"):
        contract.check_image(blind)


def test_check_memory_and_hooks_notice_a_model_that_changes(adapter):
    def logits(self, rows, images):
        self.calls = getattr(self, "calls", 0) + 1
        return type(adapter).logits(self, rows, images) + self.calls

    with pytest.raises(contract.CheckFailed, match="after another one"):
        contract.check_memory(broken(adapter, logits=logits))
    with pytest.raises(contract.CheckFailed, match="inactive hook"):
        contract.check_hooks(broken(adapter, logits=logits))


def test_check_hooks_notices_a_layer_that_never_runs(adapter):
    layers = torch.nn.ModuleList([*adapter.decoder_layers, torch.nn.Identity()])
    with pytest.raises(contract.CheckFailed, match="firings"):
        contract.check_hooks(broken(adapter, decoder_layers=layers))


def test_check_hooks_notices_a_hook_left_behind(adapter):
    module, handles = adapter.decoder_layers[0].self_attn, []

    def logits(self, rows, images):
        handles.append(module.register_forward_hook(lambda module, inputs, output: None))
        return type(adapter).logits(self, rows, images)

    wrong = broken(adapter, logits=logits)
    try:
        failed = {verdict.check: verdict.detail for verdict in contract.examine(wrong) if not verdict.passed}
    finally:
        for handle in handles:
            handle.remove()
    assert set(failed) == {"hooks"} and "hooks are left on the model" in failed["hooks"]


def test_check_knockout_notices_layers_in_another_order(adapter):
    layers = torch.nn.ModuleList([*adapter.decoder_layers][::-1])
    with pytest.raises(contract.CheckFailed, match="after the last layer changes the answer"):
        contract.check_knockout(broken(adapter, decoder_layers=layers))


def test_x03_check_knockout_notices_layers_that_are_not_the_models(adapter):
    with pytest.raises(contract.CheckFailed, match="after the first layer changes nothing"):
        contract.check_knockout(broken(adapter, decoder_layers=copy.deepcopy(adapter.decoder_layers)))


def test_m08_logits_that_are_not_numbers_fail_with_the_precision_named(adapter):
    wrong = broken(adapter, logits=lambda self, r, i: type(adapter).logits(self, r, i) * float("nan"))
    failed = {verdict.check: verdict.detail for verdict in contract.examine(wrong) if not verdict.passed}
    assert failed["batch"] == "logits of the letters are not finite in torch.float32"


def test_every_failure_becomes_a_verdict(adapter):
    def decoder_layers(self):
        raise AttributeError("no layers here")

    wrong = broken(adapter, decoder_layers=property(decoder_layers))
    verdicts = list(contract.examine(wrong))
    assert [v.check for v in verdicts] == [c.__name__.removeprefix("check_").replace("_", " ") for c in contract.CHECKS]
    assert {v.check: v.detail for v in verdicts if not v.passed} == {
        "hooks": "AttributeError: no layers here",
        "knockout": "AttributeError: no layers here",
    }


def test_float32_weights_give_float32_logits(adapter):
    prompt = adapter.render("Answer")
    shown = contract.image((100, 80))
    assert adapter.logits([Row(adapter.encode(prompt, shown), 0)], [shown]).dtype == torch.float32
