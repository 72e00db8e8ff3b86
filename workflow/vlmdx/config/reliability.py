"""Config of system A: corruptions, selection of the diagnostic subset, reliability figures."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from vlmdx.config.base import Block, Share
from vlmdx.schema.names import CORRUPTIONS

Corruption = Literal[CORRUPTIONS]  # type: ignore[valid-type]
Severity = Annotated[int, Field(ge=1, le=5)]


class Corruptions(Block):
    """Which damage is done to the images, and at which size."""

    names: list[Corruption] = Field(list(CORRUPTIONS), min_length=1, description="corruptions; a list replaces")
    severities: list[Severity] = Field([1, 2, 3, 4, 5], min_length=1, description="severities, 1 to 5")
    reference_side: int = Field(
        512, ge=32, description="longest side in pixels at which images are corrupted; larger ones are reduced first"
    )

    @field_validator("names", "severities")
    @classmethod
    def _distinct(cls, value: list) -> list:
        if len(set(value)) < len(value):
            raise ValueError(f"{value} repeats an entry")
        return sorted(value) if isinstance(value[0], int) else value


class Selection(Block):
    """The diagnostic subset (bench): Gini impurity of the voters' answers, then greedy semantic diversity."""

    target: int = Field(849, gt=0, description="items to select (paper: 849 of 4,000)")
    weight_gini: Share = Field(0.5, description="lambda: weight of Gini against novelty (ours)")
    weight_image: Share = Field(0.5, description="w: weight of image against text similarity (ours)")
    max_similarity: float = Field(
        0.95, ge=-1, le=1, description="tau: refuse an item more similar to a chosen one (ours)"
    )
    image_encoder: str = Field(
        "openai/clip-vit-base-patch32",
        description="CLIP model, or a LLaVA for its vision tower: hub id or folder",
    )
    image_revision: str | None = Field(None, description="commit of the image encoder on the hub")
    text_encoder: str = Field(
        "minilm", description="sentence-transformers model: hub id, folder, or `minilm`, which is installed"
    )
    text_revision: str | None = Field(None, description="commit of the text encoder on the hub")


class Reliability(Block):
    """Intervals and calibration."""

    bootstrap: int = Field(2000, ge=100, description="bootstrap replicates, clustered by image")
    confidence: float = Field(0.95, gt=0, lt=1, description="level of the intervals")
    ece_bins: int = Field(15, gt=1, description="equal-width bins of the expected calibration error")
    letter_mass_min: Share = Field(0.01, description="below this total probability on the letters an item is flagged")
