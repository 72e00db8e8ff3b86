"""Read the reliability artifacts of all models for drawing."""

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from vlmdx.schema import ContractError, read_table
from vlmdx.schema.tables import CELLS, SUMMARY


def read_summaries(paths: Sequence[str], models: Sequence[str]) -> pd.DataFrame:
    """The summaries of all models, NULL as NaN (pandas; for drawing only).

    Args:
        paths: ``summary`` tables.
        models: slugs that must all be there.

    Returns:
        Frame indexed by (metric, scope, level, model) with columns value, low, high, n.

    Raises:
        ContractError: a file breaks its contract, or a model is missing or twice.
    """
    table = pa.concat_tables([read_table(path, SUMMARY) for path in paths])
    frame = table.to_pandas().set_index(["metric", "scope", "level", "model"]).sort_index()
    found = set(frame.index.get_level_values("model"))
    if found != set(models) or len(paths) != len(models) or not frame.index.is_unique:
        raise ContractError(f"the {len(paths)} summaries hold {sorted(found)}, expected each once: {sorted(models)}")
    return frame


def levels(frame: pd.DataFrame, scope: str) -> list[str]:
    """Levels of a scope that any model has; severities in numerical order."""
    found = frame.xs(scope, level="scope").index.get_level_values("level").unique()
    return sorted(found, key=lambda level: (not level.isdigit(), int(level) if level.isdigit() else 0, level))


def pick(frame: pd.DataFrame, metric: str, scope: str, model: str, wanted: Sequence[str]) -> pd.DataFrame:
    """Rows value, low, high, n of one model at the ``wanted`` levels, NaN where there is none."""
    keys = pd.MultiIndex.from_tuples([(metric, scope, level, model) for level in wanted], names=frame.index.names)
    return frame.reindex(keys).droplevel(["metric", "scope", "model"])


def read_mean_ras(paths: Sequence[str]) -> pd.DataFrame:
    """Mean RAS per (model, corruption, severity), from the ``cells`` of all models."""
    columns = ["model", "corruption", "severity", "ras"]
    table = pa.concat_tables([read_table(path, CELLS, columns=columns) for path in paths])
    return table.to_pandas().groupby(columns[:3], as_index=False)["ras"].mean()
