"""Prompts, images and image tokens of both families."""

import pytest
import torch
from PIL import Image
from vlmdx.models.adapter import Row
from vlmdx.models.load import load
from vlmdx.models.tokens import PromptError

from tests.models.tiny import picture


def test_m06_batch_equals_the_models_own_forward(adapter):
    prompts = [adapter.render("what color is the dog " * n) for n in (1, 12, 60)]
    images = [picture(56, 56), picture(500, 375, 1), picture(900, 300, 2)]
    rows = [Row(adapter.encode(p, image), i) for i, (p, image) in enumerate(zip(prompts, images, strict=True))]
    batch = adapter.logits(rows, images)
    for i, (prompt, image) in enumerate(zip(prompts, images, strict=True)):
        with torch.no_grad():
            plain = adapter.model(**adapter.process(prompt, image)).logits[0, -1]
        torch.testing.assert_close(batch[i, 0], plain, atol=1e-4, rtol=0)


def test_kept_positions_are_the_last_real_tokens(adapter):
    prompts = [adapter.render("what"), adapter.render("what color is the dog")]
    image = picture(60, 60)
    ids = [adapter.encode(prompt, image) for prompt in prompts]
    kept = adapter.logits([Row(ids[0], 0, 1), Row(ids[1], 0, 3)], [image])
    assert kept.shape[:2] == (2, 3)
    with torch.no_grad():
        whole = [adapter.model(**adapter.process(prompt, image)).logits[0] for prompt in prompts]
    torch.testing.assert_close(kept[1], whole[1][-3:], atol=1e-4, rtol=0)
    torch.testing.assert_close(kept[0], whole[0][-1:].expand(3, -1), atol=1e-4, rtol=0)


def test_m11_no_image_answers_for_another(adapter):
    prompt = adapter.render("what color is the dog")
    versions = [Image.new("RGB", (84, 84), color) for color in ("red", "blue")] + [picture(84, 84, i) for i in range(5)]
    rows = [Row(adapter.encode(prompt, image), i) for i, image in enumerate(versions)]
    together = adapter.logits(rows, versions)
    for i, image in enumerate(versions):
        adapter._encoded.clear()  # as a fresh process
        alone = adapter.logits([Row(adapter.encode(prompt, image), 0)], [image])[0]
        torch.testing.assert_close(together[i], alone, atol=1e-4, rtol=0)
    assert len({tuple(row.flatten().tolist()) for row in together}) == len(versions)


def test_m11_rows_that_share_an_image_get_its_features(adapter):
    prompts = [adapter.render(text) for text in ("what", "what color", "dog")]
    images = [picture(84, 84, 0), picture(140, 56, 1)]
    shown = [1, 0, 1]
    rows = [Row(adapter.encode(p, images[i]), i) for p, i in zip(prompts, shown, strict=True)]
    together = adapter.logits(rows, images)
    for k, i in enumerate(shown):
        alone = adapter.logits([Row(rows[k].ids, 0)], [images[i]])[0]
        torch.testing.assert_close(together[k], alone, atol=1e-4, rtol=0)


def test_prompts_are_not_kept_without_end(adapter, monkeypatch):
    monkeypatch.setattr("vlmdx.models.adapter.MOST_ENCODED", 2)
    adapter._encoded.clear()
    prompts = [adapter.render(text) for text in ("what", "what color", "dog", "what")]
    image = picture(60, 60)
    ids = [adapter.encode(prompt, image).tolist() for prompt in prompts]
    assert len(adapter._encoded) == 2
    assert ids[0] == ids[3] and len({tuple(each) for each in ids}) == 3


def test_m09_long_prompt_with_large_image_is_never_cut(qwen_folder):
    adapter = load(str(qwen_folder), device="cpu", max_pixels=200704)
    prompt = adapter.render("word " * 2000)
    ids = adapter.encode(prompt, picture(3000, 2000))
    assert 0 < adapter.image_tokens(ids[None])[0] <= 256
    assert len(ids) > 2000 + adapter.image_tokens(ids[None])[0]
    assert adapter.describe()["image_processor"]["size"]["longest_edge"] == 200704


def test_m09_prompt_beyond_the_context_is_set_aside_not_cut(adapter):
    with pytest.raises(PromptError, match="longer than the model's context of 4096"):
        adapter.encode(adapter.render("dog " * 5000), picture(60, 60))


def test_m09_pixel_budget_that_the_processor_ignores_is_noticed(llava_folder, qwen_folder):
    adapter = load(str(llava_folder), device="cpu", max_pixels=70 * 70 - 1)
    with pytest.raises(PromptError, match=r"makes 4900 pixels.*max_pixels=4899"):
        adapter.encode(adapter.render("dog"), picture(60, 60))
    adapter = load(str(qwen_folder), device="cpu", max_pixels=784)
    with pytest.raises(PromptError, match="over max_pixels=784"):
        adapter.encode(adapter.render("dog"), picture(150, 10))


def test_m09_image_tokens_that_do_not_match_the_grid_are_refused(adapter):
    inputs = adapter.process(adapter.render("dog"), picture(140, 84))
    inputs["input_ids"] = inputs["input_ids"].clone()
    inputs["input_ids"][inputs["input_ids"] == adapter.image_token_id] = 0
    with pytest.raises(PromptError, match="no image tokens"):
        adapter.check_image(inputs)


@pytest.mark.parametrize("size", [(31, 31), (32, 32), (332, 27), (20, 20), (1, 1), (337, 336)])
def test_c02_tiny_images_are_enlarged_by_the_processor(adapter, size):
    image = picture(*size)
    ids = adapter.encode(adapter.render("dog"), image)
    assert adapter.image_tokens(ids[None])[0] >= 4
    assert torch.isfinite(adapter.logits([Row(ids, 0)], [image])).all()


def test_c02_image_that_the_processor_refuses_is_set_aside(qwen_folder):
    adapter = load(str(qwen_folder), device="cpu")
    with pytest.raises(PromptError, match=r"refuses.*aspect ratio"):
        adapter.encode(adapter.render("dog"), picture(1, 300))


def test_image_placeholder_in_the_question_is_refused(adapter):
    with pytest.raises(PromptError, match="refuses"):
        adapter.encode(adapter.render(f"what {adapter.processor.image_token} dog"), picture(60, 60))


def test_x06_qwen_grid_and_box(qwen_folder):
    adapter = load(str(qwen_folder), device="cpu")
    (view,) = adapter.views(picture(500, 375))
    assert view.grid == (13, 18)
    assert adapter.views(picture(640, 480))[0].grid == (17, 23)
    assert view.tokens_in((100, 100, 5, 5)) == [57]
    assert view.tokens_in((490, 360, 50, 50)) == [233]
    assert view.tokens_in((600, 100, 5, 5)) == []
    assert view.tokens_in((-50, -50, 600, 600)) == view.tokens == list(range(234))


def test_x06_llava_crop_removes_the_sides(llava_folder):
    adapter = load(str(llava_folder), device="cpu")
    # 500 x 375 -> 93 x 70 -> the middle 70 columns: x below 62 and above 438 are cut away
    (view,) = adapter.views(picture(500, 375))
    assert view.grid == (5, 5)
    assert view.tokens_in((0, 0, 55, 375)) == []
    assert view.tokens_in((445, 0, 55, 375)) == []
    assert view.tokens_in((0, 0, 500, 375)) == list(range(25))
    assert view.tokens_in((245, 180, 10, 10), "centre") == [12]
    assert view.tokens_in((245, 180, 10, 10), "half") == []
