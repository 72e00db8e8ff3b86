"""Opening models: by id and revision, with their own templates and settings, and with clear words where they miss."""

import shutil

import pytest
from transformers import Qwen2VLImageProcessorPil
from vlmdx.models.load import load

from tests.models.tiny import picture


def test_s11_cached_snapshot_is_opened_by_id_and_revision(llava_folder, tmp_path, monkeypatch):
    revision = "0123456789abcdef0123456789abcdef01234567"
    cache = tmp_path / "models--org--tiny.v1"
    shutil.copytree(llava_folder, cache / "snapshots" / revision)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    adapter = load("org/tiny.v1", revision=revision, device="cpu")
    assert adapter.source == "org/tiny.v1"
    with pytest.raises(FileNotFoundError, match="vlmdx fetch"):
        load("org/tiny.v1", revision="f" * 40)


@pytest.mark.parametrize("name", ["Qwen2.5-VL 3B (x)", "a__b", "dots.and.more.dots/"])
def test_s01_folder_names_with_dots_spaces_and_slashes(llava_folder, tmp_path, name):
    shutil.copytree(llava_folder, tmp_path / name)
    assert load(f"{tmp_path}/{name}", device="cpu").describe()["family"] == "llava"


def test_unknown_family_lists_the_known_ones(llava_folder):
    with pytest.raises(ValueError, match=r"'bert' has no adapter; known: gemma3, .*llava, .*qwen2_5_vl.*vlmdx doctor"):
        load(str(llava_folder), family="bert")


def test_m10_missing_chat_template_is_a_clear_error(llava_folder, tmp_path):
    folder = tmp_path / "base"
    shutil.copytree(llava_folder, folder)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ValueError, match="no chat template"):
        load(str(folder), device="cpu").render("Answer")


def test_m10_a_template_that_thinks_first_is_refused(llava_folder, tmp_path):
    folder = tmp_path / "thinking"
    shutil.copytree(llava_folder, folder)
    template = (folder / "chat_template.jinja").read_text()
    thinking = "{% if m['role'] == 'assistant' %}<think></think>{% endif %}{% for p in m['content'] %}"
    (folder / "chat_template.jinja").write_text(template.replace("{% for p in m['content'] %}", thinking))
    adapter = load(str(folder), device="cpu")
    with pytest.raises(ValueError, match="thinking"):
        adapter.letter_ids(adapter.render("Answer"), 2)


def test_m10_bos_of_template_and_tokenizer_are_not_both_added(llava_folder, tmp_path):
    folder = tmp_path / "bos"
    shutil.copytree(llava_folder, folder)
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").write_text("<s>" + template)
    for source in (folder, llava_folder):
        adapter = load(str(source), device="cpu")
        ids = adapter.encode(adapter.render("Answer"), picture(40, 40)).tolist()
        assert ids.count(adapter.processor.tokenizer.bos_token_id) == 1
        assert ids[0] == adapter.processor.tokenizer.bos_token_id


def test_m10_a_model_without_bos_gets_none(qwen_folder):
    adapter = load(str(qwen_folder), device="cpu")
    assert adapter.processor.tokenizer.bos_token is None
    first = adapter.encode(adapter.render("Answer"), picture(40, 40))[0].item()
    assert adapter.processor.tokenizer.convert_ids_to_tokens(first) == "<|im_start|>"


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_attention_and_dtype_are_those_asked_for(qwen_folder, attention):
    adapter = load(str(qwen_folder), attention=attention, dtype="bfloat16", device="cpu")
    assert adapter.describe()["attention"] == attention
    assert adapter.describe()["dtype"] == "torch.bfloat16"


def test_m09_description_tells_image_processors_apart(qwen_folder):
    adapter = load(str(qwen_folder), device="cpu")
    before = adapter.describe()
    adapter.processor.image_processor = Qwen2VLImageProcessorPil.from_pretrained(qwen_folder)
    assert before["image_processor"]["class"] == "Qwen2VLImageProcessor"
    assert adapter.describe() != before
