"""What training and asking hold in common: from drawn questions to graded rows, and to rewards a trainer can take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from vlmdx.discovery.memory import Embed, Memory
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.roles import Answerer, Question, Verifier
from vlmdx.discovery.rollouts import Asked, grade
from vlmdx.discovery.sample import Sampled

Row = dict[str, Any]
NO_SEED = -1  # sample_seed where the sampler (vLLM) takes none per question


@dataclass(frozen=True)
class Panel:
    """Who judges the questions, and how they are rewarded.

    Attributes:
        answerer: the model under test, frozen.
        verifier: judge of questions and answers, frozen.
        embed: sentence embeddings, for the semantic term of the reward.
        reward: settings of the reward.
        instruction: the questioner's prompt file, as text.
    """

    answerer: Answerer
    verifier: Verifier
    embed: Embed
    reward: RewardSettings
    instruction: str

    def memory(self, rows: Sequence[Row] = ()) -> Memory:
        """The memory after ``rows``."""
        return Memory.replay(rows, self.reward, self.embed)

    def grade(self, slots: Sequence["Slot"], drawn: Sequence[Sampled], memory: Memory) -> list[Row]:
        """Rows of ROLLOUTS (without run, method, seed, phase) for the questions drawn for ``slots``, in order."""
        images = images_of(slots)
        asked = [slot.asked(said, images[slot.picture.image_id]) for slot, said in zip(slots, drawn, strict=True)]
        return grade(asked, self.answerer, self.verifier, memory, self.instruction)


@dataclass(frozen=True)
class Slot:
    """A question that is to be drawn: all that is known of it before.

    Attributes:
        step: of the plan, from 1; 0 on held-out images.
        turn: place in the sequence of questions about the image, from 0.
        sample: place among the samples of one prompt, from 0.
        seed: of the sampler, or ``NO_SEED``.
        prompt: text of the user turn.
        earlier: questions of this sequence before it.
    """

    picture: Picture
    step: int
    turn: int
    sample: int
    seed: int
    prompt: str
    earlier: tuple[str, ...]

    def asked(self, drawn: Sampled, image: Image.Image) -> Asked:
        """The slot with the question that was drawn for it; ``image`` is the decoded picture."""
        return Asked(
            Question(self.picture.image_id, image, drawn.text, self.earlier),
            self.picture.sha256,
            self.step,
            self.turn,
            self.sample,
            self.seed,
            self.prompt,
            drawn.logprob,
            drawn.tokens,
            drawn.finished,
        )


def images_of(slots: Sequence[Slot]) -> dict[str, Image.Image]:
    """The images of ``slots`` by id, each decoded once and shared as one object."""
    pictures = {slot.picture.image_id: slot.picture for slot in slots}
    return {image_id: picture.image for image_id, picture in pictures.items()}


def undecided(row: Row) -> bool:
    """No verdict on the question, or none on the answer to a valid one."""
    return row["valid"] is None or bool(row["valid"] and row["correct"] is None)


def signal(row: Row) -> float | None:
    """The row's reward as a trainer may see it; None, which has no part in any advantage, where there is no verdict."""
    reward = row["reward"]
    return None if undecided(row) or reward is None or not math.isfinite(reward) else float(reward)


def completion_text(completion: Any) -> str:
    """Text of a completion in any of the shapes that trainers hand over.

    A string; a chat message; a list of chat messages, whose assistant turns count; content as a list of parts.
    Anything else is the empty question, which is invalid and gets the penalty (huggingface/trl#4202, #4939).
    """
    if isinstance(completion, str):
        return completion.strip()
    if isinstance(completion, dict):
        if completion.get("role", "assistant") != "assistant":
            return ""
        return completion_text(completion["content"] if "content" in completion else completion.get("text"))
    if isinstance(completion, list | tuple):
        return " ".join(text for text in map(completion_text, completion) if text)
    return ""
