"""S06 to S09: what reaches the queue and what the queue answers, with stand-ins for SLURM's commands."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.workflow.project import SMALL, environment, planned

DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
# Each job's states, one per look at the queue, the last one again and again; a second try runs and waits for nobody.
# Jobs are submitted side by side, so that each gets its process's number and a file of its own.
SBATCH = """
call="{calls}/$(date +%s%N)-$$"
printf '%s\\n' "$@" >"$call.new" && mv "$call.new" "$call"
for word in "$@"; do case "$word" in rule_*|group_*) name=$word;; esac; done
states="{states}/${{name#rule_score_wildcards_}}"
cp "$states" "{queue}/$$"
sed -i '/PREEMPTED/d; /RUNNING/d' "$states"
echo $$
"""
SQUEUE = """
for job in "{queue}"/*; do
  read -r state <"$job"
  [ "$state" = GONE ] || echo "${{job##*/}}|$state"
  [ "$(wc -l <"$job")" = 1 ] || sed -i 1d "$job"
done
"""


class Site:
    """A run whose scores are gone, and the commands of a cluster without accounting, each one a stand-in."""

    def __init__(self, folder, tools):
        self.folder, self.tools = folder, tools
        for name, script in {"sacct": DISABLED, "sacctmgr": "", "sinfo": "", "sshare": "exit 1", "scancel": ""}.items():
            self.tool(name, script)
        self.tool("scontrol", "echo 'MinJobAge               = 300 sec'")
        places = {name: tools / name for name in ("calls", "states", "queue")}
        for place in places.values():
            place.mkdir()
        self.tool("sbatch", SBATCH.format(**places))
        self.tool("squeue", SQUEUE.format(**places))

    def tool(self, name, script):
        (self.tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.tools / name).chmod(0o755)

    def scores(self, states):
        """Take score files away; ``states`` gives what the queue says of the job that is to make each anew."""
        self.wanted = [f"results/scores/{name.replace('_', '/')}.parquet" for name in states]
        for name, path in zip(states, self.wanted, strict=True):
            (self.folder / path).unlink()
            (self.tools / "states" / name).write_text("".join(f"{state}\n" for state in states[name]))

    def run(self, *words, retries=0, patient=False, seconds=300):
        """The profile as it is, but with few retries, a quick look at the queue, and a short wait for files."""
        quick = ["--retries", str(retries), "--slurm-init-seconds-before-status-checks", "1"]
        quick += [] if patient else ["--latency-wait", "1"]
        profile = ["--profile", "slurm", "--configfile", SMALL]
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *profile, *quick, *words, "--", *self.wanted],
            cwd=self.folder,
            env=environment(PATH=f"{self.tools}{os.pathsep}{os.environ['PATH']}"),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
        )
        calls = sorted((self.tools / "calls").iterdir(), key=lambda path: path.name)
        return [call.read_text().split("\n")[:-1] for call in calls], done


@pytest.fixture
def site(finished, tmp_path):
    folder, tools = tmp_path / "run", tmp_path / "bin"
    subprocess.run(["cp", "-a", os.fspath(finished), os.fspath(folder)], check=True)
    tools.mkdir()
    return Site(folder, tools)


def option(call, *names):
    """The value of an option that must stand there once: `--name=value`, `--name value` or `-n value`."""
    found = [word.removeprefix(f"{name}=") for word in call for name in names if word.startswith(f"{name}=")]
    found += [call[n + 1] for n, word in enumerate(call) if word in names]
    assert len(found) == 1, (names, call)
    return found[0]


def test_s08_the_sites_own_partition_account_qos_and_constraint_arrive(site):
    """The commented lines of the profile are taken into use, as a user would."""
    profile = site.folder / "slurm/config.yaml"
    text = profile.read_text()
    for line in ('slurm_account: "my-account"', 'qos: "normal"', 'constraint: "a100"'):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    profile.write_text(text.replace('slurm_partition: "gpu"', 'slurm_partition: "big gpus"'))
    site.tool("sacctmgr", "echo my-account")
    site.scores({"qwen-demo_pool_clean": ["FAILED"]})
    (call,), _ = site.run()
    assert option(call, "--partition", "-p") == "big gpus"
    assert option(call, "--account", "-A") == "my-account"
    assert option(call, "--qos") == "normal"
    assert option(call, "--constraint", "-C") == "a100"


def test_s08_a_wrong_account_is_named_with_the_right_ones(site):
    profile = site.folder / "slurm/config.yaml"
    profile.write_text(profile.read_text().replace('# slurm_account: "my-account"', 'slurm_account: "my-acount"'))
    site.tool("sacctmgr", "echo my-account")
    site.scores({"qwen-demo_pool_clean": ["FAILED"]})
    calls, done = site.run()
    assert not calls and done.returncode != 0
    assert "my-acount appears to be invalid" in done.stdout and "my-account" in done.stdout


def test_s09_a_full_queue_is_told_in_slurms_own_words(site):
    """The third submission is refused; the two before it are taken to their ends."""
    site.scores({f"qwen-demo_pool_{family}": ["FAILED"] for family in ("clean", "noise", "weather")})
    accept = (site.tools / "sbatch").read_text()
    first_two = " || ".join(f'mkdir "{site.tools}/{turn}" 2>/dev/null' for turn in ("first", "second"))
    refuse = f"{first_two} || {{ echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; exit 1; }}\n"
    site.tool("sbatch", refuse + accept.removeprefix("#!/bin/sh\n"))
    calls, done = site.run()
    assert len(calls) == 2 and done.returncode != 0 and "Traceback" not in done.stdout
    assert done.stdout.count("AssocMaxSubmitJobLimit") >= 1
    assert done.stdout.count("SLURM status is: 'FAILED'") == 2, done.stdout


def test_s08_s09_failed_jobs_become_failures_and_the_retry_asks_for_more(site):
    """Ends within the time that three looks at the queue take; a job that only seems to run would never end."""
    states = {
        "qwen-demo_pool_clean": ["RUNNING", "OUT_OF_MEMORY"],
        "qwen-demo_pool_noise": ["RUNNING", "TIMEOUT"],
        "qwen-demo_pool_weather": ["PREEMPTED", "NODE_FAIL"],
        "llava-demo_pool_clean": ["RUNNING", "CANCELLED"],
        "llava-demo_pool_noise": ["RUNNING", "FAILED"],
    }
    site.scores(states)
    site.tool(
        "squeue", f'ls "{site.tools}/calls" | wc -l >>"{site.tools}/seen"\n' + (site.tools / "squeue").read_text()
    )
    calls, done = site.run("--resources", "gpu=1", retries=1)
    assert done.returncode != 0 and "Traceback" not in done.stdout
    for name, said in states.items():
        tries = [call for call in calls if option(call, "--comment") == f"rule_score_wildcards_{name}"]
        assert [option(call, "--mem") for call in tries] == ["16000", "32000"], name
        assert [option(call, "--time", "-t") for call in tries] == ["480", "960"], name
        assert done.stdout.count(f"'{said[-1]}'") >= 2, (name, done.stdout)
    for call in calls:
        assert option(call, "--gpus", "-G") == "1" and option(call, "--partition", "-p") == "gpu"
        assert not {"-A", "--account", "--qos", "-C", "--constraint"} & {word.split("=")[0] for word in call}
    seen = [int(line) for line in (site.tools / "seen").read_text().split()]
    assert len(states) in seen[:2], "this machine's one GPU (`--resources gpu=1`) does not hold back a cluster's jobs"


def test_s07_an_output_that_is_seen_20_seconds_late_is_waited_for(site):
    """A job has ended well, and its file reaches this machine later, as on a network file system."""
    shard = "results/scores/qwen-demo/pool/clean.parquet"
    kept = site.folder / "kept"
    shutil.copy(site.folder / shard, kept)
    site.scores({"qwen-demo_pool_clean": ["COMPLETED"]})
    late = f'(sleep 20; cp "{kept}" "{site.folder / shard}") >/dev/null 2>&1 &\n'
    site.tool("sbatch", late + (site.tools / "sbatch").read_text())
    calls, done = site.run(patient=True)
    assert len(calls) == 1 and done.returncode == 0, done.stdout


def test_short_jobs_share_one_allocation_and_its_one_gpu_one_after_another(site):
    """What docs/reliability.md says of `--group-components`: the time is the sum, the GPU is one."""
    site.scores({f"qwen-demo_pool_{family}": ["FAILED"] for family in ("clean", "noise", "weather")})
    (site.tools / "states" / "group").write_text("FAILED\n")
    together = ["--groups", "score=scoring", "--group-components", "scoring=3", "--resources", "gpu=1"]
    site.tool("sbatch", (site.tools / "sbatch").read_text().replace("${name#rule_score_wildcards_}", "group"))
    (call,), done = site.run(*together)
    assert option(call, "--gpus", "-G") == "1" and option(call, "--time", "-t") == str(3 * 480)
    assert option(call, "--mem") == "16000"
    assert done.returncode != 0


def test_s09_the_profile_caps_the_queue_and_retries_ask_for_more(finished):
    profile = yaml.safe_load((finished / "slurm/config.yaml").read_text())
    assert profile["jobs"] <= 1000 and profile["retries"] >= 1
    for rule, asked in profile["set-resources"].items():
        assert "attempt" in asked["mem_mb"] and "attempt" in asked["runtime"], rule


def test_s06_the_number_of_jobs_does_not_grow_with_images(finished, tmp_path):
    """3 data sets x 10 models x 96 variants; 100,000 rows in one of the data sets."""
    config = yaml.safe_load((finished / SMALL).read_text())
    config["corruptions"] = {"severities": [1, 2, 3, 4, 5], "reference_side": 140}
    config["models"] |= {f"model-{n}": {"source": "resources/models/qwen-demo"} for n in range(8)}
    config["datasets"] = {}
    for name in ("one", "two", "three"):
        folder = tmp_path / name
        folder.mkdir()
        many = 100_000 if name == "one" else 0
        (folder / "questions.json").write_text(json.dumps({str(n): {"imageId": "1"} for n in range(many)}))
        (folder / "graphs.json").write_text("{}")
        (folder / "images").mkdir()
        files = {"questions": "questions.json", "scene_graphs": "graphs.json", "images": "images"}
        config["datasets"][name] = {"importer": "gqa", **{key: str(folder / file) for key, file in files.items()}}
    config["pool"] = {"quotas": dict.fromkeys(config["datasets"])}
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(config))
    checkout = tmp_path / "checkout"
    shutil.copytree(finished, checkout, ignore=shutil.ignore_patterns("results", ".snakemake"))
    jobs = planned(checkout, "all", config=str(tmp_path / "many.yaml"))
    assert jobs["score"] == 60 and sum(jobs.values()) < 120
