"""From a row back to its sources; two runs side by side; a run handed on as an RO-Crate."""

import csv
import json

import pytest
from rocrate.rocrate import ROCrate
from vlmdx.audit.ledger import ABOUT
from vlmdx.audit.reasons import told
from vlmdx.provenance.record import record_files

from tests.audit.conftest import vlmdx
from tests.workflow.project import SMALL, run

TABLE, BY_CORRUPTION = "results/ras_table.csv", "results/ras_by_corruption.csv"


@pytest.fixture(scope="module")
def walked(finished):
    done = vlmdx(finished, "why", TABLE, "--row", "qwen-demo")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_why_walks_to_shards_items_images_model_files_and_code(walked):
    for piece in [
        "results/reliability/qwen-demo/summary.parquet",
        "results/scores/qwen-demo/pool/noise.parquet",
        "results/datasets/pool/items.parquet",
        "results/corrupted/pool/noise.parquet",
        "results/datasets/shapes/images.parquet",
        "model.safetensors: ",
        "36 items",
        "6 images",
        "code ",
    ]:
        assert piece in walked, piece


def test_why_leaves_the_other_models_answers_out(walked):
    assert "llava-demo/bench" not in walked and "results/reliability/llava-demo" not in walked


def test_an_unknown_row_column_or_table_is_answered_with_those_there_are(finished):
    for words, answer in {
        (TABLE, "--row", "gpt"): "no model 'gpt'; there are qwen-demo, llava-demo",
        (TABLE, "--row", "modell=gpt"): "no column 'modell'; there are model, items",
        (TABLE, "--row", "qwen-demo", "--column", "raz"): "no column 'raz'; there are model, items",
        ("results/ras_tabel.csv", "--row", "gpt"): "no such table; there are results/accounting.csv",
    }.items():
        done = vlmdx(finished, "why", *words)
        assert done.returncode == 1 and answer in done.stdout, done.stdout


def test_several_rows_are_not_guessed_among(finished):
    done = vlmdx(finished, "why", BY_CORRUPTION, "--row", "qwen-demo")
    assert done.returncode == 1 and "2 rows are qwen-demo; add --row family=..., one of noise, weather" in done.stdout
    done = vlmdx(finished, "why", BY_CORRUPTION, "--row", "qwen-demo", "--row", "corruption=fog", "--column", "ras")
    assert done.returncode == 0 and done.stdout.split()[0] == "ras"


def test_a_table_without_a_model_is_followed_to_all_of_them(finished):
    said = vlmdx(finished, "why", "results/accounting.csv", "--row", "import").stdout
    assert "results/scores/qwen-demo/pool/noise.parquet" in said
    assert "results/scores/llava-demo/pool/noise.parquet" in said
    assert "--forcerun results/accounting.csv -- results/accounting.csv" in said


def test_why_says_what_changed_since_the_table_was_made(copy):
    prompt = copy / "resources/prompts/letter.txt"
    prompt.write_text(prompt.read_text().replace("directly", "now"))
    said = vlmdx(copy, "why", TABLE, "--row", "qwen-demo").stdout
    assert 'score noise pool qwen-demo: settings: template "choices directly" -> "choices now"' in said


def test_diff_of_a_run_with_itself_is_empty(finished):
    done = vlmdx(finished, "diff", ".", ".")
    assert done.returncode == 0 and "0 jobs and 0 tables differ" in done.stdout


def test_diff_names_the_setting_where_it_begins_and_the_cells_that_it_moved(finished, copy):
    config = (copy / SMALL).read_text()
    (copy / SMALL).write_text(config.replace("bootstrap: 200", "bootstrap: 100"))
    done = run(copy, "--quiet", "all", "--", TABLE)
    assert done.returncode == 0, done.stdout
    said = vlmdx(copy, "diff", finished, copy, "--all").stdout
    a, b = (list(csv.DictReader((f / TABLE).open())) for f in (finished, copy))
    moved = {column for row_a, row_b in zip(a, b, strict=True) for column in row_a if row_a[column] != row_b[column]}
    assert moved and all(column in said for column in moved)
    short = vlmdx(copy, "diff", finished, copy).stdout
    assert "settings: bootstrap 200 -> 100" in short and "reliability llava-demo and 1 more" in short
    assert "ras_table" not in short.partition("more jobs follow")[0]  # it only follows
    assert short.index("ras_table.csv: ") < short.index("ras_by_corruption.csv: ")


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        (0, 1, "key 0 -> 1"),
        (None, "x", 'key None -> "x"'),
        (["fog", "snow"], ["snow", "frost"], "key -fog +frost"),
        (["fog", "snow"], ["snow", "fog"], "key (order)"),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "key.b 2 -> 3"),
        ("Answer with the letter of the option.", "Answer with the letter of an option.", 'key "of the" -> "of an"'),
    ],
)
def test_a_changed_setting_is_told_in_a_few_words(then, now, words):
    assert told("key", then, now) == words


@pytest.fixture(scope="module")
def crate(whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crate") / "crate"
    done = vlmdx(whole, "crate", folder)
    assert done.returncode == 0, done.stdout
    return folder


def test_a_crate_is_read_back_by_its_own_library_and_holds_the_run(whole, crate):
    found = ROCrate(crate)
    jobs = [p for p in record_files(whole / "results/provenance") if p.stem not in ABOUT]
    assert len(found.get_by_type("CreateAction")) == len(jobs) + 1
    assert found.mainEntity.id == "Snakefile" and {"File", "ComputationalWorkflow"} <= set(found.mainEntity.type)
    for copied in (TABLE, "results/figures/gini.svg", "results/config.yaml"):
        assert (crate / copied).read_bytes() == (whole / copied).read_bytes()
    assert (crate / "results/provenance.parquet").stat().st_size
    again = vlmdx(whole, "crate", crate)
    assert again.returncode == 1 and "exists already" in again.stdout


def test_a_crate_keeps_what_the_profiles_require(crate):
    """The MUSTs of Process, Workflow and Provenance Run Crate 0.5; test_crate_validator.py asks the validator."""
    graph = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    known = {entity["@id"]: entity for entity in graph}
    assert len(known) == len(graph)
    root, main = known["./"], known["Snakefile"]
    for profile in ("process/0.5", "workflow/0.5", "provenance/0.5"):
        assert {"@id": f"https://w3id.org/ro/wfrun/{profile}"} in root["conformsTo"]
    assert root["license"] and root["mainEntity"] == {"@id": "Snakefile"} and main["programmingLanguage"]
    tools = {part["@id"] for part in main["hasPart"]}
    actions = [entity for entity in graph if entity["@type"] == "CreateAction"]
    assert {action["instrument"]["@id"] for action in actions} == tools | {"Snakefile"}
    assert {tool for tool in tools if known[tool]["@type"] == "SoftwareApplication"} == tools
    assert {mention["@id"] for mention in root["mentions"]} == {action["@id"] for action in actions}
    for action in actions:
        assert action["startTime"] <= action["endTime"]
        for other in (*_listed(action.get("object")), *_listed(action["result"])):
            assert other["@id"] in known


def _listed(value):
    return value if isinstance(value, list) else [] if value is None else [value]
