"""Tables that only this room reads: finished parts of an effects job, from which a killed job goes on."""

import pyarrow as pa

from vlmdx.schema.tables import Table

PARTS = Table(
    "effects part",
    pa.schema(
        [
            pa.field("item_id", pa.string(), nullable=False),
            pa.field("content", pa.string(), nullable=False),  # hash of item and image
            pa.field("role", pa.string(), nullable=False),  # object, or random for the control
            pa.field("branch", pa.int32(), nullable=False),
            pa.field("intervention", pa.string(), nullable=False),
            pa.field("position", pa.string(), nullable=False),
            pa.field("layer", pa.int32(), nullable=False),
            pa.field("logprob_clean", pa.float32()),
            pa.field("logprob", pa.float32()),
            pa.field("correct", pa.bool_()),
            pa.field("reason", pa.string()),  # why the item was set aside; it then has one row without numbers
        ]
    ),
    ("item_id", "role", "branch", "intervention", "position", "layer"),
)
