"""Taxonomy, stages 2 to 4: primitives -> topics -> skills -> meta-skills (arXiv 2604.04733; the details are ours).

Topics are BERTopic's (arXiv 2203.05794). UMAP and HDBSCAN need some hundred texts; a scene-graph vocabulary has twenty.
Below ``few`` primitives BERTopic therefore clusters the embeddings themselves, by complete linkage: all pairs in a
topic have at least ``similarity``, and what is like nothing else is a topic of its own, as HDBSCAN's outliers are.
A skill is a topic under the name of its medoid; so no two skills have one name, and none is made up.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Embed = Callable[[Sequence[str]], np.ndarray]
WORDS = 5  # of a topic that are kept
LEFT_OUT = 0.1  # share of the primitives that each reseeding leaves out


@dataclass(frozen=True)
class TopicSettings:
    """How primitives are put together.

    Attributes:
        similarity: least cosine of the primitives of one topic, where there are few.
        few: fewer distinct primitives are clustered without UMAP and HDBSCAN.
        smallest_topic: HDBSCAN's least size of a topic.
    """

    similarity: float = 0.8
    few: int = 100
    smallest_topic: int = 3


def vocabulary(counts: Mapping[str, int], embed: Embed, settings: TopicSettings, seed: int) -> list[dict[str, Any]]:
    """Skill and meta-skill of every primitive.

    Args:
        counts: distinct primitive -> questions that need it.
        embed: texts -> float [n, d], rows of length 1.
        settings: of the topics.
        seed: of UMAP.

    Returns:
        Rows of VOCABULARY, sorted by primitive.

    Raises:
        ValueError: no primitive.
    """
    texts = sorted(counts)
    if not texts:
        raise ValueError("no primitive: no question of any run was valid, or none of them could be read")
    vectors = embed(texts)
    labels, words = topics(texts, vectors, settings, seed)
    members = {label: np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())}
    middle = {label: int(found[_medoid(vectors[found])]) for label, found in members.items()}
    skills = {label: texts[index] for label, index in middle.items()}
    groups = meta_skills(np.stack([_mean(vectors[found]) for found in members.values()]), list(skills.values()))
    return [
        {
            "primitive": text,
            "questions": counts[text],
            "skill": skills[label],
            "words": words[label],
            "meta_skill": groups[skills[label]],
        }
        for text, label in zip(texts, labels.tolist(), strict=True)
    ]


def topics(
    texts: Sequence[str], vectors: np.ndarray, settings: TopicSettings, seed: int
) -> tuple[np.ndarray, dict[int, list[str]]]:
    """Topics of distinct texts.

    Returns:
        int [n], the topic of each text, from 0; and each topic's words of largest c-TF-IDF weight.
    """
    if len(texts) == 1:
        return np.zeros(1, int), {0: texts[0].split()[:WORDS]}
    from bertopic import BERTopic  # takes seconds to import
    from bertopic.dimensionality import BaseDimensionalityReduction
    from hdbscan import HDBSCAN
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.feature_extraction.text import CountVectorizer
    from umap import UMAP

    reduction: Any = BaseDimensionalityReduction()
    clusters: Any = AgglomerativeClustering(
        None, metric="cosine", linkage="complete", distance_threshold=1 - settings.similarity
    )
    if len(texts) >= settings.few:
        near = min(15, len(texts) - 1)  # UMAP's default, as is BERTopic's number of components
        reduction = UMAP(near, n_components=5, min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1)
        clusters = HDBSCAN(settings.smallest_topic, metric="euclidean", cluster_selection_method="eom")
    model = BERTopic(
        umap_model=reduction, hdbscan_model=clusters, vectorizer_model=CountVectorizer(token_pattern=r"\b\w+\b")
    )
    labels = np.array(model.fit_transform(list(texts), vectors)[0])
    words = {label: [word for word, _ in model.get_topic(label) if word][:WORDS] for label in set(labels.tolist())}
    for index in np.flatnonzero(labels < 0):  # HDBSCAN's outliers
        labels[index] = labels.max() + 1
        words[int(labels[index])] = texts[int(index)].split()[:WORDS]
    return labels, words


def meta_skills(vectors: np.ndarray, skills: Sequence[str]) -> dict[str, str]:
    """Meta-skill of each skill: Ward's clusters, about as many as each has members (ours), named by their medoids.

    Args:
        vectors: float [n, d], one row of length 1 per skill.
        skills: their names.
    """
    if len(skills) < 3:
        return dict.fromkeys(skills, skills[0])
    from sklearn.cluster import AgglomerativeClustering

    labels = AgglomerativeClustering(math.ceil(math.sqrt(len(skills)))).fit_predict(vectors)
    found: dict[str, str] = {}
    for label in set(labels.tolist()):
        members = np.flatnonzero(labels == label)
        name = skills[int(members[_medoid(vectors[members])])]
        found |= {skills[int(index)]: name for index in members}
    return found


def stability(
    counts: Mapping[str, int], embed: Embed, settings: TopicSettings, seed: int, times: int
) -> list[dict[str, Any]]:
    """How far skills depend on chance: adjusted Rand indices (Hubert & Arabie 1985) between reseedings.

    Each reseeding gives UMAP another seed and leaves out a tenth of the primitives, drawn by that seed: where there are
    few primitives, nothing else is random. Two of them are compared on the primitives that both have.

    Returns:
        One row per pair of seeds: ``first, second, primitives, adjusted_rand``; none below 4 primitives.
    """
    from sklearn.metrics import adjusted_rand_score

    texts = sorted(counts)
    if len(texts) < 4:
        return []
    vectors, runs = embed(texts), []
    for number in range(seed, seed + times):
        keep = max(3, len(texts) - math.ceil(LEFT_OUT * len(texts)))
        kept = np.sort(np.random.default_rng([number, len(texts)]).permutation(len(texts))[:keep])
        labels, _ = topics([texts[i] for i in kept], vectors[kept], settings, number)
        runs.append((number, dict(zip(kept.tolist(), labels.tolist(), strict=True))))
    rows = []
    for (first, a), (second, b) in itertools.combinations(runs, 2):
        both = sorted(a.keys() & b.keys())
        index = float(adjusted_rand_score([a[i] for i in both], [b[i] for i in both]))
        rows.append({"first": first, "second": second, "primitives": len(both), "adjusted_rand": index})
    return rows


def _mean(vectors: np.ndarray) -> np.ndarray:
    mean = vectors.mean(axis=0, dtype=np.float64)
    return mean / np.linalg.norm(mean)


def _medoid(vectors: np.ndarray) -> int:
    """Index of the vector nearest to all others; the first of equals."""
    return int(np.argmax(np.round(vectors @ _mean(vectors), 6)))
