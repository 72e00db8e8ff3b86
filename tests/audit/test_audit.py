"""`vlmdx audit` names exactly what is not true any more, and asks for the jobs that `snakemake -n` would run."""

import os
import random
import shutil

import pyarrow.parquet as pq
import pytest
import yaml

from tests.audit.conftest import MECHANISM, WHOLE, Audited, jobs_of, printed_command, vlmdx
from tests.workflow.project import SMALL, planned, run


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def jobs_of_snakemake(folder, *targets, config=SMALL):
    """What a plain `snakemake -n` of the targets would run."""
    jobs = planned(folder, *(targets or ["all"]), config=config)
    return {rule: number for rule, number in jobs.items() if rule not in ("all", "mechanism")}


def flip(path, position=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if position is None else position] ^= 1
    path.write_bytes(data)


def test_a_finished_run_is_verified_whole(copy):
    audited = Audited(copy)
    assert audited.bad() == {} and audited.status == 0
    assert len(audited.rows) > 50


def one_of_each_kind(folder):
    """One file of each suffix in each folder of results/, and of each kind of file about the run."""
    draw, kinds = random.Random(0), {}
    files = sorted(path for path in (folder / "results").rglob("*") if path.is_file() and path.stat().st_size)
    for path in files:
        place = path.relative_to(folder)
        if place.parts[1] != "benchmarks" and not place.name.startswith(".") and place.suffix != ".cache":
            kinds.setdefault((place.parts[1], place.suffix), []).append(place.as_posix())
    return sorted(draw.choice(paths) for paths in kinds.values())


def test_one_flipped_byte_is_named_in_every_kind_of_artifact(whole_copy):
    names = one_of_each_kind(whole_copy)
    assert {os.path.splitext(name)[1] for name in names} >= {  # noqa: PTH122 -- text, not a file
        *(".csv", ".json", ".parquet", ".png", ".safetensors", ".sql", ".svg", ".txt", ".yaml")
    }
    for name in names:
        flip(whole_copy / name)
    bad = Audited(whole_copy, WHOLE).bad()
    assert {name: bad.get(name) for name in names} == dict.fromkeys(names, "tampered")
    # What is not named has lost its record: those of the job whose record was flipped.
    rest = {status for name, status in bad.items() if name not in names}
    assert rest <= {"unknown"}


def test_the_hint_mends_flipped_lost_and_forgotten_files(copy):
    flip(copy / "results/figures/gini.svg")
    (copy / "results/ras_by_severity.csv").unlink()
    (copy / "results/provenance/contact_sheet.json").unlink()
    audited = Audited(copy)
    assert audited.status == 2 and set(audited.bad().values()) == {"tampered", "missing", "unknown"}
    words = printed_command(audited.said)
    assert audited.hinted_jobs() == jobs_of(copy, words) == {"plot_gini": 1, "ras_table": 1, "contact_sheet": 1}
    done = run(copy, "--quiet", "all", *words, config=None)
    assert done.returncode == 0, done.stdout
    assert Audited(copy).bad() == {}


def test_a_lost_file_that_nothing_needs_is_missing_and_not_made_again(copy):
    (copy / "results/scores/llava-demo/pool/noise.parquet").unlink()
    audited = Audited(copy)
    assert audited.bad() == {"results/scores/llava-demo/pool/noise.parquet": "missing"} and audited.status == 1
    assert audited.hinted_jobs() == jobs_of(copy, printed_command(audited.said)) == jobs_of_snakemake(copy) == {}


