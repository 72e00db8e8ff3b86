"""Embeddings, and the file that holds them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, LlavaForConditionalGeneration
from vlmdx.images import pixel_sha256, png_bytes
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import CORRUPTED
from vlmdx.selection.embed import embed_images, embed_texts, item_text
from vlmdx.selection.embeddings import clean_images, read_embeddings, write_embeddings

LLAVA = Path(__file__).parents[2] / "resources" / "models" / "llava-demo"


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    flat = [np.full((40, 60, 3), colour, np.uint8) for colour in ((200, 20, 20), (20, 20, 200))]
    return [*flat, rng.integers(0, 256, (50, 33, 3), dtype=np.uint8), flat[0].copy()]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A tiny random CLIP with its image processor."""
    folder = tmp_path_factory.mktemp("clip")
    torch.manual_seed(0)
    tower = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = CLIPConfig(
        text_config={**tower, "vocab_size": 50}, vision_config={**tower, "image_size": 28, "patch_size": 14},
        projection_dim=12,
    )  # fmt: skip
    CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessor(size={"shortest_edge": 28}, crop_size=28).save_pretrained(folder)
    return folder


def check(vectors, width):
    assert vectors.dtype == np.float32 and vectors.shape == (4, width)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.allclose(vectors[0], vectors[3], atol=1e-6), "the same image twice"
    assert vectors[0] @ vectors[1] < 0.9999 and vectors[0] @ vectors[2] < 0.9999


def test_clip_gives_its_projected_image_embedding(clip, images):
    vectors = embed_images(iter(images), str(clip))
    check(vectors, 12)
    model, processor = CLIPModel.from_pretrained(clip).eval(), CLIPImageProcessor.from_pretrained(clip)
    with torch.inference_mode():
        hidden = model.vision_model(**processor(images=images[2], return_tensors="pt")).pooler_output
        alone = torch.nn.functional.normalize(model.visual_projection(hidden), dim=-1)[0].numpy()
    assert np.allclose(vectors[2], alone, atol=1e-5)


@pytest.mark.skipif(not (LLAVA / "config.json").exists(), reason="resources/models/llava-demo is not there")
def test_llava_gives_the_mean_patch_token_that_its_language_model_sees(images):
    vectors = embed_images(iter(images), str(LLAVA))
    model = LlavaForConditionalGeneration.from_pretrained(LLAVA, dtype=torch.float32).eval()
    check(vectors, model.config.vision_config.hidden_size)
    projected = []
    model.model.multi_modal_projector.register_forward_pre_hook(lambda _, inputs: projected.append(inputs[0]))
    processor = CLIPImageProcessor.from_pretrained(LLAVA)
    with torch.inference_mode():
        model.model.get_image_features(processor(images=images[2], return_tensors="pt")["pixel_values"])
        seen = torch.nn.functional.normalize(projected[0][0].mean(0), dim=-1).numpy()
    assert np.allclose(vectors[2], seen, atol=1e-4)


def test_another_kind_of_model_is_refused(tmp_path, images):
    from transformers import BertConfig, BertModel

    BertModel(
        BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    ).save_pretrained(tmp_path)
    CLIPImageProcessor().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="a bert model gives no image embedding"):
        embed_images(images, str(tmp_path))


def test_texts_embed_by_meaning_and_stand_for_question_and_options():
    text = item_text("What colour is the ball?", ["red", "blue"])
    assert text == "What colour is the ball?\nred\nblue" and item_text("Why?", None) == "Why?"
    near, far = "Which color does the ball have?\nred\nblue", "How many chairs stand behind the table?\n2\n3"
    vectors = embed_texts([text, near, far], "minilm")
    assert vectors.dtype == np.float32 and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > 0.8 > vectors[0] @ vectors[2]
    alone = embed_texts([far], "minilm")
    assert np.allclose(alone[0], vectors[2], atol=1e-5), "company in the batch must not matter"


def test_embeddings_come_back_in_the_order_of_the_items(tmp_path):
    path, rng = tmp_path / "e.safetensors", np.random.default_rng(0)
    image, text = rng.random((3, 4), dtype=np.float32), rng.random((3, 2), dtype=np.float32)
    write_embeddings(path, ["a", "b", "ü"], image, text, {"rule": "embed_pool"})
    again = read_embeddings(path, pa.table({"item_id": ["ü", "a", "b"]}))
    assert np.array_equal(again[0], image[[2, 0, 1]]) and np.array_equal(again[1], text[[2, 0, 1]])
    with pytest.raises(ContractError, match=r"e\.safetensors: made for another pool, e\.g\. c"):
        read_embeddings(path, pa.table({"item_id": ["a", "b", "ü", "c"]}))
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ContractError, match="not a readable file of embeddings"):
        read_embeddings(path, pa.table({"item_id": ["a"]}))
    with pytest.raises(ValueError, match="2 items, 3 image"):
        write_embeddings(path, ["a", "b"], image, text)


def test_clean_images_are_read_once_and_missing_ones_named(tmp_path, images):
    def shard(corruption, severity):
        rows = [
            {
                "image_id": f"i{number}",
                "corruption": corruption,
                "severity": severity,
                "image": {"bytes": png_bytes(rgb), "path": None},
                "sha256": pixel_sha256(rgb),
                "seed": None,
                "psnr": None,
                "ssim": 1.0,
            }
            for number, rgb in enumerate(images)
        ]
        write_table(tmp_path / f"{corruption}.parquet", rows, CORRUPTED)
        return tmp_path / f"{corruption}.parquet"

    found = dict(clean_images(shard("clean", 0), ["i2", "i0", "i2"]))
    assert list(found) == ["i0", "i2"] and np.array_equal(found["i2"], images[2])
    with pytest.raises(ContractError, match=r"image i9 and 0 more of the pool are missing"):
        list(clean_images(tmp_path / "clean.parquet", ["i0", "i9"]))
    with pytest.raises(ContractError, match="from the clean shard"):
        list(clean_images(shard("fog", 1), ["i0"]))
