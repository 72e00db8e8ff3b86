"""Tiny random models of families that have no adapter here: two that the generic adapter fits, one that it does not."""

import torch
import transformers as hf

from tests.models import templates, vocabularies
from tests.models.tiny_families import SIGLIP, SMALL_TEXT, llama


def vipllava():
    """Like LLaVA, with features of several vision layers."""
    words = vocabularies.llama("<image>")
    config = hf.VipLlavaConfig(
        vision_config={"model_type": "clip_vision_model", **SIGLIP, "image_size": 56, "patch_size": 14},
        text_config=llama(words),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_layers=[-2, -1],
        image_seq_length=16,
    )
    processor = hf.LlavaProcessor(
        hf.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}),
        words,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=templates.LLAVA,
    )
    return hf.VipLlavaForConditionalGeneration(config), processor


def aya_vision():
    """Tiles, and an image token that is not the placeholder of the prompt."""
    marks = ("<image>", "<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "TILE", "TILE_GLOBAL")
    words = vocabularies.llama(*marks, "<|IMG_LINE_BREAK|>")
    config = hf.AyaVisionConfig(
        vision_config={"model_type": "siglip_vision_model", **SIGLIP, "image_size": 56, "patch_size": 14},
        text_config=llama(words),
        image_token_index=words.convert_tokens_to_ids("<|IMG_PATCH|>"),
        downsample_factor=2,
    )
    processor = hf.AyaVisionProcessor(
        hf.GotOcr2ImageProcessor(size={"height": 56, "width": 56}, crop_to_patches=True, max_patches=4),
        words,
        patch_size=14,
        img_size=56,
        downsample_factor=2,
        chat_template=templates.LLAVA,
    )
    return hf.AyaVisionForConditionalGeneration(config), processor


def mllama():
    """Cross-attention with a mask that depends on text and image together."""
    words = vocabularies.byte_level("<|image|>", bos="<|begin_of_text|>", eos="<|eot_id|>")
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_global_layers": 1}
    vision |= {"attention_heads": 2, "image_size": 56, "patch_size": 14, "vision_output_dim": 64, "max_num_tiles": 4}
    config = hf.MllamaConfig(
        vision_config=vision
        | {"intermediate_layers_indices": [0], "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1], [2, 2]]},
        text_config={
            **SMALL_TEXT,
            "vocab_size": len(words),
            "cross_attention_layers": [1],
            "rope_scaling": {"rope_type": "default"},
            **{f"{name}_token_id": 0 for name in ("pad", "bos", "eos")},
        },
        image_token_index=words.convert_tokens_to_ids("<|image|>"),
    )
    processor = hf.MllamaProcessor(
        hf.MllamaImageProcessor(size={"height": 56, "width": 56}, max_image_tiles=4),
        words,
        chat_template=templates.LLAVA.replace("<image>", "<|image|>"),
    )
    return hf.MllamaForConditionalGeneration(config), processor


FAMILIES = {build.__name__: build for build in (vipllava, aya_vision, mllama)}


def build(name, folder):
    """Save the tiny model of family ``name`` to ``folder``, which is returned."""
    torch.manual_seed(0)
    model, processor = FAMILIES[name]()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