def test_changed_mechanism_code_is_named_for_its_artifacts_alone(whole_copy):
    edit(whole_copy / "workflow/scripts/join_effects.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    audited = Audited(whole_copy, WHOLE)
    joined = {f"{MECHANISM}/{name}" for name in ("effects", "control", "rejected")}
    own = {path for path, row in audited.rows.items() if row["reason"].startswith("code")}
    assert own == {f"{path}.parquet" for path in joined} | {f"{MECHANISM}/effects.safetensors"}
    assert set(audited.bad().values()) == {"stale"}
    targets = [f"{MECHANISM}/failure_modes.csv", f"{MECHANISM}/overlays.png"]
    assert audited.stale_jobs() == audited.hinted_jobs() == jobs_of_snakemake(whole_copy, *targets, config=WHOLE)
    assert audited.hinted_jobs() == jobs_of(whole_copy, printed_command(audited.said))


def test_without_a_config_the_last_run_s_is_judged_by(whole, copy):
    done = vlmdx(whole, "audit")
    assert done.returncode == 0 and f"under {WHOLE}: " in done.stdout, done.stdout
    (copy / SMALL).unlink()  # the file it was made with is gone: the resolved config stands in
    done = vlmdx(copy, "audit")
    assert done.returncode == 0 and "under results/config.yaml: " in done.stdout, done.stdout


def test_a_deleted_footer_is_tampering(copy):
    path = copy / "results/reliability/qwen-demo/cells.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)
    assert Audited(copy).bad() == {"results/reliability/qwen-demo/cells.parquet": "tampered"}


def test_an_edit_behind_an_old_file_time_is_seen_by_the_second_audit(copy):
    Audited(copy)
    path = copy / "results/ras_table.csv"
    times = path.stat()
    flip(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Audited(copy).bad() == {"results/ras_table.csv": "tampered"}


def test_s05_changed_scoring_code_is_named_and_the_hints_equal_a_dry_run(copy):
    edit(copy / "workflow/scripts/score.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    audited = Audited(copy)
    scores = {r["reason"].split(":")[0] for r in audited.rows.values() if r["rule"] == "score"}
    assert scores == {"code"} and set(audited.bad().values()) == {"stale"} and audited.status == 1
    assert audited.stale_jobs() == audited.hinted_jobs() == jobs_of_snakemake(copy)


def test_s05_a_changed_prompt_is_named_and_the_hints_equal_a_dry_run(copy):
    edit(copy / "resources/prompts/letter.txt", "directly", "now")
    audited = Audited(copy)
    reasons = {r["reason"] for r in audited.rows.values() if r["rule"] == "score"}
    assert reasons == {'settings: template "choices directly" -> "choices now"'}
    assert audited.stale_jobs() == audited.hinted_jobs() == jobs_of_snakemake(copy)


def test_changed_weights_are_named_for_their_model_alone(copy):
    flip(copy / "resources/models/qwen-demo/model.safetensors", -1)
    audited = Audited(copy)
    own = {p for p, r in audited.rows.items() if r["reason"].startswith("model:")}
    assert own == {p for p in audited.rows if p.startswith("results/scores/qwen-demo/pool/")}
    assert audited.stale_jobs() == audited.hinted_jobs() == jobs_of_snakemake(copy)


def test_a_plot_that_was_edited_is_the_only_stale_one(copy):
    edit(copy / "workflow/scripts/plot_gini.py", "def main(snakemake", "LIMIT = 1\n\n\ndef main(snakemake")
    audited = Audited(copy)
    assert audited.bad() == {"results/figures/gini.svg": "stale", "results/figures/gini.png": "stale"}
    assert audited.stale_jobs() == audited.hinted_jobs() == jobs_of_snakemake(copy) == {"plot_gini": 1}


def test_a_family_out_of_the_config_leaves_orphans(copy):
    config = yaml.safe_load((copy / SMALL).read_text())
    config["corruptions"]["names"] = ["gaussian_noise"]
    (copy / "fewer.yaml").write_text(yaml.safe_dump(config))
    audited = Audited(copy, "fewer.yaml")
    orphans = {path for path, status in audited.bad().items() if status == "orphan"}
    models = [f"results/scores/{m}/{s}/weather.parquet" for m in ("qwen-demo", "llava-demo") for s in ("pool", "bench")]
    assert orphans == {"results/corrupted/pool/weather.parquet", *models}
    assert audited.hinted_jobs() == jobs_of_snakemake(copy, config="fewer.yaml")


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
    (copy / "bad.yaml").write_text(found)
    done = vlmdx(copy, "audit", "--configfile", "bad.yaml")
    assert done.returncode == 1 and "Traceback" not in done.stdout and done.stdout.strip()
