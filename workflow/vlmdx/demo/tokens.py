"""The demo models' tokenizer: one word one token, letters A to Z one token each, unknown words [UNK]."""

import string
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from vlmdx.demo.scene import COLORS, SHAPES, SIZES

# Words of the demo questions, of the shipped prompts, of the chat turns, and some that questioner prompts need.
WORDS = """
user assistant system USER ASSISTANT
What Which Is Are Do Does Has Have Can How Where Who Why There The It This That In On Of To
what which is are do does has have can how where who why there the it this that in on of to a an and or not no yes
color colors shape shapes size sizes object objects thing things image picture scene
same different smaller larger bigger left right above below under over between next near behind front
count many number zero one two three four five six seven eight nine ten
Answer answer answers with option options letter from given choices directly question questions using single word words
or phrase s Ask ask Write write about short new Describe describe Look look at only Question Yes No
person man woman people dog cat car bus train table chair tree sky water grass street building sign
gray pink brown big tall long open closed wood metal holding wearing sitting standing
""".split()  # noqa: SIM905 -- as a list it would be a line per word
PUNCTUATION = list(".,?!:;'\"()-_/|<>")


def build_tokenizer(special: dict[str, str], extra_special: list[str], chat_template: str) -> PreTrainedTokenizerFast:
    """A WordLevel tokenizer.

    Args:
        special: Hugging Face roles, e.g. ``{"eos_token": "<|im_end|>", "pad_token": ...}``; ``unk_token`` is set here.
        extra_special: further tokens that are never split (image placeholders, turn marks).
        chat_template: Jinja text that renders a conversation.
    """
    roles = {**special, "unk_token": "[UNK]"}
    named = list(dict.fromkeys([*roles.values(), *extra_special]))
    plurals = [f"{w}s" for w in SHAPES]
    words = [*named, *string.ascii_uppercase, *string.digits, *PUNCTUATION, *COLORS, *SHAPES, *plurals, *SIZES, *WORDS]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Punctuation(),  # "A." gives "A", "."
        ]
    )
    if "bos_token" in roles:  # LLaVA's Llama tokenizer puts it first by itself
        bos = roles["bos_token"]
        core.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, vocabulary[bos])])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        additional_special_tokens=extra_special,
        chat_template=chat_template,
        model_max_length=1024,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        **roles,
    )
    return tokenizer


def folder_bytes(folder: str | Path) -> int:
    """Size of all files of a checkpoint, in bytes."""
    return sum(f.stat().st_size for f in Path(folder).iterdir() if f.is_file())
