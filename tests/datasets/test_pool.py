"""The pool: seeded draw per item, quotas, gold, images."""

import pyarrow as pa
import pytest
from vlmdx.datasets.pool import draw_pool, gather_images
from vlmdx.datasets.records import DatasetError
from vlmdx.datasets.spill import Spill
from vlmdx.schema import ContractError, write_table
from vlmdx.schema.tables import IMAGES, ITEMS


def items(name: str, count: int, without_gold: int = 0) -> pa.Table:
    rows = [
        {"item_id": f"{name}:{i}", "dataset": name, "image_id": f"{name}:i{i // 2}", "question": "?",
         "options": ["a", "b"], "answer": None if i < without_gold else 0, "category": None, "operation": None,
         "program": None, "objects": None}
        for i in range(count)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=ITEMS.schema)


def ids(pool) -> list[str]:
    return pool.items["item_id"].to_pylist()


def test_growing_a_quota_keeps_earlier_choices_and_other_data_sets():
    tables = {"one": items("one", 50), "two": items("two", 30)}
    small, large = (draw_pool(tables, {"one": n, "two": 5}, seed=7) for n in (10, 20))
    assert len(ids(small)) == 15 and len(ids(large)) == 25 and set(ids(small)) < set(ids(large))
    alone = draw_pool({"two": items("two", 30)}, {"two": 5}, seed=7)
    assert [i for i in ids(large) if i.startswith("two:")] == ids(alone)
    assert ids(draw_pool(tables, {"one": 10, "two": 5}, seed=8)) != ids(small)


def test_draw_ignores_the_order_of_rows():
    table = items("one", 50)
    turned = table.take(list(range(49, -1, -1)))
    assert set(ids(draw_pool({"one": table}, {"one": 9}, 0))) == set(ids(draw_pool({"one": turned}, {"one": 9}, 0)))


def test_quota_above_the_data_set_takes_all_and_says_so():
    pool = draw_pool({"one": items("one", 4), "two": items("two", 3)}, {"one": 10, "two": None}, seed=0)
    assert len(ids(pool)) == 7
    assert [line for line in pool.lines if "WARNING" in line] == [
        "pool: WARNING one has 4 items with gold, the quota asks for 10: all taken"
    ]


def test_m04_items_without_gold_are_set_aside():
    pool = draw_pool({"one": items("one", 10, without_gold=3)}, {"one": 5}, seed=0)
    assert len(ids(pool)) == 5 and [r["item_id"] for r in pool.rejected.to_pylist()] == ["one:0", "one:1", "one:2"]
    assert pool.lines == ["pool: one: 10 items = 5 drawn + 3 without gold + 2 not drawn"]
    with pytest.raises(DatasetError, match="none of the 4 items of one"):
        draw_pool({"one": items("one", 4, without_gold=4)}, {"one": 2}, seed=0)


@pytest.mark.parametrize(("quotas", "message"), [({"two": 1}, "no quota"), ({"one": 0}, "quota of one is 0")])
def test_wrong_quotas(quotas, message):
    with pytest.raises(DatasetError, match=message):
        draw_pool({"one": items("one", 4)}, quotas, seed=0)


def test_images_of_the_drawn_items_only(tmp_path):
    def image(name: str, number: int) -> dict:
        return {"image_id": f"{name}:i{number}", "image": {"bytes": b"png", "path": None}, "width": 1, "height": 1,
                "sha256": "0", "mode": "RGB", "orientation": 1}  # fmt: skip

    paths = []
    for name in ("one", "two"):
        paths.append(tmp_path / name / "images.parquet")
        write_table(paths[-1], [image(name, i) for i in range(100)], IMAGES)
    pool = draw_pool({n: items(n, 200) for n in ("one", "two")}, {"one": 3, "two": None}, seed=0)
    with Spill(IMAGES, tmp_path) as spill:
        found = gather_images(paths, pool.items, spill)
        assert sorted(found["image_id"].to_pylist()) == sorted(set(pool.items["image_id"].to_pylist()))
    with Spill(IMAGES, tmp_path) as spill, pytest.raises(ContractError, match=r"are in no images\.parquet"):
        gather_images(paths[:1], pool.items, spill)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == []  # no temporary file is left
