"""The verifier for images with scene graphs: reads the question, executes it on the graph, and is exact."""

import re
from collections.abc import Mapping, Sequence

from vlmdx.discovery.answers import same_answer
from vlmdx.discovery.grammar import Query, Unread, Vocabulary, read_question
from vlmdx.discovery.graph import Executed, Graph, Invalid, Unknown, execute
from vlmdx.discovery.roles import Answer, Judgement, Question, Validity

# Words of taste or guesswork: no scene graph, and no two people, decide by them.
OPINION = frozenset(
    {"beautiful", "pretty", "nice", "ugly", "best", "worst", "favorite", "favourite", "interesting", "boring"}
    | {"think", "feel", "like", "maybe", "probably"}
)


class Oracle:
    """Verifier for GQA's kind of data.

    Args:
        graphs: image id -> scene graph in GQA's format.
    """

    def __init__(self, graphs: Mapping[str, Graph]) -> None:
        self._graphs = graphs
        self._vocabulary = Vocabulary.of(graphs.values())

    def validity(self, questions: Sequence[Question]) -> list[Validity]:
        """Valid iff the question can be read, has one asking, and has exactly one answer in its scene."""
        return [self._validity(question) for question in questions]

    def judge(self, questions: Sequence[Question], answers: Sequence[Answer]) -> list[Judgement]:
        """Compare with the executed answer."""
        found = []
        for question, answer in zip(questions, answers, strict=True):
            reference = self.run(question)[1].answer
            right = same_answer(answer.text, reference)
            found.append(Judgement("correct" if right else "incorrect", reference))
        return found

    @property
    def names(self) -> frozenset[str]:
        """Names of things in all graphs."""
        return self._vocabulary.names

    def read(self, text: str) -> Query:
        """The query that a question asks.

        Raises:
            Unread: it is none of the grammar's.
        """
        return read_question(text, self._vocabulary)

    def run(self, question: Question) -> tuple[Query, Executed]:
        """The query of a question, and its execution.

        Raises:
            Unread, Invalid, Unknown: it has no answer.
            KeyError: no scene graph of this image.
        """
        return self.explain(question.image_id, question.text)

    def explain(self, image_id: str, text: str) -> tuple[Query, Executed]:
        """The same for a question that needs no image here."""
        query = self.read(text)
        return query, execute(query, self._graphs[image_id])

    def _validity(self, question: Question) -> Validity:
        try:
            self.run(question)
        except Unread as error:
            return Validity(False, self._unread(question.text), str(error))
        except Invalid as error:
            return Validity(False, error.criterion, str(error))
        except Unknown as error:
            return Validity(None, None, str(error))
        return Validity(True)

    def _unread(self, text: str) -> str:
        """Which criterion a text fails that is no question of the grammar."""
        words = set(re.findall(r"[a-z]+", text.lower()))
        if words & OPINION:
            return "objective"
        parts = [part.strip() + "?" for part in re.split(r"\?|\band\b|\bor\b", text.lower()) if part.strip()]
        return "atomic" if len(parts) > 1 and sum(map(self._readable, parts)) > 1 else "grammatical"

    def _readable(self, text: str) -> bool:
        try:
            self.read(text)
        except Unread:
            return False
        return True
