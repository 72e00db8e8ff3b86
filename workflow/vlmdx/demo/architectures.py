"""The two tiny VLMs, of the real architectures, with their processors: about 2 M parameters each, untrained.

Widths were chosen so that a float16 checkpoint stays under 5 MB and one CPU thread trains it within the hour.
"""

import torch
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

from vlmdx.demo.clip_start import start_with_neighbours
from vlmdx.demo.scene import CANVAS
from vlmdx.demo.tokens import build_tokenizer

NAMES = ("qwen-demo", "llava-demo")
TEXT = {
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
HALF = [0.5, 0.5, 0.5]

QWEN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAVA_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] | upper }}: "
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %} "
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def build(name: str, seed: int):
    """``(model, processor)`` of an untrained demo model; float32, eval mode, weights a function of ``seed``.

    Raises:
        ValueError: unknown name.
    """
    if name not in NAMES:
        raise ValueError(f"demo model {name!r}: expected one of {NAMES}")
    torch.manual_seed(seed)
    model, processor = _qwen() if name == "qwen-demo" else _llava()
    model.generation_config.max_new_tokens = 8
    model.generation_config.do_sample = False
    for role in ("bos", "eos", "pad"):
        setattr(model.generation_config, f"{role}_token_id", getattr(processor.tokenizer, f"{role}_token_id"))
    return model.eval(), processor


def _qwen():
    tokenizer = build_tokenizer(
        {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"},
        ["<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"],
        QWEN_TEMPLATE,
    )
    ids = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            **TEXT,
            "vocab_size": len(tokenizer),
            "rope_theta": 10000.0,
            "use_sliding_window": False,
            # 16 rotary pairs of a 32-wide head, split time : height : width as in the released model (16:24:24)
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [4, 6, 6]},
            "bos_token_id": None,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": 4,
            "hidden_size": 96,
            "num_heads": 3,
            "intermediate_size": 256,
            "out_hidden_size": 128,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "window_size": 112,
            "fullatt_block_indexes": [0, 1, 2, 3],
        },
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    # 4 to 64 vision tokens: a 500 x 375 photo gives 9 x 7 = 63
    pixels = {
        "min_pixels": 4 * 28 * 28,
        "max_pixels": 64 * 28 * 28,
        "patch_size": 14,
        "merge_size": 2,
        "temporal_patch_size": 2,
        "image_mean": HALF,
        "image_std": HALF,
    }
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**pixels),
        video_processor=Qwen2VLVideoProcessor(),
        tokenizer=tokenizer,
        chat_template=QWEN_TEMPLATE,
    )
    return Qwen2_5_VLForConditionalGeneration(config), processor


def _llava():
    patch = 14  # 10 x 10 vision tokens
    tokenizer = build_tokenizer(
        {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
        ["<image>"],
        LLAVA_TEMPLATE,
    )
    vision = CLIPVisionConfig(
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        image_size=CANVAS,
        patch_size=patch,
        projection_dim=128,
    )
    text = LlamaConfig(
        **TEXT,
        vocab_size=len(tokenizer),
        rope_theta=10000.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=(CANVAS // patch) ** 2,
        tie_word_embeddings=True,
    )
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessor(
            size={"shortest_edge": CANVAS},
            crop_size={"height": CANVAS, "width": CANVAS},
            image_mean=HALF,
            image_std=HALF,
        ),
        tokenizer=tokenizer,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=LLAVA_TEMPLATE,
    )
    model = LlavaForConditionalGeneration(config)
    start_with_neighbours(model.model.vision_tower)
    return model, processor
