"""Tiny random models of the further families, with their real processors."""

import string

import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.models.tiny import TEXT

SMALL_TEXT = {**TEXT, "hidden_size": 48, "head_dim": 16}
SIGLIP = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.2,
}
SPECIAL = [
    "<image>",
    "<video>",
    "<fake_token_around_image>",
    "<global-img>",
    "<end_of_utterance>",
    *(f"<row_{i}_col_{j}>" for i in range(1, 7) for j in range(1, 7)),
    "<img>",
    "</img>",
    "<IMG_CONTEXT>",
    "<start_of_image>",
    "<end_of_image>",
    "<image_soft_token>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]


def template(image: str, between: str = " ") -> str:
    """A chat template with ``image`` as placeholder and ``between`` before the answer."""
    return (
        "{% for m in messages %}{{ m['role'] | upper }}:{% if m['role'] == 'assistant' %}" + between + "{% endif %}"
        "{% for c in m['content'] %}{% if c['type'] == 'image' %}" + image + "{% else %}{{ c['text'] }}{% endif %}"
        "{% endfor %}\n{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
    )


def tokenizer(bos: str = "<s>", **named: str) -> hf.PreTrainedTokenizerFast:
    """Word tokenizer; ``named`` special tokens become attributes, e.g. ``boi_token``."""
    words = [bos, "</s>", "<pad>", "[UNK]", "\n", *SPECIAL, *string.ascii_uppercase, *string.punctuation]
    words += ["USER", "ASSISTANT", "Answer", "with", "the", "option", "dog", "what"]
    core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(dict.fromkeys(words))}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Punctuation()]
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=bos,
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="[UNK]",
        additional_special_tokens=SPECIAL,
        model_specific_special_tokens=named,
    )


def llama(words: hf.PreTrainedTokenizerFast) -> dict:
    """Config of a tiny Llama."""
    return {"model_type": "llama", **SMALL_TEXT, "vocab_size": len(words), "pad_token_id": words.pad_token_id}


def qwen3_vl():
    words = tokenizer()
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
        chat_template=template("<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return hf.Qwen3VLForConditionalGeneration(config), processor


def llava_next():
    words, side = tokenizer(), 56
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
        chat_template=template("<image>\n"),
    )
    return hf.LlavaNextForConditionalGeneration(config), processor


def llava_onevision():
    words, side = tokenizer(), 56
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
        chat_template=template("<image>\n"),
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def internvl():
    words = tokenizer(
        start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>", video_token="<video>"
    )
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
        chat_template=template("<IMG_CONTEXT>\n"),
    )
    return hf.InternVLForConditionalGeneration(config), processor


def idefics3():
    words = tokenizer()
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
        chat_template=template("<image>"),
    )
    return hf.Idefics3ForConditionalGeneration(config), processor


def gemma3():
    words = tokenizer(boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image_soft_token>")
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
        chat_template=template("<start_of_image>", ""),
    )
    model = hf.Gemma3ForConditionalGeneration(config)
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight, std=0.2)
    return model, processor


def paligemma():
    words = tokenizer(bos="<bos>")
    config = hf.PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", **SIGLIP, "image_size": 56, "patch_size": 14},
        text_config={"model_type": "gemma", **SMALL_TEXT, "vocab_size": len(words), "pad_token_id": words.pad_token_id},
        image_token_index=words.convert_tokens_to_ids("<image>"),
        projection_dim=48,
    )
    images = hf.SiglipImageProcessor(size={"height": 56, "width": 56})
    images.image_seq_length = 16
    model = hf.PaliGemmaForConditionalGeneration(config)
    return model, hf.PaliGemmaProcessor(images, words)


FAMILIES = {f.__name__: f for f in (qwen3_vl, llava_next, llava_onevision, internvl, idefics3, gemma3, paligemma)}


def build(name, folder):
    """Save the tiny model of family ``name`` to ``folder``, which is returned."""
    torch.manual_seed(0)
    model, processor = FAMILIES[name]()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
