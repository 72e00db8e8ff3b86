"""Linear probes: can a layer's state at the answer position tell a question from the same question with a word changed?

arXiv 2607.16094 (stated): a linear probe per layer separates clean from minimally changed inputs, on vision-sensitive
and insensitive pairs; the gap is the difference in accuracy at the best layer and is valid above .05. Ours: the pairs
(see :mod:`vlmdx.mechanism.pairs`); the answer position, since image tokens stand in front of the question and, with
causal attention, are the same for all forms of it; standardised states and scikit-learn's logistic regression with its
own default strength; folds that keep an image's questions together; the best layer is the one that is most accurate on
sensitive pairs, the earliest of equal ones.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from vlmdx.stats.bootstrap import bootstrap_statistic, null_if_nan

ITERATIONS = 2000  # of the fit; it ends earlier once it converges
Floats = NDArray[np.float32]


def told_right(first: Floats, second: Floats, groups: Sequence[str], folds: int, seed: int) -> Floats:
    """Share of each pair that a probe told right which was fitted without the pair's image: float32 [pairs], 0 to 1.

    Args:
        first, second: states [pairs, width] of the clean and of the changed question.
        groups: image id of each pair; there must be two at least.
        folds: of the cross-validation; no more than there are images.
        seed: of the folds.
    """
    states = np.concatenate([first, second])
    changed = np.repeat([0, 1], len(first))
    images = np.concatenate([groups, groups])
    right = np.zeros(len(states), np.float32)
    splits = GroupKFold(min(folds, len(set(groups))), shuffle=True, random_state=seed)
    for fitted, held_out in splits.split(states, changed, images):
        probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=ITERATIONS))
        probe.fit(states[fitted], changed[fitted])
        right[held_out] = probe.predict(states[held_out]) == changed[held_out]
    return right.reshape(2, -1).mean(0)


def probe_layers(pairs: Sequence[Mapping[str, Any]], states: Floats, folds: int, seed: int) -> list[dict[str, Any]]:
    """Rows of :data:`vlmdx.mechanism.tables.PROBES`.

    ``reworded`` is what the insensitive pairs give when the reworded question always counts as changed: whether a
    probe can read a single function word from this layer at all.

    Args:
        pairs: rows of word pairs.
        states: [layers, pairs, 3, width], in the order of :data:`vlmdx.mechanism.probing_states.FORMS`.
        folds, seed: see :func:`told_right`.
    """
    groups = [pair["image_id"] for pair in pairs]
    swapped = np.array([pair["reworded_is_clean"] for pair in pairs])[:, None]
    rows = []
    for layer, (clean, sensitive, insensitive) in enumerate(tqdm(states.transpose(0, 2, 1, 3), "probes", unit="layer")):
        lots = np.where(swapped, insensitive, clean), np.where(swapped, clean, insensitive)
        told = {
            "sensitive": told_right(clean, sensitive, groups, folds, seed),
            "insensitive": told_right(*lots, groups, folds, seed),
            "reworded": told_right(clean, insensitive, groups, folds, seed),
        }
        for place, pair in enumerate(pairs):
            named = {key: pair[key] for key in ("item_id", "image_id", "operation")}
            rows.append({**named, "layer": layer, **{kind: float(share[place]) for kind, share in told.items()}})
    return rows


def gaps(probes: pd.DataFrame, *, valid: float, resamples: int, confidence: float, seed: int) -> pd.DataFrame:
    """One row per operation and layer: accuracies, their gap, and the best layer's gap with its interval.

    Columns: operation, layer, pairs, accuracy_sensitive, accuracy_insensitive, accuracy_reworded, gap; and, equal in
    all rows of an operation, best_layer, best_gap, best_gap_low, best_gap_high (clustered by image) and valid. The best
    of many layers is a little too good by chance: the interval does not know that it was chosen.

    Args:
        probes: rows of the probes contract, one model.
        valid: a larger gap is valid.
        resamples, confidence, seed: of the bootstrap.
    """
    tables = []
    for operation, rows in probes.groupby("operation", sort=True):
        table = rows.groupby("layer")[["sensitive", "insensitive", "reworded"]].mean().add_prefix("accuracy_")
        table["gap"] = table["accuracy_sensitive"] - table["accuracy_insensitive"]
        best = int(table["accuracy_sensitive"].idxmax())
        chosen = rows[rows["layer"] == best]
        interval = bootstrap_statistic(
            chosen["image_id"].tolist(),
            np.stack([chosen["sensitive"] - chosen["insensitive"], np.ones(len(chosen))], 1).astype(float),
            lambda totals: (totals[:, 0] / totals[:, 1])[:, None],
            replicates=resamples,
            confidence=confidence,
            seed=seed,
        )
        table = table.reset_index()
        table.insert(0, "operation", operation)
        table.insert(2, "pairs", len(chosen))
        gap = float(table.loc[table["layer"] == best, "gap"].iloc[0])
        low, high = (null_if_nan(float(end[0])) for end in (interval.low, interval.high))
        tables.append(
            table.assign(
                best_layer=best, best_gap=gap, best_gap_low=low, best_gap_high=high, valid=round(gap - valid, 9) > 0
            )
        )
    return pd.concat(tables, ignore_index=True)
