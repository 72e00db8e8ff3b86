"""Contracts of the two small tables that only this room writes and the report reads."""

import pyarrow as pa

from vlmdx.schema.tables import Table


def _column(name: str, type_: pa.DataType, description: str) -> pa.Field:
    return pa.field(name, type_, nullable=False, metadata={"description": description})


POSITION = Table(
    "position",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("option_index", pa.int32(), "position of the option, from 0"),
            _column("letter", pa.string(), "letter shown at this position"),
            _column("chosen", pa.float64(), "share of clean answers that chose this position"),
            _column("gold", pa.float64(), "share of the same items whose gold option stands here"),
            _column("mean_prob", pa.float64(), "mean probability here, over items that have this position"),
            _column("n", pa.int64(), "items that have this position"),
            _column("answers", pa.int64(), "clean answers behind the shares"),
        ]
    ),
    ("model", "option_index"),
)
SET_ASIDE = Table(
    "set_aside",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("item_id", pa.string(), "as in items.parquet"),
            _column("corruption", pa.string(), "one of the 19"),
            _column("severity", pa.int8(), "1 to 5"),
            _column("code", pa.string(), "no_gold, clean_missing, clean_not_scored, missing or not_scored"),
            _column("reason", pa.string(), "why this cell has no score, in words"),
        ]
    ),
    ("model", "item_id", "corruption", "severity"),
)
