"""The lock file fills in what a config leaves open, and a mistake in it is told in one line."""

import pytest
from vlmdx.config import ConfigError, load
from vlmdx.config.faults import faults
from vlmdx.config.jobs import Jobs
from vlmdx.config.joint_jobs import JointJobs
from vlmdx.config.pins import LOCK, Pin, read_pins, write_pins
from vlmdx.config.root import DEMO

from tests.cli.project import ROOT

COMMIT, OTHER = "0" * 40, "1" * 40
HUB = {"source": "Qwen/Qwen2.5-VL-3B-Instruct"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty checkout to plan in."""
    for name in ("workflow", "resources"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(**models):
    return load({**DEMO, "models": {**DEMO["models"], **models}})


def pin(project, place="qwen", source=HUB["source"], **changes):
    entry = {"source": source, "revision": COMMIT, "model_type": "qwen2_5_vl", **changes}
    write_pins(project / LOCK, {place: Pin(**entry)})


def lines(project, asked):
    return faults(asked, Jobs(asked, project).here)


def test_the_locks_commit_and_model_type_reach_the_job(project):
    pin(project)
    settings = Jobs(config(qwen=HUB), project).score("qwen", "bench", "clean").settings
    assert (settings["revision"], settings["family"]) == (COMMIT, "qwen2_5_vl")
    assert lines(project, config(qwen=HUB)) == []


def test_another_commit_is_another_digest_and_touches_no_other_model(project):
    digests = []
    for revision in (COMMIT, OTHER):
        pin(project, revision=revision)
        jobs = Jobs(config(qwen=HUB), project)
        digests.append({slug: jobs.score(slug, "bench", "clean").digest for slug in ("qwen", "llava-demo")})
    assert digests[0]["qwen"] != digests[1]["qwen"]
    assert digests[0]["llava-demo"] == digests[1]["llava-demo"]


def test_s11_questioner_verifier_and_encoder_of_discovery_are_pinned_like_any_model(project):
    judge = {"kind": "vlm", **HUB}
    run = {"dataset": "shapes-mechanism", "answerer": "qwen-demo", "verifier": judge}
    chosen = {**DEMO["discovery"], "runs": {"qwen": run}, "questioner": HUB, "reward": {"encoder": "some/encoder"}}
    asked = load({**DEMO, "discovery": chosen})
    places = ("discovery.questioner", "discovery.reward.encoder", "discovery.runs.qwen.verifier")
    told = lines(project, asked)
    assert len(told) == len(places)
    for place in places:
        (line,) = [line for line in told if line.startswith(f"config: {place}: ")]
        assert "vlmdx fetch" in line
    for place in places:
        pin(project, place, "some/encoder" if "encoder" in place else HUB["source"])
    assert lines(project, asked) == []
    settings = JointJobs(asked, project).train_questioner("qwen").settings
    assert settings["questioner"]["revision"] == settings["verifier"]["revision"] == COMMIT
    assert settings["encoder"]["revision"] == COMMIT and settings["verifier"]["family"] == "qwen2_5_vl"


def test_s05_the_digest_covers_the_locked_familys_adapter_alone(project, monkeypatch):
    asked = []
    monkeypatch.setattr("vlmdx.config.jobs.digest_parts", lambda *a, **k: asked.append(a[-1]) or "digest")
    pin(project)
    Jobs(config(qwen=HUB), project).score("qwen", "bench", "clean")
    assert asked[-1] == ["vlmdx.models.qwen2_5_vl"]


def test_a_commit_in_the_config_needs_no_lock_and_wins_over_it(project):
    asked = config(qwen=HUB | {"revision": OTHER})
    assert lines(project, asked) == []
    pin(project)
    assert Jobs(asked, project).config.models["qwen"].revision == OTHER


def test_a_folder_is_never_pinned(project):
    pin(project, "qwen-demo", "resources/models/qwen-demo")
    assert Jobs(config(), project).config.models["qwen-demo"].revision is None


def test_encoders_are_pinned_too(project):
    asked = load({**DEMO, "selection": {"target": 9, "image_encoder": "openai/clip-vit-large-patch14"}})
    assert lines(project, asked) == [
        "config: selection.image_encoder: 'openai/clip-vit-large-patch14' is no folder; as a hub id it needs a "
        "`revision`: run `vlmdx fetch`, or give its commit"
    ]
    pin(project, "selection.image_encoder", "openai/clip-vit-large-patch14", model_type="clip")
    assert lines(project, asked) == []
    assert Jobs(asked, project).embed_pool.settings["image_revision"] == COMMIT


@pytest.mark.parametrize(
    ("entry", "locked", "line"),
    [
        (HUB, None, "config: models.qwen: 'Qwen/Qwen2.5-VL-3B-Instruct' is no folder; as a hub id it needs a"),
        (HUB, {"source": "org/other"}, "config: models.qwen: config/models.lock.yaml holds 'org/other', not 'Qwen/"),
        (HUB | {"revision": "main"}, None, "config: models.qwen: revision 'main' can move; run `vlmdx fetch`"),
        (HUB | {"revision": "v2"}, {"requested": "v1"}, "config: models.qwen: revision 'v2' can move"),
        (HUB, {"model_type": "kosmos"}, "config: models.qwen: model type 'kosmos' has no adapter; known: gemma3"),
    ],
)  # fmt: skip
def test_what_is_not_pinned_is_told_in_one_line(project, entry, locked, line):
    if locked:
        pin(project, **locked)
    (told,) = lines(project, config(qwen=entry))
    assert told.startswith(line)


def test_a_generic_model_is_planned_with_the_generic_adapter(project):
    pin(project, model_type="kosmos")
    assert lines(project, config(qwen=HUB | {"family": "generic"})) == []


def test_the_lock_keeps_entries_of_other_configs(project):
    pin(project, "one")
    pin(project, "two", "org/two", requested="main")
    assert read_pins(project / LOCK) == {
        "one": Pin(source=HUB["source"], revision=COMMIT, model_type="qwen2_5_vl"),
        "two": Pin(source="org/two", revision=COMMIT, model_type="qwen2_5_vl", requested="main"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "not a lock file"),
        ("a: [\n", "not a lock file"),
        ("qwen: {source: x, revision: main, model_type: y}\n", "revision: String should match pattern"),
        ("qwen: {source: x}\n", "revision: Field required"),
    ],
)
def test_a_broken_lock_is_told_with_the_remedy(project, text, said):
    (project / LOCK).write_text(text)
    with pytest.raises(ConfigError, match=r"delete the file and run `vlmdx fetch`") as caught:
        Jobs(config(), project)
    assert said in str(caught.value) and len(str(caught.value).splitlines()) <= 5
