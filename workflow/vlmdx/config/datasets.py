"""Config of the data sets (one class per importer) and of the pool drawn from them."""

from typing import Annotated, Literal

from pydantic import Field

from vlmdx.config.base import Block, Slug

Path = Annotated[
    str,
    Field(min_length=1, description="relative paths start at the repository's root; `results/...` are outputs"),
]


class Gqa(Block):
    """GQA: questions with functional programs, and scene graphs."""

    importer: Literal["gqa"] = Field(description="GQA's own files")
    questions: Path = Field(description="questions JSON file")
    scene_graphs: Path = Field(description="scene graph JSON file of the same split")
    images: Path = Field(description="folder of {imageId}.jpg or .png")


class Mmvp(Block):
    """MMVP: pairs of photos that CLIP confuses."""

    importer: Literal["mmvp"] = Field(description="MMVP as published")
    folder: Path = Field(description="folder with Questions.csv and 'MMVP Images/'")


class Blink(Block):
    """BLINK: one JSON object per line."""

    importer: Literal["blink"] = Field(description="BLINK as JSON lines")
    file: Path = Field(description="questions.jsonl; image paths are relative to its folder")


class Mmbench(Block):
    """MMBench: a TSV with base64 images."""

    importer: Literal["mmbench"] = Field(description="MMBench TSV")
    file: Path = Field(description="the TSV file")


class Jsonl(Block):
    """Any other data: one JSON object per line (keys in config/README.md)."""

    importer: Literal["jsonl"] = Field(description="generic JSON lines")
    file: Path = Field(description="the .jsonl file; image paths are relative to its folder and may not leave it")
    answer_form: Literal["auto", "index", "index1", "letter", "text"] = Field(
        "auto", description="how `answer` names the gold option: 0-based or 1-based index, letter, text, or auto"
    )


Dataset = Annotated[Gqa | Mmvp | Blink | Mmbench | Jsonl, Field(discriminator="importer")]


class Pool(Block):
    """Candidates: items drawn from the data sets, ranked by a hash of seed and item id."""

    quotas: dict[Slug, int | None] = Field(
        description="items to draw per data set; null takes all. Data sets not named stay out", min_length=1
    )


class Images(Block):
    """Decoding of source images."""

    max_pixels: int = Field(89_478_485, gt=0, description="larger images are set aside (Pillow's own warning limit)")
