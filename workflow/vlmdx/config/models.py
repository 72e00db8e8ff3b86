"""Config of the models under test and of how they are read out."""

from typing import Literal

from pydantic import Field

from vlmdx.config.base import Block


class Model(Block):
    """A vision-language model."""

    source: str = Field(min_length=1, description="local folder or Hugging Face hub id")
    revision: str | None = Field(
        None, description="commit on the hub; null takes the one in models.lock.yaml, which `vlmdx fetch` writes"
    )
    family: str | None = Field(
        None,
        description="model type whose adapter to use, if not the model's own; `generic` where none is written for it",
    )
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = Field("float32", description="weights and activations")
    attention: Literal["sdpa", "eager", "flash_attention_2"] = Field("sdpa", description="attention implementation")
    max_pixels: int | None = Field(None, gt=0, description="pixel budget of the processor; null keeps its own")
    readout: Literal["letter", "text"] = Field(
        "letter",
        description="letter: next-token probabilities of the letters; text: likelihoods of the option texts",
    )
    batch_tokens: int = Field(4096, gt=0, description="padded tokens per batch: lower it when memory runs out")
    trust_remote_code: bool = Field(False, description="run code from the model's own repository")


class Scoring(Block):
    """What all models share when they are scored."""

    device: Literal["auto", "cuda", "mps", "cpu"] = Field("auto", description="auto takes cuda, then mps, then cpu")
    letter_prompt: str = Field("resources/prompts/letter.txt", description="prompt file of the letter read-out")
    text_prompt: str = Field("resources/prompts/text.txt", description="prompt file of the text read-out")
    circular: bool = Field(
        False,
        description="also ask every bench item about its clean image with its options in all cyclic rotations",
    )


class Demo(Block):
    """The embedded demo world of coloured shapes."""

    scenes: int = Field(40, gt=0, description="scenes drawn for the demo data set")
    questions_per_scene: int = Field(6, gt=0, description="questions per scene")
    mechanism_scenes: int = Field(150, gt=0, description="scenes drawn for the demo of the mechanism target")
    mechanism_questions_per_scene: int = Field(
        7, gt=0, description="questions per scene there: the seven operations in turn"
    )
