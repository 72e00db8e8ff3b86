"""Account for every item of the mechanism target in results/mechanism/accounting.csv; stop where one is lost."""

from collections import Counter
from typing import Any

from vlmdx.datasets.account import kind
from vlmdx.mechanism.tables import PAIRS, PROBES, VSR_EFFECTS
from vlmdx.mechanism.vsr import SETS
from vlmdx.provenance import run_job
from vlmdx.reliability.accounting import Line
from vlmdx.reliability.ras_table import write_csv
from vlmdx.schema import read_table
from vlmdx.schema.tables import EFFECTS, ITEMS, REJECTED


def main(snakemake: Any) -> None:
    """One row per stage, data set or model, and operation (VSR: position set), in the order in which the items flow."""
    given, settings = snakemake.input, snakemake.params.settings
    lines: list[Line] = []
    if settings["dataset"]:
        operations, models = settings["operations"], settings["models"]
        asked = Counter(read_table(given.asked, ITEMS, ["operation"])["operation"].to_pylist())
        shown: dict[str, tuple[int, int]] = {}
        for operation, *files in zip(
            operations, given.drawn, given.undrawable, given.pairs, given.unpaired, strict=True
        ):
            lines.append(drawn(settings["dataset"], operation, asked[operation], files[0], files[1]))
            made = counted("word pairs", settings["dataset"], operation, lines[-1].rows_out, files[2], PAIRS, files[3])
            lines.append(made)
            shown[operation] = lines[-2].rows_out, made.rows_out
        places = [(model, operation) for model in models for operation in operations]
        for stage, contract, done, aside, which in (
            ("dissect", EFFECTS, given.effects, given.undissected, 0),
            ("probe", PROBES, given.probes, given.unprobed, 1),
        ):
            lines += [
                counted(stage, model, operation, shown[operation][which], table, contract, rejected)
                for (model, operation), table, rejected in zip(places, done, aside, strict=True)
            ]
    if settings["vsr"]:
        statements = read_table(given.statements, ITEMS, ["item_id"]).num_rows
        for model, *files in zip(settings["models"], given.vsr_effects, given.vsr_rejected, strict=True):
            lines += [by_set(model, name, statements, *files) for name in SETS]
    rows = [{"operation" if key == "family" else key: value for key, value in line.row().items()} for line in lines]
    write_csv(snakemake.output[0], rows)


def drawn(dataset: str, operation: str, asked: int, items: str, rejected: str) -> Line:
    """Questions of an operation; those that are neither drawn nor set aside were left in the draw."""
    out, reasons = read_table(items, ITEMS, ["item_id"]).num_rows, kinds(rejected)
    left = max(0, asked - out - sum(reasons.values()))
    where = f"{items}, {rejected}"
    return Line(
        "draw", dataset, operation, "item", asked, out, where, {**reasons, **({"not drawn": left} if left else {})}
    )


def counted(stage: str, name: str, operation: str, rows: int, table: str, contract: Any, rejected: str) -> Line:
    """Items that came out of a job, which has one or many rows of each."""
    done = set(read_table(table, contract, ["item_id"])["item_id"].to_pylist())
    return Line(stage, name, operation, "item", rows, len(done), f"{table}, {rejected}", kinds(rejected))


def by_set(model: str, grounding: str, rows: int, effects: str, rejected: str) -> Line:
    """Statements dissected at one position set."""
    found = read_table(effects, VSR_EFFECTS, ["item_id"], [("grounding", "==", grounding)])
    where = f"{effects}, {rejected}"
    done = len(set(found["item_id"].to_pylist()))
    return Line("dissect VSR", model, grounding, "statement", rows, done, where, kinds(rejected, grounding))


def kinds(rejected: str, source: str | None = None) -> dict[str, int]:
    """Reasons with what differs from row to row left out, and how often each stands there."""
    filters = [("source", "==", source)] if source else None
    return dict(Counter(map(kind, read_table(rejected, REJECTED, ["reason"], filters)["reason"].to_pylist())))


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
