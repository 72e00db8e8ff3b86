"""The two profiles: what each says, that they agree where both speak, and that GPUs are asked for and not shared."""

import re
from pathlib import Path

import pytest
import yaml
from snakemake.profiles import ProfileConfigFileParser
from vlmdx.provenance import code

from tests.workflow.project import ROOT

# Load a model, and yet on the CPU: the demo models are trained in one thread, so that they come out the same; the
# others embed some hundred sentences with MiniLM.
ON_THE_CPU = {"demo_model", "demo_questioner", "demo_pupil", "vocabulary", "fdr_table", "recompute_rewards"}


def profile(name):
    """The profile's keys as Snakemake reads them."""
    with (ROOT / name / "config.yaml").open() as file:
        return dict(ProfileConfigFileParser().parse(file))


def rules():
    """Rule -> its text."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    parts = re.split(r"^rule (\w+):$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def loads_a_model(script, monkeypatch):
    """Whether the code that a script reaches, definition by definition, opens a model's weights."""
    reached, module = {}, code._module
    code._DIGESTS.clear()  # else a script that was asked for before would not be followed again
    monkeypatch.setattr(code, "_module", lambda name: reached.setdefault(name, module(name)))
    code.code_digest(script)
    texts = [script.read_text(), *(found.path.read_text() for found in reached.values())]
    return any(word in text for text in texts for word in (".from_pretrained(", "SentenceTransformer("))


def test_every_rule_that_loads_a_model_asks_for_a_gpu_and_no_other_does(monkeypatch):
    asked = yaml.safe_load((ROOT / "slurm/config.yaml").read_text())["set-resources"]
    for rule, text in rules().items():
        if found := re.search(r'script:\s+"\.\./(\S+)"', text):
            with monkeypatch.context() as patch:
                loads = loads_a_model(ROOT / found[1], patch) and rule not in ON_THE_CPU
            wants = asked.get(rule, {})
            assert (wants.get("gpu") == 1) == loads, rule
            assert (wants.get("slurm_partition") == "gpu") == loads, rule
            assert ("gpu=1," in text) == loads, f"{rule}: `gpu=1` keeps jobs on one machine from sharing its GPU"
    assert set(asked) <= set(rules()), "the profile names rules that are none"


def test_every_job_that_loads_a_model_is_offline_before_anything_is_imported(monkeypatch):
    for script in sorted((ROOT / "workflow/scripts").glob("*.py")):
        with monkeypatch.context() as patch:
            if loads_a_model(script, patch) and script.stem not in ON_THE_CPU:
                before, _, _ = script.read_text().partition("from vlmdx")
                assert 'os.environ["HF_HUB_OFFLINE"] = "1"' in before, script


def test_s03_the_workflow_profile_takes_nothing_away_from_the_cluster_profile():
    """It wins key by key, whole keys, whatever stands in them."""
    default, slurm = profile("profiles/default"), profile("slurm")
    both = {key for key in default.keys() & slurm.keys() if default[key] != slurm[key]}
    assert not both
    assert not {"executor", "jobs", "retries", "default-resources", "set-resources"} & default.keys()


@pytest.mark.parametrize(("there", "gpus"), [(True, "gpu=1"), (False, "gpu=1000")])
def test_one_machine_has_one_gpu_to_give_or_none_to_wait_for(monkeypatch, there, gpus):
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: there if str(path) == "/dev/nvidia0" else exists(path))
    assert profile("profiles/default")["resources"] == [gpus]
