"""Tables that only this room writes: finished parts of an effects job, from which a killed job goes on, the effects on
VSR's statements, and the word pairs and probes of the probing.
"""

import pyarrow as pa

from vlmdx.schema.tables import EFFECTS, Table

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
            pa.field("head", pa.int32()),  # query head; null: all of them
            pa.field("logprob_clean", pa.float32()),
            pa.field("logprob", pa.float32()),
            pa.field("correct", pa.bool_()),
            pa.field("reason", pa.string()),  # why the item was set aside; it then has one row without numbers
        ]
    ),
    ("item_id", "role", "branch", "intervention", "position", "layer", "head"),
)
ASKED = Table(
    "asked",
    pa.schema(
        [
            pa.field("item_id", pa.string(), nullable=False),
            pa.field("correct", pa.bool_()),  # without intervention; null where the question could not be asked
            pa.field("reason", pa.string()),  # why it could not
        ]
    ),
    ("item_id",),
)
VSR_EFFECTS = Table(
    "vsr effects",
    pa.schema(
        [
            pa.field("category", pa.string(), nullable=False),  # of the relation
            pa.field("grounding", pa.string(), nullable=False),  # subject, object or both
            *(field for field in EFFECTS.schema if field.name != "head"),  # statements are not dissected by head
        ]
    ),
    ("grounding", *(name for name in EFFECTS.key if name != "head")),
)
PAIRS = Table(
    "word pairs",
    pa.schema(
        [
            pa.field("item_id", pa.string(), nullable=False),
            pa.field("image_id", pa.string(), nullable=False),
            pa.field("operation", pa.string(), nullable=False),
            pa.field("slot", pa.string(), nullable=False),  # name, relation, or the filter's operation
            pa.field("word", pa.string(), nullable=False),
            pa.field("other", pa.string(), nullable=False),  # what stands in its place
            pa.field("clean", pa.string(), nullable=False),
            pa.field("sensitive", pa.string(), nullable=False),
            pa.field("insensitive", pa.string(), nullable=False),
            pa.field("reworded_is_clean", pa.bool_(), nullable=False),  # label of the insensitive pair, by lot
        ]
    ),
    ("item_id",),
)
PROBES = Table(
    "probes",
    pa.schema(
        [
            pa.field("item_id", pa.string(), nullable=False),
            pa.field("image_id", pa.string(), nullable=False),
            pa.field("operation", pa.string(), nullable=False),
            pa.field("layer", pa.int32(), nullable=False),
            # Share of the two questions of a pair that a probe that never saw their image told right: 0, 0.5 or 1.
            pa.field("sensitive", pa.float32(), nullable=False),
            pa.field("insensitive", pa.float32(), nullable=False),
            pa.field("reworded", pa.float32(), nullable=False),
        ]
    ),
    ("item_id", "layer"),
)
