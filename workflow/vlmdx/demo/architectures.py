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

from vlmdx.demo.scene import CANVAS
from vlmdx.demo.tokens import build_tokenizer

NAMES = ("qwen-demo", "llava-demo")
TEXT = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 6, "num_attention_heads": 4,
        "num_key_value_heads": 4, "max_position_embeddings": 2048, "tie_word_embeddings": True}
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
        ["<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"], QWEN_TEMPLATE,
    )
    ids = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            **TEXT, "vocab_size": len(tokenizer), "rope_theta": 10000.0, "use_sliding_window": False,
            # 16 rotary pairs of a 32-wide head, split time : height : width as in the released model (16:24:24)
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [4, 6, 6]},
            "bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": 4, "hidden_size": 96, "num_heads": 3, "intermediate_size": 256, "out_hidden_size": 128,
            "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112,
            "fullatt_block_indexes": [0, 1, 2, 3],
        },
        image_token_id=ids("<|image_pad|>"), video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"), vision_end_token_id=ids("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    # 4 to 64 vision tokens: a 500 x 375 photo gives 9 x 7 = 63
    pixels = {"min_pixels": 4 * 28 * 28, "max_pixels": 64 * 28 * 28, "patch_size": 14, "merge_size": 2,
              "temporal_patch_size": 2, "image_mean": HALF, "image_std": HALF}
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**pixels), video_processor=Qwen2VLVideoProcessor(),
        tokenizer=tokenizer, chat_template=QWEN_TEMPLATE,
    )
    return Qwen2_5_VLForConditionalGeneration(config), processor


def _llava():
    patch = 14  # 10 x 10 vision tokens
    tokenizer = build_tokenizer(
        {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}, ["<image>"], LLAVA_TEMPLATE,
    )
    vision = CLIPVisionConfig(
        hidden_size=96, intermediate_size=256, num_hidden_layers=4, num_attention_heads=4, image_size=CANVAS,
        patch_size=patch, projection_dim=128,
    )
    text = LlamaConfig(
        **TEXT, vocab_size=len(tokenizer), rope_theta=10000.0, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1, vision_feature_select_strategy="default", image_seq_length=(CANVAS // patch) ** 2,
        tie_word_embeddings=True,
    )
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessor(
            size={"shortest_edge": CANVAS}, crop_size={"height": CANVAS, "width": CANVAS}, image_mean=HALF, image_std=HALF,
        ),
        tokenizer=tokenizer, patch_size=patch, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=LLAVA_TEMPLATE,
    )
    model = LlavaForConditionalGeneration(config)
    _start_with_neighbours(model.model.vision_tower)
    return model, processor


# Where the four heads of each layer of the LLaVA tower look at the start, as (columns, rows) from the patch itself
OFFSETS = (
    ((-1, 0), (1, 0), (0, -1), (0, 1)),
    ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    ((-1, 0), (1, 0), (0, -1), (0, 1)),
    ((-1, -1), (1, -1), (-1, 1), (1, 1)),
)


def _start_with_neighbours(tower) -> None:
    """Start CLIP's attention as a convolution: each head looks at one neighbour of the patch.

    From CLIP's own start the tower named shapes hardly above chance for hundreds of steps (it has no relative positions and
    has to find its neighbours first). The position table starts as 2-D sines; queries and keys start as those sines, turned
    by the head's offset, so that the score peaks at that neighbour. Everything is trained from there on.
    """
    inner = getattr(tower, "vision_model", tower)
    table = inner.embeddings.position_embedding.weight
    side, width = int((table.shape[0] - 1) ** 0.5), table.shape[1]
    waves = width // 4  # sine and cosine of each axis
    rates = 2.2 * 0.16 ** (torch.arange(waves) / (waves - 1))  # radians per patch: 2.2 (sharp) to 0.35 (one turn in 18)
    turns = torch.arange(side)[:, None] * rates
    line = torch.cat([turns.sin(), turns.cos()], 1)  # (side, width / 2)
    grid = torch.cat([line[None].expand(side, -1, -1), line[:, None].expand(-1, side, -1)], -1)  # columns, then rows
    with torch.no_grad():
        inner.embeddings.patch_embedding.weight.copy_(_waves(inner.embeddings.patch_embedding.weight.shape))
        table[1:] = 0.5 * grid.reshape(side * side, width)
        for layer, offsets in zip(inner.encoder.layers, OFFSETS):
            layer.mlp.fc1.weight.normal_(std=0.2)  # bent enough at the start to tell an edge from its negative
            for head, offset in enumerate(offsets):
                _look_at(layer.self_attn, head, offset, rates)


def _waves(shape: torch.Size) -> torch.Tensor:
    """Patch filters ``(width, 3, patch, patch)``: the lowest cosine waves of each colour channel, as in a JPEG block.

    White-noise filters of 20 x 20 pixels see mostly noise; a shape lives in the low frequencies.
    """
    width, channels, size, _ = shape
    order = sorted(((u, v) for u in range(size) for v in range(size)), key=lambda w: (w[0] + w[1], w))[: width // channels]
    at = (torch.arange(size) + 0.5) * torch.pi / size
    filters = torch.zeros(shape)
    for i, (u, v) in enumerate(order):
        wave = (u * at).cos()[:, None] * (v * at).cos()[None]
        for channel in range(channels):
            filters[i * channels + channel, channel] = 0.15 * wave / wave.norm()
    return filters


def _look_at(attention, head: int, offset: tuple[int, int], rates: torch.Tensor) -> None:
    """Turn one head to the neighbour at ``offset``; its score is the sum of cos(rate * distance from that neighbour)."""
    size, waves, gain = attention.head_dim, len(rates), 2.7
    used = torch.linspace(0, waves - 1, size // 4).round().long()  # waves of one axis that fit into the head
    row = head * size
    for axis, step in enumerate(offset):
        for wave in used.tolist():
            sine, cosine = axis * 2 * waves + wave, axis * 2 * waves + waves + wave
            turn = rates[wave] * step
            attention.q_proj.weight[row, sine] += gain
            attention.q_proj.weight[row + 1, cosine] += gain
            attention.k_proj.weight[row, sine] += gain * turn.cos()
            attention.k_proj.weight[row, cosine] -= gain * turn.sin()
            attention.k_proj.weight[row + 1, sine] += gain * turn.sin()
            attention.k_proj.weight[row + 1, cosine] += gain * turn.cos()
            row += 2
