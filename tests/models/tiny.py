"""Tiny random models of the real architectures with their real processors, saved and reopened like released ones."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from tests.models import templates, vocabularies

TEXT = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "max_position_embeddings": 4096,
    # Random weights of the usual scale give nearly flat logits, in which no error would show.
    "initializer_range": 0.2,
}


def build(name: str, folder: Path) -> Path:
    """Save the tiny model ``qwen`` or ``llava`` to ``folder``, which is returned."""
    torch.manual_seed(0)
    model, processor = {"qwen": _qwen, "llava": _llava}[name]()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _qwen():
    tokenizer = vocabularies.qwen()
    ids = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            **TEXT,
            "vocab_size": len(tokenizer),
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [2, 3, 3]},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 64,
            "out_hidden_size": 48,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.2,
        },
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    processor = Qwen2_5_VLProcessor(
        Qwen2VLImageProcessor(), tokenizer, Qwen2VLVideoProcessor(), chat_template=templates.QWEN2_VL
    )
    return Qwen2_5_VLForConditionalGeneration(config), processor


def _llava():
    tokenizer = vocabularies.llama("<image>")
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=70,
        patch_size=14,
        initializer_range=0.2,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=LlamaConfig(**TEXT, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=25,
    )
    processor = LlavaProcessor(
        CLIPImageProcessor(size={"shortest_edge": 70}, crop_size={"height": 70, "width": 70}),
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=templates.LLAVA,
    )
    return LlavaForConditionalGeneration(config), processor


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    """An image of seeded noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)
