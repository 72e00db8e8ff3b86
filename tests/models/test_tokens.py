"""Option letters and answers are encoded jointly with the prompt's end."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from vlmdx.models.prompts import LETTERS
from vlmdx.models.tokens import PromptError, check_bos, continuation_ids, single_ids

from tests.models.vocabularies import QWEN, have_qwen


def sentencepiece(prepend_scheme):
    """Unigram over U+2581-marked words, as SentencePiece makes them; "▁A" is a better piece than "▁", "A"."""
    words = ["Answer", "assistant", "user"]
    pieces = [("<unk>", 0.0), ("\n", -1.0), (":", -1.0), ("▁", -3.0)]
    pieces += [(w, -2.0) for w in words] + [(f"▁{w}", -2.0) for w in words]
    pieces += [(letter, -4.0) for letter in LETTERS] + [(f"▁{letter}", -4.0) for letter in LETTERS]
    core = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend_scheme, split=False)
    return lambda text: core.encode(text).ids


def qwen():
    if not have_qwen():
        pytest.skip(f"no real Qwen tokenizer at {QWEN}")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(QWEN)
    return lambda text: tokenizer(text)["input_ids"]


TOKENIZER = {"llama": lambda: sentencepiece("first"), "qwen": qwen, "internlm": lambda: sentencepiece("never")}


@pytest.mark.parametrize("name", TOKENIZER)
@pytest.mark.parametrize(("ending", "separator"), [("Answer:", " "), ("user\nassistant\n", "")])
def test_m01_letters_are_single_and_different_after_the_prompt(name, ending, separator):
    encode = TOKENIZER[name]()
    ids = single_ids(encode, ending, [separator + letter for letter in LETTERS])
    assert len(set(ids)) == 26
    for letter, token in zip(LETTERS, ids, strict=True):
        assert encode(ending + separator + letter) == [*encode(ending), token]


@pytest.mark.parametrize("name", TOKENIZER)
def test_m01_space_at_the_prompts_end_is_refused_where_it_joins_the_letter(name):
    with pytest.raises(PromptError, match=r"merges 'A' into the prompt's end 'Answer: '"):
        single_ids(TOKENIZER[name](), "Answer: ", list(LETTERS))


def test_m01_qwen_has_a_token_for_colon_and_letter_together():
    with pytest.raises(PromptError, match="merges 'A'"):
        single_ids(qwen(), "Answer:", ["A"])


@pytest.mark.parametrize("name", ["llama", "internlm"])
def test_m01_letter_with_and_without_space_are_different_tokens(name):
    encode = TOKENIZER[name]()
    assert single_ids(encode, "Answer:", ["A"]) != single_ids(encode, "Answer:", [" A"])


def test_m01_letters_of_several_tokens_or_one_shared_token_are_refused():
    table = {"p": [1], "pA": [1, 2, 3], "pB": [1, 9], "pC": [1, 9], "p_": [1]}
    with pytest.raises(PromptError, match="2 tokens"):
        single_ids(table.__getitem__, "p", ["A"])
    with pytest.raises(PromptError, match="share token ids"):
        single_ids(table.__getitem__, "p", ["B", "C"])
    with pytest.raises(PromptError, match="adds no token"):
        continuation_ids(table.__getitem__, "p", "_")


def test_m10_two_bos_are_refused():
    check_bos([1, 5, 1], 1)
    check_bos([1, 1], None)
    with pytest.raises(PromptError, match="two BOS"):
        check_bos([1, 1, 5], 1)
