"""VSR (arXiv 2205.00363) under the interventions: on the subject of a statement, on its object, on both.

arXiv 2607.16094 intervenes on subject, object and both of 2,195 captions and reports by relation category. Here a
statement becomes one item per position set: same prompt, same image, another grounding set. The rest is the engine's
and the statistics' own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from vlmdx.datasets.gqa_program import split_argument
from vlmdx.mechanism.artifacts import effects_table, set_aside
from vlmdx.mechanism.contrast import pathways
from vlmdx.mechanism.grounding import SetAside
from vlmdx.mechanism.tables import VSR_EFFECTS

SETS = ("subject", "object", "both")
SHAPE = ["select", "verify rel"]  # the program that the importer writes: subject, then relation and object
Item = Mapping[str, Any]


def position_sets(item: Item) -> dict[str, dict[str, Any]]:
    """Rows of the item table, by position set; their programs name no other object's ids.

    Raises:
        SetAside: the item is no statement about two boxed things.
    """
    program = json.loads(item["program"]) if item["program"] else []
    if [step["operation"] for step in program] != SHAPE:
        raise SetAside("no statement about two boxed things; give the data set its instances_file")
    found = {}
    for name, silent in zip(SETS, ((1,), (0,), ()), strict=True):
        steps = [
            {**step, "argument": f"{split_argument(step['argument'])[0]} (-)"} if place in silent else step
            for place, step in enumerate(program)
        ]
        found[name] = {**item, "item_id": f"{item['item_id']}#{name}", "program": json.dumps(steps)}
    return found


def statements(items: Iterable[Item]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """All items of all position sets, and (item_id, reason) of what is set aside in every one of them."""
    rows: list[dict[str, Any]] = []
    aside = []
    for item in items:
        try:
            if item["answer"] is None:
                raise SetAside("the item has no gold answer")
            rows += position_sets(item).values()
        except SetAside as reason:
            aside.append((item["item_id"], str(reason)))
    return rows, aside


def whole(parts: pa.Table) -> pa.Table:
    """The parts without "both" where subject or object alone has been set aside; the reason stands in their place.

    What is left of "both" (the other one's tokens) would be counted as something that it is not.
    """
    frame = parts.to_pandas()
    frame[["statement", "grounding"]] = frame["item_id"].str.rsplit("#", n=1).to_list()
    lost = frame[frame["reason"].notna() & (frame["grounding"] != "both")].drop_duplicates("statement")
    reasons = dict(zip(lost["statement"], lost["grounding"] + " alone: " + lost["reason"], strict=True))
    halved = (frame["grounding"] == "both") & frame["statement"].isin(reasons)
    told = frame[halved].drop_duplicates("item_id").copy()
    told["reason"] = told["statement"].map(reasons)
    told[["role", "intervention", "position"]], told[["branch", "layer"]] = "none", 0
    told[["logprob_clean", "logprob", "correct"]] = None
    kept = pd.concat([frame[~halved], told])[parts.schema.names]
    return pa.Table.from_pandas(kept, parts.schema, preserve_index=False)


def vsr_effects(parts: pa.Table, items: Sequence[Item], role: str) -> pa.Table:
    """Rows of :data:`VSR_EFFECTS`.

    Args:
        parts: what :func:`vlmdx.mechanism.run.run` found for the items of :func:`statements`.
        items: rows of the item table, for their relation category.
        role: object, or random for the control.
    """
    category = {item["item_id"]: item["category"] for item in items}
    frame = effects_table(parts, "verify", role).to_pandas()
    frame[["item_id", "grounding"]] = frame["item_id"].str.rsplit("#", n=1).to_list()
    frame["category"] = frame["item_id"].map(category)
    return pa.Table.from_pandas(frame[VSR_EFFECTS.schema.names], VSR_EFFECTS.schema, preserve_index=False)


def vsr_set_aside(parts: pa.Table, before: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Rows of the rejected contract; ``source`` is the position set. ``before`` are those of :func:`statements`."""
    rows = [(item_id, name, reason) for item_id, reason in before for name in SETS]
    rows += [(*row["item_id"].rsplit("#", 1), row["reason"]) for row in set_aside(parts, "")]
    return [
        {"source": name, "position": item_id, "item_id": item_id, "reason": reason}
        for item_id, name, reason in sorted(rows)
    ]


def vsr_pathways(
    effects: pd.DataFrame, control: pd.DataFrame, images: Mapping[str, str], **settings: Any
) -> pd.DataFrame:
    """One row per position set, relation category and intervention, as :func:`vlmdx.mechanism.contrast.pathways`.

    ``peak`` is the mean peak of right and wrong items together, for mean ablation the grounding strength GS. An MLP
    knockout at the answer does not depend on the position set and stands in each; Benjamini-Hochberg therefore runs
    within a position set, over its categories and interventions.

    Args:
        effects, control: rows of :data:`VSR_EFFECTS`, one model.
        images: image id by item id.
        **settings: resamples, confidence, seed.
    """
    tables = []
    for name in SETS:
        own, random = (
            frame[frame["grounding"] == name].assign(operation=frame["category"]) for frame in (effects, control)
        )
        if own.empty:
            continue
        table = pathways(own, random, images, **settings).rename(columns={"operation": "category"})
        table.insert(1, "grounding", name)
        tables.append(table)
    found = pd.concat(tables, ignore_index=True)
    right, wrong = found["n_correct"], found["n_incorrect"]
    n = right + wrong
    peaks = [found[f"peak_{group}"].astype(float).fillna(0) for group in ("correct", "incorrect")]
    for place, (name, column) in enumerate(
        {"n": n, "accuracy": 100 * right / n, "peak": (right * peaks[0] + wrong * peaks[1]) / n}.items(), start=4
    ):
        found.insert(place, name, column)
    return found.sort_values(["category"], kind="stable", ignore_index=True)
