"""Score shards made of plain answer lists."""

import pyarrow as pa
import pytest
from vlmdx.schema import write_table
from vlmdx.schema.tables import SCORES


@pytest.fixture
def shards(tmp_path):
    """``shards(voter, {item: {corruption: [a_0, a_1, ...]}})`` writes one shard per corruption and one for clean.

    a_0 is the clean answer, which must agree between corruptions; None is an answer that was not scored. Returns the
    paths. Items have ``options`` options.
    """

    def build(voter, answers, options=4, folder="pool"):
        cells = {}
        for item, trajectories in answers.items():
            for corruption, trajectory in trajectories.items():
                for severity, answer in enumerate(trajectory):
                    cells[item, corruption if severity else "clean", severity] = answer
        tables = {}
        for (item, corruption, severity), answer in cells.items():
            for option in range(options):
                row = dict.fromkeys(SCORES.schema.names)
                row |= {"item_id": item, "corruption": corruption, "severity": severity, "option_index": option}
                row |= {
                    "letter": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[option],
                    "is_gold": option == 0,
                }
                if answer is None:
                    row |= {"reason": "the prompt does not fit"}
                else:
                    row |= {"chosen": option == answer, "tied": False, "prob": 1.0 if option == answer else 0.0}
                tables.setdefault(corruption, []).append(row)
        paths = []
        for corruption, rows in tables.items():
            paths.append(tmp_path / "scores" / voter / folder / f"{corruption}.parquet")
            write_table(paths[-1], pa.Table.from_pylist(rows, schema=SCORES.schema), SCORES)
        return paths

    return build
