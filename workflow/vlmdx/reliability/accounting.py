"""Row accounting of a whole run, from the artifacts themselves: rows in = rows out + rows set aside, stage by stage.

What goes into a stage is counted from its inputs, what comes out from its outputs, and every row that is missing must
have a reason in one of them. Units: a source row (import), an item (pool, select, rotate), an image version (corrupt),
an answer, i.e. one item on one image version (score), a cell (reliability).
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vlmdx.datasets.account import kind
from vlmdx.schema import ContractError, read_provenance, read_table
from vlmdx.schema.tables import CELLS, CORRUPTED, GINI, IMAGES, ITEMS, REJECTED, SCORES, SELECTION, SET_ASIDE
from vlmdx.scoring.rotate import rotation_of

COLUMNS = ("stage", "name", "family", "unit", "rows_in", "rows_out", "set_aside", "reasons")
KINDS = 20  # kinds of reasons that a row lists; the rarer ones are added up
Cells = Sequence[tuple[str, int]]
Path = str | os.PathLike


@dataclass(frozen=True)
class Line:
    """The account of one stage for one data set or model; ``where`` names the files it was counted from.

    Raises:
        ContractError: the account does not balance.
    """

    stage: str
    name: str
    family: str
    unit: str
    rows_in: int
    rows_out: int
    where: Path | str
    reasons: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lost = self.rows_in - self.rows_out - self.set_aside
        if lost:
            said = f"{lost} are lost" if lost > 0 else f"{-lost} are too many"
            raise ContractError(
                f"{self.where}: {self.stage} of {self.name} had {self.rows_in} x {self.unit} to do; {self.rows_out} "
                f"came out, {self.set_aside} were set aside with a reason, {said}; remove what is named and run again"
            )

    @property
    def set_aside(self) -> int:
        """Rows set aside."""
        return sum(self.reasons.values())

    def row(self) -> dict[str, Any]:
        """The row of accounting.csv; ``reasons`` is a JSON object, kind of reason -> rows."""
        common = Counter(self.reasons).most_common()
        told = dict(common[:KINDS])
        if rest := common[KINDS:]:
            told[f"{len(rest)} other kinds"] = sum(count for _, count in rest)
        values = (self.stage, self.name, self.family, self.unit, self.rows_in, self.rows_out, self.set_aside)
        return dict(zip(COLUMNS, (*values, json.dumps(told, ensure_ascii=False)), strict=True))


def imported(name: str, items: Path, rejected: Path) -> Line:
    """Import of a data set: the rows that the importer read are in the footer of its item table.

    Raises:
        ContractError: the footer does not say how many rows were read.
    """
    made = read_provenance(items)
    if "rows" not in made or "undrawn" not in made:
        raise ContractError(f"{items}: the footer does not say how many source rows were read; import again")
    reasons = _with(_kinds(read_table(rejected, REJECTED, ["reason"])["reason"]), "not drawn", made["undrawn"])
    count = read_table(items, ITEMS, ["item_id"]).num_rows
    return Line("import", name, "", "source row", made["rows"], count, f"{items}, {rejected}", reasons)


def pooled(name: str, items: Path, quota: int | None, pool: Path, rejected: Path) -> Line:
    """What the pool took of one data set."""
    answers = read_table(items, ITEMS, ["answer"])["answer"]
    golden = len(answers) - answers.null_count
    drawn = read_table(pool, ITEMS, ["dataset"], filters=[("dataset", "==", name)]).num_rows
    aside = read_table(rejected, REJECTED, ["source", "reason"], filters=[("source", "==", f"{name}/items.parquet")])
    reasons = _with(_kinds(aside["reason"]), "not drawn", golden - min(golden, quota or golden))
    return Line("pool", name, "", "item", len(answers), drawn, f"{pool}, {rejected}", reasons)


def corrupted(family: str, images: Path, shard: Path, cells: Cells) -> Line:
    """One family's shard of the pool's images.

    Raises:
        ContractError: the shard holds another image or another cell.
    """
    known = read_table(images, IMAGES, ["image_id"])["image_id"].to_pylist()
    found = read_table(shard, CORRUPTED, ["image_id", "corruption", "severity"])
    _only_known(found["image_id"], known, "image", images, shard)
    counts = _per_cell(found, cells, shard)
    short = {f"{name} {severity}": n for (name, severity), n in counts.items() if n != len(known)}
    if short:
        raise ContractError(f"{shard}: {len(known)} images are in {images}, but there are {short}; corrupt them again")
    return Line("corrupt", "pool", family, "image version", len(known) * len(cells), found.num_rows, shard)


def selected(pool: Path, gini: Path, selection: Path) -> Line:
    """The bench: what the selection took of the pool."""
    impurity = read_table(gini, GINI, ["item_id", "gini"])
    chosen = read_table(selection, SELECTION, ["item_id"])["item_id"]
    count = read_table(pool, ITEMS, ["item_id"]).num_rows
    wavering = impurity.filter(pc.is_valid(impurity["gini"]))["item_id"].to_pylist()
    _only_known(chosen, wavering, "item", gini, selection)
    reasons = _with({}, "no voter has a whole trajectory", impurity.num_rows - len(wavering))
    reasons = _with(reasons, "not chosen", len(wavering) - len(chosen))
    return Line("select", "pool", "", "item", count, len(chosen), selection, reasons)


def rotated(selection: Path, turned: Path, rejected: Path) -> Line:
    """Rotation of the bench: an item comes out if it has rotations."""
    count = read_table(selection, SELECTION, ["item_id"]).num_rows
    ids = {rotation_of(name)[0] for name in read_table(turned, ITEMS, ["item_id"])["item_id"].to_pylist()}
    reasons = _kinds(read_table(rejected, REJECTED, ["reason"])["reason"])
    return Line("rotate", "bench", "", "item", count, len(ids), f"{turned}, {rejected}", reasons)


def option_counts(items: Path, selection: Path | None = None) -> dict[str, int]:
    """Number of options of each item; of the selected ones, where a selection is given."""
    found = read_table(items, ITEMS, ["item_id", "options"])
    if selection is not None:
        chosen = read_table(selection, SELECTION, ["item_id"])["item_id"]
        found = found.filter(pc.is_in(found["item_id"], pa.array(chosen.to_pylist(), pa.string())))
    return dict(zip(found["item_id"].to_pylist(), pc.list_value_length(found["options"]).to_pylist(), strict=True))


def scored(stage: str, model: str, family: str, shard: Path, options: Mapping[str, int], cells: Cells) -> Line:
    """One shard of a model's answers.

    Args:
        options: number of options of each item that was to be scored.

    Raises:
        ContractError: another item or cell, or an answer with a wrong number of option rows, or scored in part.
    """
    found = read_table(shard, SCORES, ["item_id", "corruption", "severity", "option_index", "reason"])
    answers = found.group_by(["item_id", "corruption", "severity"]).aggregate(
        [("option_index", "count"), ("reason", "count"), ("reason", "min")]
    )
    _only_known(answers["item_id"], list(options), "item", "the item table", shard)
    _per_cell(answers, cells, shard)
    expected = pa.array([options[name] for name in answers["item_id"].to_pylist()], pa.int64())
    aside = pc.greater(answers["reason_count"], 0)
    for wrong, words in (
        (pc.not_equal(answers["option_index_count"], expected), "not as many rows as options"),
        (pc.and_(aside, pc.less(answers["reason_count"], expected)), "rows with numbers and rows with a reason"),
    ):
        if bad := answers.filter(wrong).to_pylist():
            raise ContractError(f"{shard}: item {bad[0]['item_id']!r} has {words} in one cell; score it again")
    reasons = _kinds(answers.filter(aside)["reason_min"])
    done = answers.num_rows - sum(reasons.values())
    return Line(stage, model, family, "answer", len(options) * len(cells), done, shard, reasons)


def measured(model: str, family: str, items: int, cells: Path, set_aside: Path, names: Cells) -> Line:
    """Cells of one model in one family of corruptions."""
    corruptions = sorted({name for name, _ in names})
    chosen = [("corruption", "in", corruptions)]
    found = read_table(cells, CELLS, ["item_id"], filters=chosen).num_rows
    reasons = _kinds(read_table(set_aside, SET_ASIDE, ["reason"], filters=chosen)["reason"])
    return Line("reliability", model, family, "cell", items * len(names), found, f"{cells}, {set_aside}", reasons)


def _kinds(reasons: pa.ChunkedArray) -> dict[str, int]:
    return dict(Counter(map(kind, reasons.to_pylist())))


def _with(reasons: Mapping[str, int], reason: str, count: int) -> dict[str, int]:
    return {**reasons, **({reason: count} if count else {})}


def _only_known(found: pa.ChunkedArray, known: Sequence[str], what: str, source: Path, where: Path) -> None:
    strange = found.filter(pc.invert(pc.is_in(found, pa.array(known, pa.string()))))
    if len(strange):
        raise ContractError(f"{where}: {what} {strange[0].as_py()!r} is not in {source}; remove the file and run again")


def _per_cell(rows: pa.Table, cells: Cells, where: Path) -> dict[tuple[str, int], int]:
    """Rows of each configured cell.

    Raises:
        ContractError: rows of a cell that is not configured.
    """
    counts = dict.fromkeys(cells, 0)
    for group in rows.group_by(["corruption", "severity"]).aggregate([([], "count_all")]).to_pylist():
        key = (group["corruption"], group["severity"])
        if key not in counts:
            raise ContractError(
                f"{where}: {key[0]} at severity {key[1]} is not configured; remove the file and run again"
            )
        counts[key] = group["count_all"]
    return counts
