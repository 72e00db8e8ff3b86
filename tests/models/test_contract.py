"""Both families keep the contract, and each check can fail."""

import dataclasses
from pathlib import Path

import pytest
import torch
from vlmdx.models import contract
from vlmdx.models.adapter import Row
from vlmdx.models.load import load

SHIPPED = Path(__file__).resolve().parents[2] / "resources" / "models"


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
def test_m06_x05_contract(adapter, check):
    check(adapter)


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


def test_float32_weights_give_float32_logits(adapter):
    prompt = adapter.render("Answer")
    shown = contract.image((100, 80))
    assert adapter.logits([Row(adapter.encode(prompt, shown), 0)], [shown]).dtype == torch.float32
