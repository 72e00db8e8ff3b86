"""What the engines run on, and what they give back."""

from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor

Kind = tuple[str, str]  # intervention, position

# arXiv 2607.16094. The position of an attention knockout is the answer's: it changes what the answer position reads.
MEAN_ABLATION: Kind = ("mean_ablation", "object")
ATTENTION_KNOCKOUT: Kind = ("attention_knockout", "answer")
MLP_OBJECT: Kind = ("mlp_knockout", "object")
MLP_ANSWER: Kind = ("mlp_knockout", "answer")
KINDS: tuple[Kind, ...] = (MEAN_ABLATION, ATTENTION_KNOCKOUT, MLP_OBJECT, MLP_ANSWER)
HEAD_KNOCKOUT = "head_knockout"  # name of an attention knockout of one query head, in the tables
# Controls: the same machinery with an edit that changes nothing. What they show is rounding.
IDENTITY_OBJECT: Kind = ("identity", "object")
IDENTITY_ANSWER: Kind = ("identity", "answer")


@dataclass(frozen=True)
class Spec:
    """One intervention at one place.

    Attributes:
        kind: intervention and position.
        layer: first layer it acts on.
        layers: how many layers in a row it acts on.
        heads: attention knockout: query heads whose weights are cut; None for all.
    """

    kind: Kind
    layer: int
    layers: int = 1
    heads: tuple[int, ...] | None = None

    def acts(self, layer: int) -> bool:
        """Whether it acts on ``layer``."""
        return self.layer <= layer < self.layer + self.layers


@dataclass(frozen=True)
class Sample:
    """One prompt with one grounding set, ready for one model.

    Attributes:
        ids: token ids of the prompt, int64 [length], image tokens expanded; the last one predicts the answer.
        image: the picture.
        target: id of the gold letter, or of the first token of the gold words.
        letters: ids of all options' letters, or of the first token of their words.
        vision: absolute positions of the image tokens that show something of the image.
        tokens: absolute positions of the grounding set B, a subset of ``vision``; may be empty.
        more: ids of the further tokens of the gold words.
    """

    ids: Tensor
    image: Image.Image
    target: int
    letters: tuple[int, ...]
    vision: tuple[int, ...]
    tokens: tuple[int, ...]
    more: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not set(self.tokens) <= set(self.vision):
            raise ValueError(f"grounding set {sorted(set(self.tokens) - set(self.vision))[:3]} is no image token")

    @property
    def gold(self) -> tuple[int, ...]:
        """Ids of the gold answer."""
        return (self.target, *self.more)

    @property
    def sequence(self) -> Tensor:
        """What is run: the prompt and the gold answer but for its last token, which is predicted only."""
        return torch.cat([self.ids, self.ids.new_tensor(self.gold[:-1])])

    @property
    def answers(self) -> range:
        """Absolute positions that predict the gold answer, the last of the prompt first."""
        return range(len(self.ids) - 1, len(self.ids) - 1 + len(self.gold))


@dataclass(frozen=True)
class Result:
    """Log-probabilities of the gold answer over the whole vocabulary, nats, float32 on the CPU.

    Those of several tokens are summed, each given the gold tokens before it.

    Attributes:
        clean: [samples], without intervention.
        logprob: [specs, samples], under each intervention.
        letters: per sample, float32 [options], clean log-probabilities of the letters.
    """

    clean: Tensor
    logprob: Tensor
    letters: list[Tensor]


def all_layers(kinds: tuple[Kind, ...], layers: int, window: int = 1) -> list[Spec]:
    """One spec per kind and layer."""
    return [Spec(kind, layer, min(window, layers - layer)) for kind in kinds for layer in range(layers)]
