"""A questioner, an answerer and a verifier of kind ``vlm``, all tiny, in folders as released models are."""

import json
from pathlib import Path

import torch
from tokenizers import AddedToken
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor
from vlmdx.discovery.roles import CRITERIA

from tests.models import tiny, tiny_families

DEMO = Path(__file__).parents[2] / "resources" / "models" / "qwen-demo"
PHOTOS = 8
# What the verifier says, by the class of the last token of its prompt. A question of an invalid one is not grounded.
REPLIES = {
    "valid": {"reason": "scripted", **dict.fromkeys(CRITERIA, True)},
    "invalid": {"reason": "scripted", **dict.fromkeys(CRITERIA, True), "grounded": False},
    "reference": {"reason": "scripted", "answer": "red"},
    "verdict": {"reason": "scripted", "verdict": "incorrect"},
}
MARKS = {"REFERENCE": "reference", "VERDICT": "verdict"}  # last words of the prompts; all else ends a question
PROMPTS = {
    "validity": "Judge this question.\n{question}",
    "reference": "Answer.\n{question}\nREFERENCE",
    "judge": "Compare.\n{question}\n{reference}\n{answer}\nVERDICT",
}
TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ 'USER: <image>\n' + m['content'][1]['text'] }}"
    "{% else %}{{ m['content'][0]['text'] + '</s>' }}{% endif %}{% endfor %}"
)


def make(folder: Path, questioner: str) -> None:
    """Photos, prompts and the three roles; ``questioner`` is qwen or smolvlm."""
    folder.mkdir()
    lines = []
    for number in range(PHOTOS):
        tiny.picture(56, 56, number).save(folder / f"{number}.png")
        lines.append(json.dumps({"image": f"{number}.png", "question": "Which?", "options": ["a", "b"], "answer": 0}))
    (folder / "photos.jsonl").write_text("\n".join(lines) + "\n")
    for name, text in PROMPTS.items():
        (folder / f"{name}.txt").write_text(text + "\n")
    {"qwen": qwen, "smolvlm": lambda to: tiny_families.build("smolvlm", to)}[questioner](folder / "questioner")
    tiny.build("llava", folder / "answerer")
    verifier(folder / "verifier")


def qwen(folder: Path) -> None:
    """A random Qwen2.5-VL with the demo's few words, of which questions are made sooner than of 150,000."""
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(DEMO)
    config.text_config.initializer_range = config.vision_config.initializer_range = 0.2
    AutoModelForImageTextToText.from_config(config).save_pretrained(folder)
    AutoProcessor.from_pretrained(DEMO).save_pretrained(folder)


def verifier(folder: Path) -> None:
    """A LLaVA that replies by the last token of its prompt alone: its blocks add nothing, embeddings name classes.

    Each reply is one token, after which it stops. Whether a question is valid goes by the parity of its last token.
    """
    model, processor = tiny._llava()
    words = processor.tokenizer
    replies = {name: json.dumps(reply) for name, reply in REPLIES.items()}
    words.add_tokens([AddedToken(text, normalized=False) for text in (*replies.values(), *MARKS)])
    model.resize_token_embeddings(len(words))
    ids, classes = words.convert_tokens_to_ids, list(REPLIES)
    end = len(classes)
    of = torch.tensor([number % 2 for number in range(len(words))])
    of[[ids(mark) for mark in MARKS]] = torch.tensor([classes.index(name) for name in MARKS.values()])
    of[[ids(text) for text in replies.values()]] = end
    with torch.no_grad():
        for layer in model.model.language_model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        size = model.config.text_config.hidden_size
        model.get_input_embeddings().weight.copy_(torch.eye(size)[of])
        model.lm_head.weight.zero_()
        for number, text in enumerate([*replies.values(), words.eos_token]):
            model.lm_head.weight[ids(text), number] = 1
    processor.chat_template = TEMPLATE
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
