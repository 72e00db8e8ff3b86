"""What each family does in its own way."""

import pytest
import torch
from vlmdx.models.adapter import Row
from vlmdx.models.load import load

from tests.models import tiny_families
from tests.models.tiny import picture


def test_m06_batch_equals_the_models_own_forward(every):
    prompts = [every.render("what dog " * n) for n in (1, 12, 60)]
    images = [picture(56, 56), picture(500, 375, 1), picture(900, 300, 2)]
    rows = [Row(every.encode(p, image), i) for i, (p, image) in enumerate(zip(prompts, images, strict=True))]
    batch = every.logits([*rows, Row(rows[0].ids, 0)], images)
    for i, (prompt, image) in enumerate(zip(prompts, images, strict=True)):
        with torch.no_grad():
            plain = every.model(**every.process(prompt, image)).logits[0, -1]
        torch.testing.assert_close(batch[i, 0], plain, atol=1e-4, rtol=0)
    torch.testing.assert_close(batch[3], batch[0], atol=1e-4, rtol=0)


def test_paligemma_given_answer_is_causal_and_the_prompt_is_not(tmp_path):
    adapter = tiny_families.opened("paligemma", tmp_path / "m")
    prompt, image = adapter.render("what option"), picture(60, 60)
    answer = adapter.answer_ids(prompt, "dog what")
    ids = adapter.encode(prompt, image)
    given = Row(torch.cat([ids, ids.new_tensor(answer)]), 0, len(answer) + 1)
    kept = adapter.logits([given, Row(ids, 0)], [image])
    whole = adapter.processor(
        text=["<image>what option"], images=[image], suffix=["dog what"], return_tensors="pt"
    )  # ends with the end-of-sequence token, which is not scored
    del whole["labels"]
    with torch.no_grad():
        plain = adapter.model(**whole).logits[0, -len(answer) - 2 : -1]
    assert whole["input_ids"][0, -len(answer) - 1 : -1].tolist() == answer
    torch.testing.assert_close(kept[0], plain, atol=1e-4, rtol=0)


def test_m10_exactly_one_bos_where_the_family_has_one(every):
    ids = every.encode(every.render("what"), picture(60, 60)).tolist()
    bos = every.processor.tokenizer.bos_token_id
    assert ids.count(bos) == (bos is not None)


def test_x02_paligemma_2_is_not_opened_with_an_attention_it_cannot_have(tmp_path):
    folder = str(tiny_families.build("paligemma", tmp_path / "m"))
    with pytest.raises(ValueError, match=r"cannot be opened with `attention: sdpa`, `dtype: float32`: .*eager"):
        load(folder, device="cpu")


def test_m01_onevision_answers_after_the_prompts_own_end(tmp_path):
    """The released template heads a given answer with one space more than the prompt's end has."""
    adapter = tiny_families.opened("llava_onevision", tmp_path / "m")
    prompt = adapter.render("what")
    assert prompt.endswith("<|im_start|>assistant\n") and adapter.separator == ""
    template = adapter.processor.chat_template
    adapter.processor.chat_template = template.replace("<|im_end|>{% endfor %}", "<|im_end|>{% endfor %}<think>")
    del adapter.separator
    with pytest.raises(ValueError, match="thinking"):
        _ = adapter.separator


def test_x06_qwen3_vl_cells_are_32_pixels(tmp_path):
    adapter = tiny_families.opened("qwen3_vl", tmp_path / "m")
    (view,) = adapter.views(picture(500, 375))
    assert view.grid == (12, 16)
