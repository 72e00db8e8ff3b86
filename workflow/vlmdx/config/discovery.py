"""Config of system B: a questioner that learns where a frozen answerer fails."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from vlmdx.config.base import Block, Share, Slug
from vlmdx.config.models import Model

METHODS = ("zero-shot", "sft", "expert-iteration", "conme", "rl", "sft-rl")  # of arXiv 2604.04733, section 4
TRAINED = ("sft", "expert-iteration", "rl", "sft-rl")
Method = Literal[METHODS]  # type: ignore[valid-type]


class Oracle(Block):
    """Executes the question on the image's scene graph: exact, for data sets of the importer `gqa`."""

    kind: Literal["oracle"] = Field(description="exact verdicts from GQA's scene graphs")


class ModelVerifier(Model):
    """A strong vision-language model of Hugging Face's layout."""

    kind: Literal["vlm"] = Field(description="a vision-language model, asked step by step")
    max_tokens: int = Field(256, gt=0, description="tokens of one verdict")


class Endpoint(Block):
    """A chat server with OpenAI's interface."""

    kind: Literal["endpoint"] = Field(description="a chat server with OpenAI's interface")
    url: str = Field(min_length=1, description="base URL of the server")
    name: str = Field(min_length=1, description="model to ask for")
    key_variable: str | None = Field(None, description="environment variable that holds the API key; null sends none")
    timeout: float = Field(60, gt=0, description="seconds until a request is given up")
    retries: int = Field(5, ge=0, description="further tries after a time-out, a 429, a 5xx or an unreadable verdict")
    parallel: int = Field(8, gt=0, description="requests at a time")
    max_tokens: int = Field(256, gt=0, description="tokens of one verdict")
    price_input: float = Field(0, ge=0, description="price of a million input tokens, for the count of costs")
    price_output: float = Field(0, ge=0, description="price of a million output tokens")


Verifier = Annotated[Oracle | ModelVerifier | Endpoint, Field(discriminator="kind")]


class Run(Block):
    """One answerer under discovery."""

    dataset: Slug = Field(description="data set whose images are asked about")
    answerer: Slug = Field(description="model under test, one of `models`")
    verifier: Verifier = Field(description="judge of questions and answers: oracle, vlm or endpoint")
    second_verifier: Verifier | None = Field(
        None, description="asked the same about the held-out questions, for agreement (kappa); null: none"
    )


class Questioner(Block):
    """The policy that writes the questions."""

    source: str = Field("resources/models/questioner-demo", min_length=1, description="local folder or hub id")
    revision: str | None = Field(None, description="commit on the hub")
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = Field("float32", description="weights and activations")
    attention: Literal["sdpa", "eager", "flash_attention_2"] = Field("sdpa", description="attention implementation")
    max_pixels: int | None = Field(None, gt=0, description="pixel budget of the processor; null keeps its own")
    lora_rank: int | None = Field(None, gt=0, description="train adapters of this rank; null trains all weights")
    temperature: float = Field(1.0, gt=0, description="of sampling, in training and on held-out images")
    max_tokens: int = Field(32, gt=0, description="tokens of a question; a longer one is cut and counted")


class Reward(Block):
    """R = delta * V * (1 - C) - P (arXiv 2604.04733, section 3)."""

    penalty: float = Field(0.5, ge=0, description="p of an invalid question (ours)")
    buffer: int = Field(256, gt=0, description="failed questions of other images that diversity is measured against")
    encoder: str = Field("minilm", description="sentence-transformers model: hub id, folder, or `minilm`, installed")
    encoder_revision: str | None = Field(None, description="commit of the encoder on the hub")


class Training(Block):
    """GRPO and fine-tuning; every method generates the same number of training questions."""

    steps: int = Field(200, gt=0, description="optimizer steps of GRPO")
    prompts: int = Field(8, gt=0, description="prompts per step")
    generations: int = Field(8, ge=2, description="questions per prompt, the group of GRPO")
    learning_rate: float = Field(1e-5, gt=0, description="of GRPO")
    beta: float = Field(0.0, ge=0, description="weight of the KL term to the starting policy")
    patience: int = Field(20, gt=0, description="stop after this many steps in a row without any spread in the rewards")
    save_every: int = Field(50, gt=0, description="steps between two checkpoints")
    rounds: int = Field(3, gt=0, description="rounds of expert iteration; sft has one")
    epochs: int = Field(2, gt=0, description="passes over the kept questions, per round")
    finetune_rate: float = Field(1e-5, gt=0, description="learning rate of fine-tuning")
    vllm: bool = Field(False, description="generate with vLLM, where it is installed")


class Discovery(Block):
    """A questioner that learns where a model fails: target `discovery`, which is not part of `all`."""

    runs: dict[Slug, Run] = Field({}, description="answerers under discovery, by slug; none: no discovery target")
    methods: list[Method] = Field(list(METHODS), min_length=1, description="methods to compare; a list replaces")
    seeds: list[Annotated[int, Field(ge=0)]] = Field([0], min_length=1, description="repetitions of every method")
    train_images: int = Field(1000, gt=0, description="images to train on, ranked by a hash of seed and image id")
    held_out_images: int = Field(200, gt=0, description="other images, on which all methods are compared")
    questions_per_image: int = Field(5, gt=0, description="questions about one image, each in view of the earlier ones")
    questioner: Questioner = Field(Questioner(), description=Questioner.__doc__)
    reward: Reward = Field(Reward(), description=Reward.__doc__)
    training: Training = Field(Training(), description=Training.__doc__)
    replicates: int = Field(2000, ge=100, description="of the bootstrap, clustered by image")
    confidence: Share = Field(0.95, description="level of the intervals")

    @field_validator("methods", "seeds")
    @classmethod
    def _distinct(cls, value: list) -> list:
        if len(set(value)) < len(value):
            raise ValueError(f"{value} repeats an entry")
        return value
