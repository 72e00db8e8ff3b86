"""Tokenizers that behave like the families' own: the real Qwen vocabulary, and small ones built by hand.

The small ones are byte-pair encodings whose merges spell a list of words, so that they do not depend on a trainer. What
matters is the behaviour at the place where an answer starts: SentencePiece joins a space to the following letter, Llama
puts one in front of every piece between special tokens, Gemma does not, byte-level BPE keeps bytes and single digits.
"""

import string
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

QWEN = Path(__file__).resolve().parents[3] / "shared" / "data" / "tokenizers" / "qwen"
WORDS = "USER ASSISTANT User Assistant user assistant Answer with the option s letter from given choices directly what"
SPACE = "\u2581"


def qwen(*special: str, **named: str) -> PreTrainedTokenizerFast:
    """The real vocabulary where it is at hand, else a byte-level one with the same marks."""
    if not QWEN.is_dir():
        marks = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
        return byte_level(*marks, *special, bos=None, eos="<|im_end|>", **named)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(QWEN, model_specific_special_tokens=named)
    tokenizer.add_tokens([AddedToken(token, special=True, normalized=False) for token in special], special_tokens=True)
    return tokenizer


def llama(*special: str) -> PreTrainedTokenizerFast:
    """SentencePiece as Llama, Vicuna and Mistral ship it: a space in front of each piece, <s> in front of the text."""
    core = _sentencepiece([SPACE + word for word in WORDS.split()], ["<unk>", "<s>", "</s>"])
    core.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    return _wrapped(core, special, bos="<s>", eos="</s>", pad="<unk>", unk="<unk>")


def gemma(*special: str, **named: str) -> PreTrainedTokenizerFast:
    """SentencePiece as Gemma ships it: no space in front, runs of newlines are tokens, <bos> in front of the text."""
    core = _sentencepiece(
        [SPACE + w for w in WORDS.split()] + WORDS.split() + ["\n\n"], ["<pad>", "<eos>", "<bos>", "<unk>"]
    )
    core.normalizer = normalizers.Replace(" ", SPACE)
    return _wrapped(core, special, bos="<bos>", eos="<eos>", pad="<pad>", unk="<unk>", **named)


def byte_level(*special: str, bos: str | None, eos: str, **named: str) -> PreTrainedTokenizerFast:
    """Byte-level BPE with single digits, as SmolLM2 and Llama 3 have it; nothing is put in front of the text."""
    words = WORDS.split()
    vocabulary, merges = _spell(
        sorted(pre_tokenizers.ByteLevel.alphabet()), [f"Ġ{w}" for w in (*string.ascii_uppercase, *words)] + words
    )
    core = Tokenizer(models.BPE(vocabulary, merges))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    return _wrapped(core, special, bos=bos, eos=eos, pad=eos, **named)


def _sentencepiece(words: list[str], first: list[str]) -> Tokenizer:
    """BPE over characters with the 256 bytes to fall back on; every letter also exists with a space in front."""
    alphabet = [*string.ascii_letters, *string.digits, *string.punctuation, "\n", SPACE]
    marked = [SPACE + letter for letter in string.ascii_uppercase]
    vocabulary, merges = _spell([*first, *(f"<0x{byte:02X}>" for byte in range(256)), *alphabet], marked + words)
    return Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))


def _spell(symbols: list[str], words: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges that join each word from left to right."""
    vocabulary, merges = dict.fromkeys(symbols), {}
    for word in words:
        for end in range(2, len(word) + 1):
            merges[word[: end - 1], word[end - 1]] = None
            vocabulary[word[:end]] = None
    return {token: i for i, token in enumerate(vocabulary)}, list(merges)


def _wrapped(
    core: Tokenizer, special: tuple[str, ...], bos: str | None, eos: str, pad: str, unk: str | None = None, **named
):
    marks = [AddedToken(token, special=True, normalized=False) for token in (bos, eos, pad, unk, *special) if token]
    core.add_special_tokens(marks)
    if bos in ("<s>", "<bos>"):
        core.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, core.token_to_id(bos))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=bos,
        eos_token=eos,
        pad_token=pad,
        unk_token=unk,
        additional_special_tokens=list(special),
        model_specific_special_tokens=named,
    )


def needs_qwen(family: str) -> bool:
    """The family's released tokenizer is Qwen's."""
    return family in ("qwen", "qwen2_vl", "qwen3_vl", "llava_onevision", "internvl")


@cache
def have_qwen() -> bool:
    """The real vocabulary is at hand."""
    return QWEN.is_dir()
