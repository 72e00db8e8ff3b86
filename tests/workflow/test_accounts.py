"""Row accounting of a finished run, and what switching on the rotations adds to it."""

import csv
import json
import re
import shutil

import pytest
import yaml

from tests.workflow.project import SMALL, planned


@pytest.fixture
def turned(finished, tmp_path):
    """The finished run with `scoring.circular` switched on."""
    copy = shutil.copytree(finished, tmp_path / "copy", copy_function=shutil.copyfile)
    config = yaml.safe_load((copy / SMALL).read_text())
    config["scoring"] = {"circular": True}
    (copy / SMALL).write_text(yaml.safe_dump(config))
    return copy


def test_every_stage_of_the_run_balances(finished):
    with (finished / "results" / "accounting.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    stages = {row["stage"] for row in rows}
    assert stages == {"import", "pool", "corrupt", "score pool", "select", "score bench", "reliability"}
    for row in rows:
        assert int(row["rows_in"]) == int(row["rows_out"]) + int(row["set_aside"]), row
        assert int(row["set_aside"]) == sum(json.loads(row["reasons"]).values()), row
    # What one stage gives out the next takes in.
    out = {(row["stage"], row["name"], row["family"]): int(row["rows_out"]) for row in rows}
    taken = {(row["stage"], row["name"], row["family"]): int(row["rows_in"]) for row in rows}
    assert taken["pool", "shapes", ""] == out["import", "shapes", ""]
    assert taken["select", "pool", ""] == out["pool", "shapes", ""]
    for model in ("qwen-demo", "llava-demo"):
        assert taken["score bench", model, "clean"] == out["select", "pool", ""] == 16
        for family in ("noise", "weather"):
            assert taken["reliability", model, family] == taken["score bench", model, family] == 2 * 16


def test_every_stages_log_says_what_came_in_and_what_came_out(finished):
    account = re.compile(r": (\d+) [\w ]+ = (\d+) [\w ]+((?: \+ \d+ [\w ]+)+)")
    stages = ("import_dataset", "pool", "corrupt", "embed_pool", "score", "select_bench", "cut_bench", "reliability")
    for stage in stages:
        logs = sorted((finished / "logs" / stage).rglob("*.log"))
        assert logs, stage
        for log in logs:
            lines = account.findall(log.read_text())
            assert lines, f"{log} accounts for nothing"
            for rows, done, others in lines:
                assert int(rows) == int(done) + sum(map(int, re.findall(r"\d+(?= )", others))), log


def test_rotations_add_their_own_jobs_and_rerun_no_score(turned):
    added = {"rotate_bench": 1, "score": 2, "circular": 1}
    tables = {"accounting": 1, "ras_table": 1}
    assert planned(turned, "results/ras_table.csv") == {**added, **tables}
