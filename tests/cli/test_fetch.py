"""S11: models are fetched once, by a step of its own, at pinned commits; everything else runs offline."""

import shutil
import subprocess
import sys

import pytest
import yaml

from tests.cli.hub import serving
from tests.cli.project import command, environment, project, run
from tests.models import tiny

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LATER = "f" * 40
MODELS = {"tiny": {"source": "org/tiny.v1"}}
OPEN = "import sys; from vlmdx.models.load import load; print(load(*sys.argv[1:], device='cpu').describe()['family'])"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A model as it lies on the hub, with files that are nobody's business here."""
    folder = tiny.build("llava", tmp_path_factory.mktemp("hub") / "tiny")
    for name in ("pytorch_model.bin", "modeling_tiny.py", "README.md", "original/params.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    return folder


@pytest.fixture
def hub(repository):
    with serving() as found:
        found.add("org/tiny.v1", repository, COMMIT)
        yield found


def pins(folder):
    return yaml.safe_load((folder / "config" / "models.lock.yaml").read_text())


def test_s11_fetch_pins_the_commit_and_jobs_open_it_offline(hub, tmp_path):
    folder, env = project(tmp_path / "p", models=MODELS, voters=["tiny"]), environment(tmp_path / "home", hub.url)
    done = run(folder, "fetch", env=env)
    assert done.returncode == 0, done.stdout
    assert pins(folder) == {"tiny": {"source": "org/tiny.v1", "revision": COMMIT, "model_type": "llava"}}
    # Neither pickles nor code nor a second set of weights, and each file once.
    assert +hub.downloads == dict.fromkeys(
        [
            "chat_template.jinja",
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "processor_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ],
        1,
    )
    offline = environment(tmp_path / "home", HF_HUB_OFFLINE="1")
    opened = subprocess.run(
        [sys.executable, "-c", OPEN, "org/tiny.v1", COMMIT], env=offline, text=True, capture_output=True
    )
    assert opened.stdout.strip() == "llava", opened.stderr


def test_s11_four_processes_at_once_against_one_empty_cache(hub, tmp_path):
    folder, env = project(tmp_path / "p", models=MODELS, voters=["tiny"]), environment(tmp_path / "home", hub.url)
    running = [
        subprocess.Popen(
            command("fetch"), cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(4)
    ]
    said = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4, said
    assert pins(folder)["tiny"]["revision"] == COMMIT
    opened = subprocess.run(
        [sys.executable, "-c", OPEN, "org/tiny.v1", COMMIT],
        env=environment(tmp_path / "home", HF_HUB_OFFLINE="1"), text=True, capture_output=True,
    )  # fmt: skip
    assert opened.stdout.strip() == "llava", opened.stderr


def test_s11_a_cold_cache_says_which_model_and_what_to_run(tmp_path):
    env = environment(tmp_path / "home", HF_HUB_OFFLINE="1")
    where = "import sys; from vlmdx.models.files import snapshot; snapshot(*sys.argv[1:])"
    opened = subprocess.run(
        [sys.executable, "-c", where, "org/tiny.v1", COMMIT], env=env, text=True, capture_output=True
    )
    assert opened.returncode != 0
    said = opened.stderr.splitlines()[-1]
    assert f"model 'org/tiny.v1' at revision {COMMIT}" in said and "run `vlmdx fetch`" in said


def test_s11_a_half_fetched_model_names_the_missing_file(hub, tmp_path):
    folder, env = project(tmp_path / "p", models=MODELS, voters=["tiny"]), environment(tmp_path / "home", hub.url)
    assert run(folder, "fetch", env=env).returncode == 0
    (weights,) = (tmp_path / "home").rglob("snapshots/*/model.safetensors")
    weights.unlink()
    offline = environment(tmp_path / "home", HF_HUB_OFFLINE="1")
    done = run(folder, "doctor", "--all", "--device", "cpu", env=offline)
    assert done.returncode == 1
    assert "1 file(s) are missing (model.safetensors)" in " ".join(done.stdout.split()) and "vlmdx fetch" in done.stdout
    assert run(folder, "fetch", env=env).returncode == 0 and weights.is_file()


def test_what_is_pinned_stays_though_the_hub_moves_on(hub, repository, tmp_path):
    folder, env = project(tmp_path / "p", models=MODELS, voters=["tiny"]), environment(tmp_path / "home", hub.url)
    assert run(folder, "fetch", env=env).returncode == 0
    hub.add("org/tiny.v1", repository, LATER)
    assert run(folder, "fetch", env=env).returncode == 0
    assert pins(folder)["tiny"]["revision"] == COMMIT
    hub.add("org/moved", repository, LATER)
    project(folder, models={"tiny": {"source": "org/moved"}}, voters=["tiny"])
    assert run(folder, "fetch", env=env).returncode == 0
    assert pins(folder)["tiny"] == {"source": "org/moved", "revision": LATER, "model_type": "llava"}


def test_a_branch_is_resolved_and_remembered(hub, tmp_path):
    named = {"tiny": {"source": "org/tiny.v1", "revision": "main"}}
    folder, env = project(tmp_path / "p", models=named, voters=["tiny"]), environment(tmp_path / "home", hub.url)
    assert run(folder, "fetch", env=env).returncode == 0
    assert pins(folder)["tiny"]["requested"] == "main" and pins(folder)["tiny"]["revision"] == COMMIT


def test_one_model_can_be_fetched_alone_for_the_doctor(hub, tmp_path):
    folder, env = project(tmp_path / "p"), environment(tmp_path / "home", hub.url)
    done = run(folder, "fetch", "org/tiny.v1", env=env)
    assert done.returncode == 0 and COMMIT in done.stdout
    assert not (folder / "config" / "models.lock.yaml").exists()
    offline = environment(tmp_path / "home", HF_HUB_OFFLINE="1")
    assert run(folder, "doctor", "org/tiny.v1", "--device", "cpu", env=offline).returncode == 0


def test_code_comes_only_where_the_entry_trusts_it(hub, tmp_path):
    trusted = {"tiny": {"source": "org/tiny.v1", "trust_remote_code": True}}
    folder, env = project(tmp_path / "p", models=trusted, voters=["tiny"]), environment(tmp_path / "home", hub.url)
    assert run(folder, "fetch", env=env).returncode == 0
    assert hub.downloads["modeling_tiny.py"] == 1 and hub.downloads["pytorch_model.bin"] == 0


def test_failures_are_told_one_a_line_and_the_rest_is_fetched(hub, repository, tmp_path):
    pickled = shutil.copytree(repository, tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    hub.add("org/pickled", pickled, COMMIT)
    hub.add("org/gated", repository, COMMIT)
    hub.gated.add("org/gated")
    models = {
        "none": {"source": "org/none"},
        "gated": {"source": "org/gated"},
        "pickled": {"source": "org/pickled"},
        "old": {"source": "org/tiny.v1", "revision": "a" * 40},
        **MODELS,
    }
    folder = project(tmp_path / "p", models=models, voters=["tiny"])
    done = run(folder, "fetch", env=environment(tmp_path / "home", hub.url, HF_TOKEN="hf_secretsecret"))
    assert done.returncode == 1
    told = done.stdout.split("what is missing:")[1]
    for expected in (
        "4 of 5 models could not be fetched",
        "org/none: no such model on the hub, or a private one",
        "org/gated: gated; accept its licence on the hub",
        "has no weights; expected *.safetensors",
        f"org/tiny.v1: no revision '{'a' * 40}'",
    ):
        assert expected in done.stdout, done.stdout
    assert len(told.strip().splitlines()) == 4
    assert "hf_secret" not in done.stdout and "Traceback" not in done.stdout
    assert list(pins(folder)) == ["tiny"]


@pytest.mark.parametrize(
    ("extra", "said"),
    [({}, "the hub cannot be reached; run this on a machine with internet"), ({"HF_HUB_OFFLINE": "1"}, "switched off")],
)
def test_without_a_hub_it_says_so(tmp_path, extra, said):
    folder = project(tmp_path / "p", models=MODELS, voters=["tiny"])
    done = run(folder, "fetch", env=environment(tmp_path / "home", **extra))
    assert done.returncode == 1 and f"org/tiny.v1: the hub {'is ' if extra else ''}" in done.stdout
    assert said in done.stdout and "Traceback" not in done.stdout
