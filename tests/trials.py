"""Which test covers which public trouble report, and which tests are skipped where: the tables of tests/README.md.

python -m tests.trials        writes the tables anew from the tests' names; test_trials.py fails when they drift
"""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
README = TESTS / "README.md"
REPORTS, LEDGER, END = "<!-- reports: written by python -m tests.trials -->", "<!-- skips -->", "<!-- end -->"

# Report -> what goes wrong.
TROUBLE = {
    "I01": "EXIF orientation ignored",
    "I02": "16-bit grey turns white",
    "I03": "alpha, palette, LA, 1-bit, animation",
    "I04": "one broken file kills a long run",
    "I05": "decompression bombs",
    "C01": "size baked into a corruption, untouched bands",
    "C02": "tiny images",
    "C03": "the released package is older than its repository",
    "C04": "glass_blur takes minutes, fog memory",
    "C05": "result depends on order or worker count",
    "M01": '"A" or " A"',
    "M02": "options of several tokens",
    "M03": "fewer or more options than four, more than 26",
    "M04": "gold as letter, index, text, or not at all",
    "M05": "options that are letters; options about other options",
    "M06": "batch size or padding side changes the answer",
    "M07": "ties of low precision go to the first option",
    "M08": "NaN logits counted as answer A",
    "M09": "image tokens cut, pixel budget ignored, processor swapped",
    "M10": "no chat template, two BOS, a model that thinks first",
    "M11": "a prefix cached from another image",
    "M12": "TSV: image by reference, BOM, giant cells",
    "P01": "half-written Parquet after a kill",
    "P02": "locked DuckDB file",
    "P03": "NaN is not NULL",
    "P04": "column types decided by the first file or by the path",
    "P05": "UNNEST loses or pads rows",
    "P06": "old and duplicate shards counted again",
    "P07": "NaN in JSON and tables, empty groups in figures",
    "D01": "boxes negative, outside or empty",
    "D02": "no scene graph, or an object that is not in it",
    "D03": "annotated at another resolution",
    "D04": "split sizes, articles, plurals, accents",
    "S01": "slashes and dots in names",
    "S02": "greedy wildcards, stray files",
    "S03": "profile not found or half applied",
    "S04": "spaces, quotes, braces, $",
    "S05": "a comment recomputes, a prompt does not",
    "S06": "too many jobs",
    "S07": "locked folder after a kill",
    "S08": "no sacct, no sacctmgr, wrong account",
    "S09": "GPU request mangled, OOM unseen, queue limits",
    "S10": "user config merges instead of replacing",
    "S11": "compute nodes without internet",
    "G01": "all rewards equal",
    "G02": "shape of completions",
    "G03": "batch arithmetic",
    "G04": "image tokens cut or made up",
    "G05": "every completion cut off",
    "G06": "resume starts at step 0",
    "G07": "pictures silently dropped",
    "X01": "grouped-query attention",
    "X02": "the mask edit does nothing",
    "X03": "hook never fires, or sees nothing",
    "X04": "the reference implementation differs from the model",
    "X05": "M-RoPE state of the previous item",
    "X06": "box to token mapping",
    "X07": "cached decoding and padding under intervention",
}
# What a test cannot say.
NOTES = {
    "I01": "HEIC is refused with the remedy: Pillow does not read it.",
    "C03": "CI installs a fresh environment from the lock; every job tries all of its corruptions before it starts.",
    "C04": "No test asserts seconds: `benchmarks/corruptions.py` measures them.",
    "M05": "Replies are never parsed: an answer is read from option letters or from the likelihood of option texts.",
    "M12": "The same reader serves every CSV and TSV importer.",
    "P02": "There is no database file: every query runs in memory over Parquet.",
    "P07": "Selection has no Gini threshold that could keep nothing; it takes the first N.",
    "D04": "Answers are compared by option index; texts only where a source gives its gold as text.",
}
# Every skip: file -> (skipped when, runs again when).
SKIPS = {
    "audit/test_crate_validator.py": ("the crates' validator is not installed", "`pip install roc-validator`"),
    "discovery/test_screen.py": ("`../shared/data` is absent", "it is there"),
    "mechanism/test_identities.py": ("transformer-lens is not installed", "it is installed"),
    "workflow/test_vsr.py": ("`../shared/data` is absent", "it is there"),
    "cluster/test_accidents.py": ("no small file system can be mounted", "run as root where `mount -t tmpfs` works"),
    "cluster/test_slurm.py": ("there is no SLURM cluster", "`make test-slurm`"),
    "mechanism/test_bridge.py": ("transformer-lens is not installed", "it is installed"),
    "corruptions/conftest.py": ("the MMVP photos are absent", "`../shared/data/mmvp` lies beside the checkout"),
    "datasets/conftest.py": ("the real data sets are absent", "`../shared/data` lies beside the checkout"),
    "models/test_batches.py": (
        "transformers has no such attention implementation for the family",
        "transformers gains it; the family is tested with the one it falls back to",
    ),
    "models/test_files.py": (
        "the machine does not let a process leave the network",
        "`unshare --map-root-user --net` is allowed",
    ),
    "models/test_golden.py": (
        "the real Qwen tokenizer is absent",
        "`../shared/data/tokenizers/qwen` lies beside the checkout",
    ),
    "models/test_tokens.py": (
        "the real Qwen tokenizer is absent",
        "`../shared/data/tokenizers/qwen` lies beside the checkout",
    ),
    "selection/test_select_embed.py": ("the demo LLaVA is absent", "`resources/models/llava-demo` is there"),
    "selection/test_select_scripts.py": ("the demo LLaVA is absent", "`resources/models/llava-demo` is there"),
    "workflow/test_photos.py": ("the real photos are absent", "`../shared/data` lies beside the checkout"),
}
_SKIPPING = {"skip", "skipif", "importorskip", "xfail"}


