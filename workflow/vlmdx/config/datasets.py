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
    per_operation: int | None = Field(
        None, gt=0, description="questions to draw per operation (paper C: 500); null takes all"
    )


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


class Vsr(Block):
    """VSR: statements on the relation of two things, true or false."""

    importer: Literal["vsr"] = Field(description="VSR as published")
    file: Path = Field(description="JSON lines of one split")
    images: Path = Field(description="folder of the COCO photos")
    instances_file: Path | None = Field(None, description="COCO instances of these photos, for boxes")
    categories: Path | None = Field(None, description="rel_meta_category_dict.txt, for relation categories")


class Seedbench(Block):
    """SEED-Bench v1, v2 or v2-Plus: single-image questions."""

    importer: Literal["seedbench"] = Field(description="SEED-Bench JSON")
    file: Path = Field(description="the JSON file")
    images: Path = Field(description="folder of the images, by data_id")


class Coco(Block):
    """COCO instances: one present and one absent category asked about per photo."""

    importer: Literal["coco"] = Field(description="COCO instances")
    instances_file: Path = Field(description="instances_*.json")
    images: Path = Field(description="folder of the photos")


class Hf(Block):
    """A Hugging Face data set on disk: Parquet with an image column."""

    importer: Literal["hf"] = Field(description="Parquet with a Hugging Face image column")
    file: Path = Field(description="a Parquet file, or a folder of them")
    options: str | list[str] = Field(description="column that lists the options, or one column per option")
    image: str = Field("image", description="column of the image")
    question: str = Field("question", description="column of the question")
    answer: str | None = Field("answer", description="column of the gold option; null where there is none")
    answer_form: Literal["auto", "index", "index1", "letter", "text"] = Field(
        "auto", description="how the answer column names the gold option"
    )
    id: str | None = Field(None, description="column of the id; null numbers the rows")
    category: str | None = Field(None, description="column of the category")


# Keys of an entry that name a file or folder.
SOURCES = ("questions", "scene_graphs", "images", "folder", "file", "instances_file", "categories")
Dataset = Annotated[Gqa | Mmvp | Blink | Mmbench | Jsonl | Vsr | Seedbench | Coco | Hf, Field(discriminator="importer")]


class Pool(Block):
    """Candidates: items drawn from the data sets, ranked by a hash of seed and item id."""

    quotas: dict[Slug, int | None] = Field(
        description="items to draw per data set; null takes all. Data sets not named stay out", min_length=1
    )


class Images(Block):
    """Decoding of source images."""

    max_pixels: int = Field(89_478_485, gt=0, description="larger images are set aside (Pillow's own warning limit)")
