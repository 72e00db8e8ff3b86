"""Turn a question and its options into the text of one user turn.

The wording lives in files (`resources/prompts/`), so that a user can read and change it and the code hash can see it.
Both shipped wordings are those of LLaVA-1.5 (arXiv 2310.03744, table of response-format prompts).
"""

import string
from collections.abc import Sequence

LETTERS = string.ascii_uppercase


def letters(n_options: int) -> list[str]:
    """Letters of the first ``n_options`` options.

    Raises:
        ValueError: more than 26 options; a second letter would no longer be one comparable token.
    """
    if not 1 <= n_options <= len(LETTERS):
        raise ValueError(f"{n_options} options: expected 1 to {len(LETTERS)}, one letter each")
    return list(LETTERS[:n_options])


def fill(template: str, question: str, options: Sequence[str] = ()) -> str:
    """Fill ``{question}`` and ``{options}`` of a prompt file.

    Plain replacement, never ``str.format``: questions and options may hold braces, dollars and quotes. The template is
    cut at its two fields first, so that a question which holds the text "{options}" is not filled a second time.
    """
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(letters(len(options)), options)) if options else ""
    fields = {"{question}": question, "{options}": listed}
    parts = [template.rstrip("\n")]
    for field in fields:
        parts = [piece for part in parts for piece in _keep_split(part, field, fields)]
    return "".join(fields.get(part, part) for part in parts)


def _keep_split(part: str, field: str, fields: dict[str, str]) -> list[str]:
    """Split ``part`` at ``field`` and keep the field itself as a piece; a piece that is a field stays whole."""
    if part in fields:
        return [part]
    pieces = part.split(field)
    return [x for i, piece in enumerate(pieces) for x in ((field, piece) if i else (piece,))]


def user_turn(text: str) -> list[dict]:
    """One user turn in the Hugging Face chat format: the image first, then the text."""
    return [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}]
