"""Verifier of kind ``vlm``: a Hugging Face vision-language model, prompted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from vlmdx.discovery.generate import generate
from vlmdx.discovery.prompted import PromptedVerifier, Reply, VerifierPrompts
from vlmdx.models.adapter import Adapter


@dataclass(frozen=True)
class _Model:
    adapter: Adapter
    max_tokens: int
    batch_tokens: int

    def __call__(
        self, prompts: Sequence[str], images: Sequence[Image.Image], read: Callable[[str], Any]
    ) -> list[Reply]:
        # Greedy replies do not change when asked again, so `read` is of no use here.
        said = generate(self.adapter, prompts, images, self.max_tokens, self.batch_tokens, "verify")
        return [Reply(reply.text) for reply in said]


def model_verifier(
    adapter: Adapter, prompts: VerifierPrompts, max_tokens: int = 192, batch_tokens: int = 8192
) -> PromptedVerifier:
    """A verifier that asks the model behind ``adapter``.

    Args:
        prompts: texts of the prompt files.
        max_tokens: most tokens of a reply; one that is cut off cannot be read and counts as undecided.
        batch_tokens: rows x longest row of one batch; of no influence on the verdicts.
    """
    return PromptedVerifier(_Model(adapter, max_tokens, batch_tokens), prompts)
