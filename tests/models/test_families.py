"""The further families keep the contract too."""

import pytest
import torch
from vlmdx.models import contract
from vlmdx.models.adapter import Row
from vlmdx.models.load import load

from tests.models import tiny_families
from tests.models.tiny import picture


@pytest.fixture(scope="module", params=tiny_families.FAMILIES)
def other(request, tmp_path_factory):
    return load(str(tiny_families.build(request.param, tmp_path_factory.mktemp(request.param))), device="cpu")


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
def test_m06_x05_contract(other, check):
    check(other)


def test_m06_batch_equals_the_models_own_forward(other):
    prompts = [other.render("what dog " * n) for n in (1, 12, 60)]
    images = [picture(56, 56), picture(500, 375, 1), picture(900, 300, 2)]
    rows = [Row(other.encode(p, image), i) for i, (p, image) in enumerate(zip(prompts, images, strict=True))]
    batch = other.logits([*rows, Row(rows[0].ids, 0)], images)
    for i, (prompt, image) in enumerate(zip(prompts, images, strict=True)):
        with torch.no_grad():
            plain = other.model(**other.process(prompt, image)).logits[0, -1]
        torch.testing.assert_close(batch[i, 0], plain, atol=1e-4, rtol=0)
    torch.testing.assert_close(batch[3], batch[0], atol=1e-4, rtol=0)


def test_paligemma_given_answer_is_causal_and_the_prompt_is_not(tmp_path):
    adapter = load(str(tiny_families.build("paligemma", tmp_path / "m")), device="cpu")
    prompt, image = adapter.render("what option"), picture(60, 60)
    answer = adapter.answer_ids(prompt, "dog what")
    ids = adapter.encode(prompt, image)
    kept = adapter.logits([Row(torch.cat([ids, ids.new_tensor(answer)]), 0, 3), Row(ids, 0)], [image])
    whole = adapter.processor(
        text=["<image>what option"], images=[image], suffix=["dog what"], return_tensors="pt"
    )  # ends with the end-of-sequence token, which is not scored
    del whole["labels"]
    with torch.no_grad():
        plain = adapter.model(**whole).logits[0, -4:-1]
    assert whole["input_ids"][0, -3:-1].tolist() == answer
    torch.testing.assert_close(kept[0], plain, atol=1e-4, rtol=0)


def test_tiled_families_refuse_a_grid(tmp_path):
    adapter = load(str(tiny_families.build("llava_next", tmp_path / "m")), device="cpu")
    with pytest.raises(NotImplementedError, match="no single token grid"):
        adapter.image_grids(adapter.process(adapter.render("what"), picture(60, 60)))


def test_x06_qwen3_vl_cells_are_32_pixels(tmp_path):
    adapter = load(str(tiny_families.build("qwen3_vl", tmp_path / "m")), device="cpu")
    inputs = adapter.process(adapter.render("what"), picture(500, 375))
    assert adapter.image_grids(inputs) == [(12, 16)]
