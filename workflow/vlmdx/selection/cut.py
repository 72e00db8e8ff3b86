"""The bench's part of a pool shard."""

import os
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from vlmdx.schema import ContractError


def cut(scores: pa.Table, item_ids: Sequence[str], where: str | os.PathLike) -> pa.Table:
    """The rows of ``item_ids`` in ``scores``, in the order of ``scores``.

    Raises:
        ContractError: a chosen item has no row; ``where`` names the shard.
    """
    chosen = scores.filter(pc.is_in(scores["item_id"], pa.array(item_ids, pa.string())))
    if missing := sorted(set(item_ids) - set(chosen["item_id"].to_pylist())):
        raise ContractError(
            f"{where}: no row of {len(missing)} chosen item(s), e.g. {missing[0]}; the shard is of another pool, "
            "score it again"
        )
    return chosen
