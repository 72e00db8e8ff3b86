"""Turn a question and its options into the text of one user turn.

The wording lives in files (`resources/prompts/`), so that a user can read and change it and the code hash can see it.
Both shipped wordings are those of LLaVA-1.5 (arXiv 2310.03744, table of response-format prompts).
"""

import re
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

    Plain replacement in one pass, never ``str.format``: questions and options may hold braces, dollars and quotes, and
    a question that holds the text "{options}" is not filled a second time.

    Raises:
        ValueError: more than 26 options.
    """
    pairs = zip(letters(len(options)) if options else [], options, strict=True)
    fields = {"{question}": question, "{options}": "\n".join(f"{letter}. {option}" for letter, option in pairs)}
    return re.sub(r"\{question\}|\{options\}", lambda match: fields[match[0]], template.rstrip("\n"))


def user_turn(text: str) -> list[dict]:
    """One user turn in the Hugging Face chat format: the image first, then the text."""
    return [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}]
