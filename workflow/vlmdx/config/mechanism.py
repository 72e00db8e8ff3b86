"""Config of system C: causal interventions inside a model, per operation of a question."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from vlmdx.config.base import Block, Share, Slug

OPERATIONS = ("select", "filter", "relate", "verify", "query", "exist", "choose")  # of arXiv 2607.16094, section 3
Operation = Literal[OPERATIONS]  # type: ignore[valid-type]


class FailureThresholds(Block):
    """From which numbers a failure mode is read (ours: the paper gives signatures without numbers)."""

    low: float = Field(0.5, ge=0, description="grounding strength below this is low, nats")
    high: float = Field(0.5, ge=0, description="grounding strength from this on is high, nats")
    alpha: Share = Field(0.05, description="level of the q-values")
    test: Literal["welch", "mann_whitney", "permutation"] = Field(
        "permutation", description="whose q-value decides; the table of pathways has all three"
    )
    least: int = Field(10, ge=2, description="fewest right and fewest wrong answers for a verdict")

    @model_validator(mode="after")
    def _ordered(self) -> "FailureThresholds":
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        return self


class Probing(Block):
    """Linear probes of every layer, for questions with a word changed (which word is ours: vlmdx.mechanism.pairs)."""

    folds: int = Field(5, ge=2, description="folds of the cross-validation, which keep an image together")
    valid: float = Field(
        0.05, ge=0, lt=1, description="a larger gap in accuracy at the best layer is valid (paper: .05)"
    )


class Mechanism(Block):
    """Where inside a model an operation fails: target `mechanism`, which is not part of `all`."""

    dataset: Slug | None = Field(
        None, description="data set whose items have an operation and boxes (GQA); null: no mechanism target"
    )
    vsr: Slug | None = Field(
        None,
        description="VSR data set with `instances_file` and `categories`, dissected by relation category; null: none",
    )
    operations: list[Operation] = Field(
        list(OPERATIONS), min_length=1, description="operations to dissect; a list replaces"
    )
    models: list[Slug] | None = Field(
        None, min_length=1, description="models to dissect; null takes all with the letter read-out"
    )
    n: int | None = Field(500, gt=0, description="questions to draw per operation (paper: 500); null takes all")
    balance: bool = Field(
        False, description="per model: ask `candidates` questions first, then draw half right, half wrong of them"
    )
    candidates: int | None = Field(
        2500, gt=0, description="with `balance`: questions of an operation to draw from; null takes all"
    )
    rule: Literal["any", "half", "centre"] = Field(
        "any", description="image tokens of a box: any overlap, at least half of the token's cell, or its centre"
    )
    engine: Literal["fast", "reference", "bridge"] = Field(
        "fast",
        description="fast; reference: plain hooks, one pass per intervention and layer; bridge: the same through "
        "transformer-lens",
    )
    window: int = Field(1, gt=0, description="layers in a row that an intervention acts on")
    readout: Literal["letter", "text"] = Field(
        "letter",
        description="gold answer that effects are on: the gold option's letter, at the last prompt token; or its words "
        "under `scoring.text_prompt`, at all positions that predict them, log-probabilities summed (not VSR's)",
    )
    head_layers: list[Annotated[int, Field(ge=0)]] = Field(
        [], description="layers in which each query head's attention is also knocked out by itself; none by default"
    )
    controls: bool = Field(True, description="also random image tokens outside the object, and the identity")
    batch_tokens: int | None = Field(
        None, gt=0, description="padded tokens per batch; null takes the model's own `batch_tokens`"
    )
    resamples: int = Field(2000, ge=100, description="of the permutation test and of the bootstrap of Cohen's d")
    confidence: float = Field(0.95, gt=0, lt=1, description="level of the intervals of Cohen's d")
    thresholds: FailureThresholds = Field(FailureThresholds(), description=FailureThresholds.__doc__)
    probing: Probing = Field(Probing(), description=Probing.__doc__)
    per_operation: int = Field(
        1, gt=0, description="items per operation (VSR: per relation category) in the figures of overlays"
    )
    replicates: int = Field(500, ge=100, description="bootstrap replicates of the bands in the layer curves")

    @model_validator(mode="after")
    def _drawable(self) -> "Mechanism":
        if self.balance:
            if self.n is None:
                raise ValueError("balance: half of how many? Set `n`")
            if self.candidates is not None and self.candidates < self.n:
                raise ValueError(f"balance: {self.n} questions cannot be drawn from {self.candidates} candidates")
        return self

    @field_validator("operations", "models", "head_layers")
    @classmethod
    def _distinct(cls, value: list | None) -> list | None:
        if value and len(set(value)) < len(value):
            raise ValueError(f"{value} repeats an entry")
        return value
