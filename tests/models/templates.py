"""Chat templates that render an image, a text and an answer exactly as the released templates of each family do.

What cannot occur here (system turns given by the user, tools, videos, several images) is left out. Released with:
Qwen2-VL and Qwen2.5-VL Instruct, Qwen3-VL Instruct, llava-1.5-hf, llava-v1.6-mistral-hf, llava-onevision-qwen2-ov-hf,
InternVL3-hf, Idefics3-8B-Llama3, SmolVLM-Instruct, gemma-3-it. PaliGemma 2 has none.
"""

_PARTS = "{% for p in m['content'] %}{% if p['type'] == 'image' %}IMAGE{% else %}{{ p['text'] }}{% endif %}{% endfor %}"
_ROLE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
_ASK = "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def _parts(image: str) -> str:
    return _PARTS.replace("IMAGE", image)


QWEN3_VL = _ROLE + _parts("<|vision_start|><|image_pad|><|vision_end|>") + "<|im_end|>\n" + _ASK
QWEN2_VL = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" + QWEN3_VL
INTERNVL = _ROLE + _parts("<IMG_CONTEXT>\n") + "<|im_end|>\n" + _ASK
# A given answer is headed "assistant \n", with a space that the prompt's end has not.
LLAVA_ONEVISION = (
    "{% for m in messages %}<|im_start|>{{ m['role'] + ' ' }}"
    "{% for p in m['content'] %}{% if p['type'] == 'image' %}<image>{% else %}{{ '\n' + p['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>" + _ASK
)
LLAVA = (
    "{% for m in messages %}{{ m['role'] | upper + ': ' }}"
    + _PARTS.replace("IMAGE", "{{ '<image>\n' }}").replace("p['text']", "p['text'] + ' '")
    + "{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
# There is nothing between the end of the instruction and the answer but the space that a given answer starts with.
LLAVA_NEXT = (
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ '[INST] ' }}"
    + _parts("{{ '<image>\n' }}")
    + "{{ ' [/INST]' }}{% else %}{{ ' ' + m['content'][0]['text'] + '</s> ' }}{% endif %}{% endfor %}"
)


def idefics3(bos: str) -> str:
    """Idefics3 and SmolVLM: no space after the role where the turn starts with an image."""
    return (
        bos
        + "{% for m in messages %}{{ m['role'] | capitalize }}{{ ':' if m['content'][0]['type'] == 'image' else ': ' }}"
        + _parts("<image>")
        + "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
    )


GEMMA3 = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role']) + '\n' }}"
    + _PARTS.replace("IMAGE", "<start_of_image>").replace("p['text']", "p['text'] | trim")
    + "{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