@cache
def covered() -> dict[str, dict[str, list[str]]]:
    """Report -> test file -> names of its tests, from the ids that stand in the names."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for report in ids(node.name):
                    files = found.setdefault(report, {})
                    files.setdefault(path.relative_to(TESTS).as_posix(), []).append(node.name)
    return found


def ids(name: str) -> list[str]:
    """Reports named at the front of a test's name: test_m06_x05_contract -> M06, X05."""
    front = re.match(r"test((?:_[icmpdsgx][0-9]{2})+)(?:_|$)", name)
    return [part.upper() for part in front[1].strip("_").split("_")] if front else []


def skipping() -> set[str]:
    """Files in which a test can be skipped."""
    found = set()
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else None
            if name in _SKIPPING and ast.unparse(node).startswith("pytest."):
                found.add(path.relative_to(TESTS).as_posix())
    return found


def reports_table() -> str:
    """Markdown table: report, trouble, tests by file, note."""
    found = covered()
    rows = ["| report | trouble | tests | note |", "|---|---|---|---|"]
    for report, trouble in TROUBLE.items():
        tests = found.get(report, {})
        shown = "<br>".join(f"{file}: {', '.join(f'`{name}`' for name in names)}" for file, names in tests.items())
        note = NOTES.get(report, "")
        rows.append(f"| {report} | {trouble} | {shown} | {note} |")
    return "\n".join(rows)


def skips_table() -> str:
    """Markdown table: file, when it is skipped, when it runs."""
    rows = ["| file | skipped when | runs again when |", "|---|---|---|"]
    return "\n".join([*rows, *(f"| {file} | {when} | {until} |" for file, (when, until) in sorted(SKIPS.items()))])


def written(text: str) -> str:
    """``text`` with both tables renewed."""
    for mark, table in ((REPORTS, reports_table()), (LEDGER, skips_table())):
        before, _, rest = text.partition(mark)
        _, _, after = rest.partition(END)
        text = f"{before}{mark}\n{table}\n{END}{after}"
    return text


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
