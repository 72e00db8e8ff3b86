"""What it costs to plan a large study, and how jobs, files and bytes grow.

    python benchmarks/plan.py              dry runs: 13 models, 6 data sets of 20,000 images, and one change at a time
    python benchmarks/plan.py --bytes      real runs of the small demo, and one change at a time: bytes by stage

Jobs and files are counted in what `snakemake --dry-run` prints, bytes in the results of finished runs. The data sets of
the dry runs are stand-ins: 20,000 rows in each question file and 20,000 names in each folder of images, which is all
that planning looks at; the models are the hub ids of config/study.yaml at a made-up commit.
"""

import argparse
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
COMMIT = "0" * 40
IMAGES = 20_000
STAGES = {
    "datasets": ("datasets", "demo"),
    "corrupted": ("corrupted",),
    "scores": ("scores",),
    "the rest": ("selection", "reliability", "figures"),
    "records": ("provenance", "benchmarks"),
}


def study(models: int = 13, datasets: int = 6, voters: int = 4, names: int = 19, severities: int = 5) -> dict[str, Any]:
    """config/study.yaml on stand-in data, with as many of each as asked for; more models are the same ones again."""
    found = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    config = {key: found[key] for key in ("seed", "models", "scoring", "selection")}  # what the main job reads
    default = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    known = list(config["models"].items())
    config["models"] = {
        f"{slug}{f'-{number // len(known)}' if number >= len(known) else ''}": {**entry, "revision": COMMIT}
        for number in range(models)
        for slug, entry in [known[number % len(known)]]
    }
    config["voters"] = list(config["models"])[:voters]
    config["datasets"] = {
        f"set{number}": {"importer": "seedbench", "file": f"data/{number}/rows.json", "images": f"data/{number}/images"}
        for number in range(datasets)
    }
    config["pool"] = {"quotas": dict.fromkeys(config["datasets"], 700)}
    config["selection"]["image_revision"] = COMMIT
    config["corruptions"] = {
        "names": default["corruptions"]["names"][:names],
        "severities": list(range(1, severities + 1)),
        "reference_side": 640,
    }
    return config


