"""Made-up models: score shards and items that keep the SCORES and ITEMS contracts, with any K and any damage."""

from pathlib import Path

import numpy as np
from vlmdx.schema import write_table
from vlmdx.schema.tables import ITEMS, SCORES

FAMILIES = {
    "photometric": ["brightness", "contrast", "saturate"],
    "noise": ["gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"],
    "blur": ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"],
    "weather": ["snow", "frost", "fog", "spatter"],
    "digital": ["elastic_transform", "pixelate", "jpeg_compression"],
}
SEVERITIES = [1, 2, 3, 4, 5]
SETTINGS = {
    "families": FAMILIES,
    "severities": SEVERITIES,
    "bootstrap": 200,
    "confidence": 0.95,
    "ece_bins": 15,
    "seed": 3,
    "letter_mass_min": 0.01,
}


def item(number: int, k: int, gold: int | None, image: int | None = None) -> dict:
    return {
        "item_id": f"syn:{number}",
        "dataset": "syn",
        "image_id": f"syn:{number // 2 if image is None else image}",
        "question": "What is shown?",
        "options": [f"thing {i}" for i in range(k)],
        "answer": gold,
        "category": None,
        "operation": None,
        "program": None,
        "objects": None,
    }


def score_rows(item: dict, corruption: str, severity: int, logits, reason: str | None = None) -> list[dict]:
    """The K rows of one answer, as the scoring stage writes them; a reason empties the numbers."""
    logits = np.asarray(logits, dtype=np.float64)
    logprob = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    gold = item["answer"]
    rows = []
    for index, value in enumerate(logprob):
        numbers = {
            "logit": float(logits[index]),
            "logprob": float(value),
            "prob": float(np.exp(value)),
            "logprob_full": float(value) - 0.1,
            "letter_mass": float(np.exp(-0.1)),
            "chosen": index == int(logprob.argmax()),
            "tied": bool((logprob == logprob.max()).sum() > 1),
        }
        rows.append(
            {
                "item_id": item["item_id"],
                "corruption": corruption,
                "severity": severity,
                "option_index": index,
                "letter": chr(65 + index),
                **(dict.fromkeys(numbers) if reason else numbers),
                "text_sum": None,
                "text_mean": None,
                "is_gold": None if gold is None else index == gold,
                "image_tokens": 25,
                "reason": reason,
            }
        )
    return rows


def make_items(count: int, seed: int = 0) -> list[dict]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, count)
    return [item(n, int(k), int(rng.integers(k))) for n, k in enumerate(sizes)]


def make_scores(
    items: list[dict], seed: int, skill: float = 1.5, families=FAMILIES, severities=SEVERITIES
) -> dict[str, list[dict]]:
    """Family -> rows. Clean logits favour the gold option by ``skill``; damage pulls them towards another answer."""
    rng = np.random.default_rng([seed, 7])
    shards: dict[str, list[dict]] = {"clean": [], **{family: [] for family in families}}
    harm = {"photometric": 0.3, "noise": 0.5, "blur": 1.0, "weather": 0.8, "digital": 0.4}
    for row in items:
        k = len(row["options"])
        clean = rng.normal(0, 1, k)
        if row["answer"] is not None:
            clean[row["answer"]] += skill
        shards["clean"] += score_rows(row, "clean", 0, 2 * clean)
        for family, names in families.items():
            for name in names:
                other = rng.normal(0, 1.3, k)
                for severity in severities:
                    pull = harm.get(family, 0.5) * severity / 5
                    damaged = (1 - pull) * clean + pull * other + rng.normal(0, 0.15, k)
                    shards[family] += score_rows(row, name, severity, 2 * damaged)
    return shards


def write_shards(folder: Path, shards: dict[str, list[dict]]) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for family, rows in shards.items():
        path = folder / f"{family}.parquet"
        write_table(path, rows, SCORES)
        paths.append(str(path))
    return paths


def write_items(path: Path, items: list[dict]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(path, items, ITEMS)
    return str(path)
