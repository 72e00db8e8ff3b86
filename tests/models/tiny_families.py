"""Tiny random models of the further families, with their real processors, templates and kind of tokenizer."""

import torch
import transformers as hf
from vlmdx.models.load import load

from tests.models import templates, vocabularies
from tests.models.tiny import TEXT

SMALL_TEXT = {**TEXT, "hidden_size": 48, "head_dim": 16}
SIGLIP = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.2,
}
TILES = [f"<row_{i}_col_{j}>" for i in range(1, 7) for j in range(1, 7)]


def llama(words: hf.PreTrainedTokenizerFast) -> dict:
    """Config of a tiny Llama."""
    return {"model_type": "llama", **SMALL_TEXT, "vocab_size": len(words), "pad_token_id": words.pad_token_id}


def qwen2_vl():
    words = vocabularies.qwen()
    ids = words.convert_tokens_to_ids
    config = hf.Qwen2VLConfig(
        text_config={
            **TEXT,
            "vocab_size": len(words),
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [2, 3, 3]},
        },
        vision_config={"depth": 2, "embed_dim": 32, "num_heads": 2, "hidden_size": 48, "initializer_range": 0.2},
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
    )
    processor = hf.Qwen2VLProcessor(
        hf.Qwen2VLImageProcessor(), words, hf.Qwen2VLVideoProcessor(), chat_template=templates.QWEN2_VL
    )
    return hf.Qwen2VLForConditionalGeneration(config), processor


def qwen3_vl():
    words = vocabularies.qwen()
    ids = words.convert_tokens_to_ids
    config = hf.Qwen3VLConfig(
        text_config={
            **SMALL_TEXT,
            "vocab_size": len(words),
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [2, 3, 3]},
        },
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 64,
            "out_hidden_size": 48,
            "deepstack_visual_indexes": [0, 1],
            "num_position_embeddings": 64,
            "initializer_range": 0.2,
        },
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
    )
    pixels = {"patch_size": 16, "merge_size": 2, "min_pixels": 4 * 32 * 32, "max_pixels": 400 * 32 * 32}
    processor = hf.Qwen3VLProcessor(
        hf.Qwen2VLImageProcessor(**pixels),
        words,
        hf.Qwen3VLVideoProcessor(),
        chat_template=templates.QWEN3_VL,
    )
    return hf.Qwen3VLForConditionalGeneration(config), processor


def llava_next():
    words, side = vocabularies.llama("<image>"), 56
    pinpoints = [[56, 112], [112, 56], [112, 112]]
    config = hf.LlavaNextConfig(
        vision_config={"model_type": "clip_vision_model", **SIGLIP, "image_size": side, "patch_size": 14},
        text_config=llama(words),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=pinpoints,
    )
    processor = hf.LlavaNextProcessor(
        hf.LlavaNextImageProcessor(
            size={"shortest_edge": side}, crop_size={"height": side, "width": side}, image_grid_pinpoints=pinpoints
        ),
        words,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=templates.LLAVA_NEXT,
    )
    return hf.LlavaNextForConditionalGeneration(config), processor