def stand_ins(folder: Path, datasets: int, images: int) -> None:
    """Question files and folders of images under ``folder``/data."""
    for number in range(datasets):
        place = folder / "data" / str(number) / "images"
        place.mkdir(parents=True)
        (first := place / "0.jpg").write_bytes(bytes(1000))
        for image in range(1, images):
            os.link(first, place / f"{image}.jpg")
        rows = (
            {"id": i, "image": f"{i}.jpg", "question": "?", "options": ["a", "b"], "answer": 0} for i in range(images)
        )
        (place.parent / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def dry_run(folder: Path, config: dict[str, Any]) -> tuple[Counter, int, float, float, float]:
    """Jobs by rule and number of output files that Snakemake lists; seconds of wall and CPU time, and peak MB."""
    (folder / "plan.yaml").write_text(yaml.safe_dump(config))
    printed, wall, cpu, peak = snakemake(folder, "--dry-run")
    table = re.search(r"^job +count\n[- ]+\n(.*?)^total", printed, flags=re.M | re.S)
    assert table is not None, printed[-3000:]
    jobs = Counter({rule: int(number) for rule, number in map(str.split, table[1].splitlines())})
    del jobs["all"]
    listed = snakemake(folder, "--summary")[0].partition("output_file\t")[2].splitlines()
    return jobs, len(listed) - 1, wall, cpu, peak


def snakemake(folder: Path, mode: str) -> tuple[str, float, float, float]:
    """What Snakemake prints, seconds of wall and CPU time, and peak MB."""
    words = ["--snakefile", str(ROOT / "Snakefile"), "--workflow-profile", str(ROOT / "profiles" / "default")]
    began = time.monotonic()
    with (folder / "plan.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", *words, "--configfile", "plan.yaml", mode, "--", "all"],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
    printed, wall = (folder / "plan.log").read_text(), time.monotonic() - began
    if status:
        raise SystemExit(f"snakemake {mode} failed:\n{printed[-3000:]}")
    return printed, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def plans() -> None:
    """Print what planning costs, and jobs and files for one change at a time."""
    shown = ("score", "cut_bench", "reliability", "corrupt", "import_dataset")
    print(f"{'dry run of':<34}{'jobs':>6}{'files':>7}" + "".join(f"{rule:>15}" for rule in shown), end="")
    print(f"{'others':>8}{'wall s':>9}{'CPU s':>7}{'peak MB':>9}")
    base = {"models": 13, "datasets": 6, "voters": 4, "names": 19, "severities": 5}
    variants = {
        IMAGES: {
            "13 models, 6 x 20,000 images": {},
            "26 models": {"models": 26},
            "8 voters": {"voters": 8},
            "3 data sets": {"datasets": 3},
            "1 severity": {"severities": 1},
            "7 corruptions (of 2 families)": {"names": 7},
        },
        IMAGES // 10: {"6 x 2,000 images": {}},
    }
    for images, changes in variants.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            stand_ins(folder, base["datasets"], images)
            for label, change in changes.items():
                jobs, files, wall, cpu, peak = dry_run(folder, study(**base | change))
                counts = "".join(f"{jobs[rule]:15}" for rule in shown)
                others = jobs.total() - sum(jobs[rule] for rule in shown)
                print(
                    f"{label:<34}{jobs.total():6}{files:7}{counts}{others:8}{wall:9.1f}{cpu:7.1f}{peak:9.0f}",
                    flush=True,
                )


def real_run(folder: Path, config: dict[str, Any]) -> dict[str, int]:
    """Run the main job; bytes by stage."""
    (folder / "plan.yaml").write_text(yaml.safe_dump(config))
    words = ["--snakefile", str(ROOT / "Snakefile"), "--workflow-profile", str(ROOT / "profiles" / "default")]
    made = subprocess.run(
        [sys.executable, "-m", "snakemake", *words, "--configfile", "plan.yaml", "--quiet", "all", "--", "all"],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if made.returncode:
        raise SystemExit(f"the run failed:\n{made.stdout[-3000:]}")
    return {stage: sum(map(size, (folder / "results" / place for place in places))) for stage, places in STAGES.items()}


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def real_runs() -> None:
    """Print the bytes of finished runs for one change at a time."""
    base = yaml.safe_load((ROOT / "tests" / "workflow" / "small.yaml").read_text())
    for entry in base["models"].values():
        entry["source"] = str(ROOT / entry["source"])
    base["selection"]["image_encoder"] = str(ROOT / base["selection"]["image_encoder"])
    base["voters"] = ["qwen-demo"]
    base["scoring"] = {name: str(ROOT / f"resources/prompts/{name.split('_')[0]}.txt") for name in PROMPTS}
    changes = {
        "1 voter, 1 other model": {},
        "1 voter, 3 other models": {
            "models": base["models"] | {f"llava-{n}": base["models"]["llava-demo"] for n in (2, 3)}
        },
        "12 scenes (x 2)": {"demo": base["demo"] | {"scenes": 12}},
        "4 severities (x 2)": {"corruptions": base["corruptions"] | {"severities": [1, 2, 4, 5]}},
    }
    print(f"{'finished run of the small demo':<34}" + "".join(f"{stage:>12}" for stage in STAGES) + "   bytes")
    for label, change in changes.items():
        with tempfile.TemporaryDirectory() as temporary:
            found = real_run(Path(temporary), copy.deepcopy(base) | change)
            print(f"{label:<34}" + "".join(f"{number:12,}" for number in found.values()), flush=True)


PROMPTS = ("letter_prompt", "text_prompt")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", action="store_true", help="real runs instead of dry runs; some minutes")
    real_runs() if parser.parse_args().bytes else plans()
