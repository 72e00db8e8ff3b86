"""`vlmdx audit` names exactly what is not true any more, and asks for the jobs that `snakemake -n` would run."""

import shutil

import pyarrow.parquet as pq
import pytest
import yaml

from tests.audit.conftest import Audited
from tests.workflow.project import SMALL, planned


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def jobs_of_snakemake(folder, config=SMALL):
    jobs = planned(folder, "all", config=config)
    jobs.pop("all", None)
    return jobs


def flip(path, position=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if position is None else position] ^= 1
    path.write_bytes(data)


def test_a_finished_run_is_verified_whole(copy):
    audited = Audited(copy)
    assert audited.bad() == {} and audited.status == 0
    assert len(audited.rows) > 50


def test_one_flipped_byte_is_named_in_every_kind_of_artifact(copy):
    names = [
        "results/ras_table.csv",
        "results/figures/gini.svg",
        "results/selection/embeddings.safetensors",
        "results/scores/qwen-demo/bench/noise.parquet",
        "results/demo/scenes/questions.json",
        "results/selection/bench.txt",
    ]
    for name in names:
        flip(copy / name)
    audited = Audited(copy)
    assert audited.bad() == dict.fromkeys(names, "tampered") and audited.status == 2


def test_a_deleted_footer_is_tampering(copy):
    path = copy / "results/reliability/qwen-demo/cells.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)
    assert Audited(copy).bad() == {"results/reliability/qwen-demo/cells.parquet": "tampered"}


def test_an_edit_behind_an_old_file_time_is_seen_by_the_second_audit(copy):
    Audited(copy)
    path = copy / "results/ras_table.csv"
    times = path.stat()
    flip(path)
    import os

    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Audited(copy).bad() == {"results/ras_table.csv": "tampered"}


def test_s05_changed_scoring_code_is_named_and_the_hints_equal_a_dry_run(copy):
    edit(copy / "workflow/scripts/score.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    audited = Audited(copy)
    scores = {r["reason"].split(":")[0] for r in audited.rows.values() if r["rule"] == "score"}
    assert scores == {"code"} and set(audited.bad().values()) == {"stale"} and audited.status == 1
    assert audited.jobs() == jobs_of_snakemake(copy)


def test_s05_a_changed_prompt_is_named_and_the_hints_equal_a_dry_run(copy):
    edit(copy / "resources/prompts/letter.txt", "directly", "now")
    audited = Audited(copy)
    assert {r["reason"] for r in audited.rows.values() if r["rule"] == "score"} == {"settings: template"}
    assert audited.jobs() == jobs_of_snakemake(copy)


def test_changed_weights_are_named_for_their_model_alone(copy):
    flip(copy / "resources/models/qwen-demo/model.safetensors", -1)
    audited = Audited(copy)
    own = {p for p, r in audited.rows.items() if r["reason"].startswith("model:")}
    assert own == {p for p in audited.rows if p.startswith("results/scores/qwen-demo/pool/")}
    assert audited.jobs() == jobs_of_snakemake(copy)


def test_a_plot_that_was_edited_is_the_only_stale_one(copy):
    edit(copy / "workflow/scripts/plot_gini.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    audited = Audited(copy)
    assert audited.bad() == {"results/figures/gini.svg": "stale", "results/figures/gini.png": "stale"}
    assert audited.jobs() == jobs_of_snakemake(copy) == {"plot_gini": 1}


def test_a_family_out_of_the_config_leaves_orphans(copy):
    config = yaml.safe_load((copy / SMALL).read_text())
    config["corruptions"]["names"] = ["gaussian_noise"]
    (copy / "fewer.yaml").write_text(yaml.safe_dump(config))
    bad = Audited(copy, "fewer.yaml").bad()
    orphans = {path for path, status in bad.items() if status == "orphan"}
    models = [f"results/scores/{m}/{s}/weather.parquet" for m in ("qwen-demo", "llava-demo") for s in ("pool", "bench")]
    assert orphans == {"results/corrupted/pool/weather.parquet", *models}


def test_p06_a_copied_shard_a_stray_file_and_a_killed_jobs_rest_are_unknown(copy):
    noise = copy / "results/scores/qwen-demo/bench/noise.parquet"
    shutil.copy(noise, noise.with_name("noise (copy).parquet"))
    noise.with_name(".noise.parquet.0123.tmp.parquet").write_bytes(b"half")
    (copy / "results/old_gaussian_noise_3.parquet").write_bytes(b"")
    assert Audited(copy).bad() == {
        "results/scores/qwen-demo/bench/noise (copy).parquet": "unknown",
        "results/scores/qwen-demo/bench/.noise.parquet.0123.tmp.parquet": "unknown",
        "results/old_gaussian_noise_3.parquet": "unknown",
    }


def test_a_lost_artifact_and_a_lost_record_are_told_apart(copy):
    (copy / "results/ras_table.csv").unlink()
    (copy / "results/provenance/plot_gini.json").unlink()
    assert Audited(copy).bad() == {
        "results/ras_table.csv": "missing",
        "results/figures/gini.svg": "unknown",
        "results/figures/gini.png": "unknown",
    }


def test_a_record_that_was_edited_is_not_believed(copy):
    record = copy / "results/provenance/plot_gini.json"
    edit(record, '"threads": 1', '"threads": 2')
    assert set(Audited(copy).bad()) == {
        "results/figures/gini.svg",
        "results/figures/gini.png",
        "results/provenance/plot_gini.json",
    }


@pytest.mark.parametrize("found", ["sead: 1\n", "- 1\n"])
def test_a_config_with_mistakes_is_one_message(copy, found):
    from tests.audit.conftest import vlmdx

    (copy / "bad.yaml").write_text(found)
    done = vlmdx(copy, "audit", "--configfile", "bad.yaml")
    assert done.returncode == 1 and "Traceback" not in done.stdout and done.stdout.strip()
