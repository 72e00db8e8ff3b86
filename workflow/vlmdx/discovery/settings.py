"""How the questioner is trained."""

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class TrainSettings:
    """How the questioner is trained; all values are ours where the comment names no source.

    Attributes:
        steps: optimizer steps of RL; with ``questions`` it is the budget of every method.
        batch_size: questions per forward and backward pass.
        accumulation: passes per step.
        generations: questions per prompt, the group of GRPO (arXiv 2402.03300).
        questions_per_image: length of a sequence.
        max_tokens: most tokens of a question, the end token included.
        temperature: of the sampler and of the trained log-probabilities.
        learning_rate: peak; falls linearly to 0.
        beta: weight of the KL divergence to the first policy; 0 keeps no reference model in memory, TRL's default.
        save_every: steps between checkpoints.
        patience: steps in a row without any spread in the rewards that stop the run.
        lora_rank: rank of LoRA on the language model's linear layers; None trains all of its weights.
        mask_truncated: leave questions that were cut off at ``max_tokens`` out of the loss; else the penalty of an
            unfinished, invalid question teaches to come to an end.
        use_vllm: let vLLM draw the questions; then they have no seed of their own.
    """

    steps: int = 200
    batch_size: int = 8
    accumulation: int = 4
    generations: int = 8
    questions_per_image: int = 5
    max_tokens: int = 32
    temperature: float = 1.0
    learning_rate: float = 1e-5
    beta: float = 0.0
    save_every: int = 50
    patience: int = 20
    lora_rank: int | None = None
    mask_truncated: bool = False
    use_vllm: bool = False

    @property
    def questions(self) -> int:
        """Questions per step."""
        return self.batch_size * self.accumulation


def check_vllm(settings: TrainSettings) -> None:
    """Refuse vLLM generation where it is not installed, before any model is loaded.

    Raises:
        ValueError: with what to do.
    """
    if settings.use_vllm and find_spec("vllm") is None:
        raise ValueError("use_vllm: true, but vllm is not installed here; install it or set use_vllm: false")
