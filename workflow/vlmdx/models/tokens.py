"""Which token ids continue a prompt: decided by encoding prompt and continuation together, never assumed.

Whether the letter after a prompt is the token "A" or " A" depends on the tokenizer and on the prompt's last characters;
reading the other one gives the probability of a token the model never emits there.
"""

from collections.abc import Callable, Sequence

Encode = Callable[[str], Sequence[int]]


class PromptError(ValueError):
    """This prompt (or image) cannot be shown to this model as it is; the message is the reason a row is set aside."""


def continuation_ids(encode: Encode, prompt: str, continuation: str) -> list[int]:
    """Ids that ``continuation`` adds to ``prompt``.

    Args:
        encode: text -> ids, with the same special tokens as the model's real input.
        prompt: rendered prompt, up to where the model starts to answer.
        continuation: text that follows, with its separator.

    Raises:
        PromptError: the tokenizer merges the two, or the continuation adds no id.
    """
    start, whole = list(encode(prompt)), list(encode(prompt + continuation))
    if whole[: len(start)] != start:
        raise PromptError(
            f"the tokenizer merges {continuation!r} into the prompt's end {prompt[-12:]!r}, so there is no token "
            "to read after the prompt; let it end in another way (a trailing space is the usual cause)"
        )
    if len(whole) == len(start):
        raise PromptError(f"{continuation!r} adds no token to the prompt's end {prompt[-12:]!r}")
    return whole[len(start) :]


def single_ids(encode: Encode, prompt: str, continuations: Sequence[str]) -> list[int]:
    """One id per continuation, e.g. of the option letters.

    Raises:
        PromptError: a continuation is not exactly one token, or two share an id.
    """
    ids = []
    for text in continuations:
        added = continuation_ids(encode, prompt, text)
        if len(added) != 1:
            raise PromptError(f"{text!r} is {len(added)} tokens after the prompt's end {prompt[-12:]!r}, expected one")
        ids += added
    if len(set(ids)) < len(ids):
        raise PromptError(f"letters share token ids {ids} after the prompt's end {prompt[-12:]!r}")
    return ids


def check_bos(ids: Sequence[int], bos: int | None) -> None:
    """Refuse a prompt that starts with two beginning-of-sequence tokens.

    Raises:
        PromptError: the template writes one and the tokenizer adds another.
    """
    if bos is not None and list(ids[:2]) == [bos, bos]:
        raise PromptError("the prompt starts with two BOS tokens: chat template and tokenizer both add one")
