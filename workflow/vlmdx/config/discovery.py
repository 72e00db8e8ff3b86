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
    base_url: str = Field(min_length=1, description="with version, e.g. http://localhost:8000/v1")
    model: str = Field(min_length=1, description="as the server calls it")
    api_key_env: str | None = Field(None, description="environment variable that holds the key; null sends none")
    timeout: float = Field(60, gt=0, description="of one request, seconds")
    retries: int = Field(5, ge=0, description="further tries of a request that failed or was answered unreadably")
    backoff: float = Field(1.0, gt=0, description="before the first retry, seconds; doubles with each, up to 60")
    max_tokens: int = Field(512, gt=0, description="most tokens of a reply")
    workers: int = Field(4, gt=0, description="requests at a time")
    prompt_price: float | None = Field(None, ge=0, description="per million tokens; null: costs are not counted")
    completion_price: float | None = Field(None, ge=0, description="per million tokens")


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
    max_tokens: int = Field(32, gt=0, description="most tokens of a question, its end included")
    trust_remote_code: bool = Field(False, description="run code from the model's own repository")


class Prompts(Block):
    """Prompt files; a changed text is a changed method."""

    questioner: str = Field("resources/prompts/questioner.txt", description="asks for one question")
    conme: str = Field("resources/prompts/conme.txt", description="the same, with the answerer's mistakes in it")
    validity: str = Field(
        "resources/prompts/validity.txt", description="verifier on a question, criterion by criterion"
    )
    reference: str = Field("resources/prompts/reference.txt", description="verifier's own answer")
    judge: str = Field("resources/prompts/judge.txt", description="verifier on an answer")
    primitives: str = Field("resources/prompts/primitives.txt", description="elementary abilities of a question")


class Reward(Block):
    """R = delta * V * (1 - C) - P (arXiv 2604.04733, section 3)."""

    penalty: float = Field(0.5, ge=0, description="p of an invalid question (ours)")
    buffer: int = Field(256, ge=0, description="latest failed questions of all images that diversity is measured by")
    semantic_weight: Share = Field(0.5, description="of the semantic term in delta; the lexical one has the rest")
    diversity: bool = Field(True, description="false sets delta to 1, for an ablation")
    encoder: str = Field("minilm", description="sentence-transformers model: hub id, folder, or `minilm`, installed")
    encoder_revision: str | None = Field(None, description="commit of the encoder on the hub")


class Training(Block):
    """GRPO and fine-tuning; every trained method asks the same number of training questions."""

    steps: int = Field(200, gt=0, description="optimizer steps of GRPO; with the questions per step, the budget of all")
    batch_size: int = Field(8, gt=0, description="questions per forward and backward pass")
    accumulation: int = Field(4, gt=0, description="passes per step")
    generations: int = Field(8, description="questions per prompt, the group of GRPO (arXiv 2402.03300); at least 2")
    learning_rate: float = Field(1e-5, gt=0, description="of GRPO; falls linearly to 0")
    beta: float = Field(0.0, ge=0, description="weight of the KL divergence to the first policy; 0 keeps no reference")
    save_every: int = Field(50, gt=0, description="steps between two checkpoints")
    patience: int = Field(20, gt=0, description="stop after this many steps in a row without any spread in the rewards")
    mask_truncated: bool = Field(False, description="leave questions that were cut off out of the loss")
    use_vllm: bool = Field(False, description="generate with vLLM, where it is installed; questions then have no seed")


class Finetuning(Block):
    """Fine-tuning on valid questions that the answerer failed: sft once, expert-iteration in rounds."""

    rounds: int = Field(4, gt=0, description="rounds of expert iteration")
    epochs: int = Field(2, gt=0, description="passes over the kept questions")
    learning_rate: float = Field(1e-5, gt=0, description="peak; falls linearly to 0")
    batch_size: int = Field(8, gt=0, description="questions per step")


class Taxonomy(Block):
    """Skills that questions need, and which of them the answerer fails."""

    similarity: float = Field(
        0.8, gt=0, le=1, description="least cosine of the primitives of one skill, where there are few (ours)"
    )
    few: int = Field(100, ge=4, description="fewer distinct primitives are clustered without UMAP and HDBSCAN")
    smallest_topic: int = Field(3, ge=2, description="HDBSCAN's least number of primitives in a topic")
    reseedings: int = Field(5, ge=2, description="clusterings that stability is measured between")
    minimum: int = Field(20, ge=2, description="distinct valid questions that a skill must have to be tested (ours)")
    alpha: Share = Field(0.05, description="false-discovery rate of the failure modes of a run")


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
    finetuning: Finetuning = Field(Finetuning(), description=Finetuning.__doc__)
    prompts: Prompts = Field(Prompts(), description=Prompts.__doc__)
    taxonomy: Taxonomy = Field(Taxonomy(), description=Taxonomy.__doc__)
    spot_check: int = Field(48, gt=0, description="held-out questions that are laid out for a person to judge")
    rewards: dict[Slug, Reward] = Field(
        {}, description="other reward settings, by slug, under which the rollouts are graded anew, without training"
    )
    replicates: int = Field(2000, ge=100, description="of the bootstrap, clustered by image")
    confidence: Share = Field(0.95, description="level of the intervals")

    @field_validator("methods", "seeds")
    @classmethod
    def _distinct(cls, value: list) -> list:
        if len(set(value)) < len(value):
            raise ValueError(f"{value} repeats an entry")
        return value