def llava_onevision():
    words, side = vocabularies.qwen("<image>", "<video>"), 56
    pinpoints = [[56, 56], [56, 112], [112, 56], [112, 112]]
    config = hf.LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", **SIGLIP, "image_size": side, "patch_size": 14},
        text_config=llama(words),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        video_token_index=words.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
    )
    processor = hf.LlavaOnevisionProcessor(
        hf.LlavaOnevisionImageProcessor(size={"height": side, "width": side}, image_grid_pinpoints=pinpoints),
        words,
        hf.LlavaOnevisionVideoProcessor(),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=templates.LLAVA_ONEVISION,
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def internvl():
    marks = {"start_image_token": "<img>", "end_image_token": "</img>"}
    marks |= {"context_image_token": "<IMG_CONTEXT>", "video_token": "<video>"}
    words = vocabularies.qwen(*marks.values(), **marks)
    config = hf.InternVLConfig(
        vision_config={**SIGLIP, "image_size": [56, 56], "patch_size": [14, 14]},
        text_config=llama(words),
        image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    processor = hf.InternVLProcessor(
        hf.GotOcr2ImageProcessor(size={"height": 56, "width": 56}, crop_to_patches=True, max_patches=4),
        words,
        hf.InternVLVideoProcessor(),
        image_seq_length=4,
        chat_template=templates.INTERNVL,
    )
    return hf.InternVLForConditionalGeneration(config), processor


def idefics3():
    words = vocabularies.byte_level(
        "<image>",
        "<fake_token_around_image>",
        "<global-img>",
        "<end_of_utterance>",
        *TILES,
        bos="<|begin_of_text|>",
        eos="<|end_of_text|>",
    )
    config = hf.Idefics3Config(
        vision_config={**SIGLIP, "image_size": 56, "patch_size": 14},
        text_config=llama(words),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        scale_factor=2,
    )
    processor = hf.Idefics3Processor(
        hf.Idefics3ImageProcessor(size={"longest_edge": 168}, max_image_size={"longest_edge": 56}),
        words,
        image_seq_len=4,
        chat_template=templates.idefics3("<|begin_of_text|>"),
    )
    return hf.Idefics3ForConditionalGeneration(config), processor


def smolvlm():
    words = vocabularies.byte_level(
        "<image>",
        "<fake_token_around_image>",
        "<global-img>",
        "<end_of_utterance>",
        *TILES,
        bos="<|im_start|>",
        eos="<|im_end|>",
        image_token="<image>",
        fake_image_token="<fake_token_around_image>",
        global_image_token="<global-img>",
        end_of_utterance_token="<end_of_utterance>",
    )
    config = hf.SmolVLMConfig(
        vision_config={**SIGLIP, "image_size": 56, "patch_size": 14},
        text_config=llama(words),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        scale_factor=2,
    )
    processor = hf.SmolVLMProcessor(
        hf.SmolVLMImageProcessor(size={"longest_edge": 168}, max_image_size={"longest_edge": 56}),
        words,
        hf.SmolVLMVideoProcessor(),
        image_seq_len=4,
        chat_template=templates.idefics3("<|im_start|>"),
    )
    return hf.SmolVLMForConditionalGeneration(config), processor


def gemma3():
    marks = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    words = vocabularies.gemma("<start_of_turn>", "<end_of_turn>", *marks.values(), **marks)
    config = hf.Gemma3Config(
        text_config={**SMALL_TEXT, "vocab_size": len(words), "sliding_window": 64},
        vision_config={**SIGLIP, "image_size": 56, "patch_size": 14},
        mm_tokens_per_image=4,
        image_token_index=words.convert_tokens_to_ids("<image_soft_token>"),
        boi_token_index=words.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=words.convert_tokens_to_ids("<end_of_image>"),
    )
    processor = hf.Gemma3Processor(
        hf.Gemma3ImageProcessor(size={"height": 56, "width": 56}),
        words,
        image_seq_length=4,
        chat_template=templates.GEMMA3,
    )
    model = hf.Gemma3ForConditionalGeneration(config)
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight, std=0.2)
    return model, processor


def paligemma():
    words = vocabularies.gemma("<image>")
    config = hf.PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", **SIGLIP, "image_size": 56, "patch_size": 14},
        text_config={
            "model_type": "gemma2",  # PaliGemma 2
            **SMALL_TEXT,
            "vocab_size": len(words),
            "pad_token_id": words.pad_token_id,
            "sliding_window": 64,
            "query_pre_attn_scalar": 16,
        },
        image_token_index=words.convert_tokens_to_ids("<image>"),
        projection_dim=48,
    )
    images = hf.SiglipImageProcessor(size={"height": 56, "width": 56})
    images.image_seq_length = 16
    model = hf.PaliGemmaForConditionalGeneration(config)
    return model, hf.PaliGemmaProcessor(images, words)


FAMILIES = {
    build.__name__: build
    for build in (qwen2_vl, qwen3_vl, llava_next, llava_onevision, internvl, idefics3, smolvlm, gemma3, paligemma)
}


ATTENTION = {"paligemma": "eager"}  # Gemma 2 caps its attention scores, which sdpa cannot


def opened(name, folder, **options):
    """The tiny model of family ``name``, saved to ``folder`` and loaded from there."""
    return load(str(build(name, folder)), device="cpu", attention=ATTENTION.get(name, "sdpa"), **options)


def build(name, folder):
    """Save the tiny model of family ``name`` to ``folder``, which is returned."""
    torch.manual_seed(0)
    model, processor = FAMILIES[name]()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
