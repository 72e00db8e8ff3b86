"""The model under test, asked in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from vlmdx.discovery.generate import generate
from vlmdx.discovery.roles import Answer, Question
from vlmdx.models.adapter import Adapter
from vlmdx.models.prompts import fill


@dataclass(frozen=True)
class ModelAnswerer:
    """A frozen model that answers by greedy generation.

    Attributes:
        adapter: the model.
        template: text of ``text.txt``, with the field ``{question}``.
        max_tokens: most tokens of an answer.
        batch_tokens: rows x longest row of one batch; of no influence on the answers.
    """

    adapter: Adapter
    template: str
    max_tokens: int = 16
    batch_tokens: int = 8192

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order.

        Raises:
            PromptError: a question that this model cannot be shown.
        """
        prompts = [fill(self.template, question.text) for question in questions]
        images = [question.image for question in questions]
        said = generate(self.adapter, prompts, images, self.max_tokens, self.batch_tokens, "answer")
        return [Answer(reply.text, reply.logprob) for reply in said]
