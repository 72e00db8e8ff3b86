import numpy as np
import pytest
from vlmdx.discovery.embedder import Embedder
from vlmdx.selection.embed import embed_texts

QUESTIONS = ["What color is the circle?", "Is it red?", "How many things are to the left of the small blue cross?", ""]


@pytest.fixture(scope="module")
def vectors():
    return Embedder()(QUESTIONS)


def test_an_embedding_depends_on_its_text_alone(vectors):
    backwards = Embedder()(QUESTIONS[::-1])[::-1]
    assert np.array_equal(backwards, vectors)
    other = Embedder()
    assert np.array_equal(np.concatenate([other([q]) for q in QUESTIONS]), vectors)


def test_it_is_the_encoder_of_the_selection(vectors):
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, embed_texts(QUESTIONS, "minilm"), atol=1e-6)


def test_each_text_is_encoded_once():
    embedder = Embedder()
    calls = []
    embedder._model = type("Model", (), {"encode": lambda self, texts, **_: calls.append(texts) or np.ones((1, 4))})()
    assert embedder(["a", "b", "a"]).shape == (3, 4)
    embedder(["b"])
    assert calls == [["a"], ["b"]]


def test_a_missing_encoder_is_said_when_it_is_used(tmp_path):
    with pytest.raises(FileNotFoundError):
        Embedder(str(tmp_path / "nothing"))(["a"])
