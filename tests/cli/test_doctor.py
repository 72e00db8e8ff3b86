"""`vlmdx doctor`: the contract as a table, and an exit status."""

import pytest
from typer.testing import CliRunner
from vlmdx.cli import app

from tests.cli.project import project
from tests.models import tiny, tiny_unknown

RUNNER = CliRunner(env={"COLUMNS": "400"})


def doctor(*words):
    return RUNNER.invoke(app, ["doctor", *map(str, words)])


def rows(result):
    """Cells of the table, without its lines."""
    cut = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    return {row[0]: tuple(row[1:]) for row in cut}


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    return tiny.build("llava", tmp_path_factory.mktemp("models") / "llava v1.5")


def test_a_model_that_keeps_the_contract(llava):
    result = doctor(llava, "--device", "cpu", "--attention", "eager")
    assert result.exit_code == 0, result.output
    found = rows(result)
    checks = ["span", "letters", "text side", "batch", "padding", "image", "memory", "hooks", "knockout"]
    assert list(found) == ["open", *checks]
    assert {passed for passed, _ in found.values()} == {"passed"}
    assert found["open"][1] == "model type llava, adapter llava: LlavaProcessor, torch.float32, cpu, eager"
    assert "1 of 1 models keep the contract" in result.stderr


def test_a_broken_adapter_is_told_with_the_check_and_exit_status_1(llava, monkeypatch):
    from vlmdx.models.llava import Adapter

    monkeypatch.setattr(Adapter, "letter_ids", lambda self, prompt, n: list(range(40, 40 + n)))
    result = doctor(llava, "--device", "cpu")
    assert result.exit_code == 1
    found = rows(result)
    assert [check for check, (passed, _) in found.items() if passed == "failed"] == ["letters"]
    assert "joint encoding gives" in found["letters"][1]
    assert "1 of 1 models fail" in result.stderr


def test_an_unknown_family_is_tried_with_the_generic_adapter(tmp_path):
    result = doctor(tiny_unknown.build("vipllava", tmp_path / "fits"), "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "if all checks pass, use it with `family: generic`" in rows(result)["open"][1]
    result = doctor(tiny_unknown.build("mllama", tmp_path / "fits not"), "--device", "cpu")
    assert result.exit_code == 1 and rows(result)["text side"][0] == "failed"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "lacks tokenizer.json or tokenizer.model or vocab.json"),
        (lambda folder: (folder / "chat_template.jinja").unlink(), "no chat template"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"0123456789" * 9), "cut short or no safetensors"),
    ],
)
def test_a_model_that_cannot_be_opened_is_no_traceback(tmp_path, change, said):
    folder = tiny.build("llava", tmp_path / "m")
    change(folder)
    result = doctor(folder, "--device", "cpu")
    assert result.exit_code == 1 and said in result.stdout and "Traceback" not in result.output


def test_all_models_of_a_config_in_its_own_settings(tmp_path, monkeypatch):
    models = {
        "llava-demo": {"source": "resources/models/llava-demo", "dtype": "bfloat16"},
        "none": {"source": "org/none"},
    }
    monkeypatch.chdir(project(tmp_path / "p", models=models, voters=["llava-demo"]))
    result = doctor("--all", "--device", "cpu")
    assert result.exit_code == 1
    assert "torch.bfloat16, cpu, sdpa" in result.stdout
    assert "1 of 2 models fail: none" in result.stderr and "run `vlmdx fetch`" in result.stdout


@pytest.mark.parametrize("words", [[], ["somewhere", "--all"]])
def test_either_a_model_or_all(words):
    result = doctor(*words)
    assert result.exit_code == 1 and "give either a model" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [("sead: 1", "unknown key, did you mean 'seed'?"), ("- 1", "no table of keys"), ("a: [", "expected")],
)
def test_a_mistake_in_the_config_is_told_without_a_traceback(tmp_path, monkeypatch, text, said):
    folder = project(tmp_path / "p")
    (folder / "mine.yaml").write_text(text)
    monkeypatch.chdir(folder)
    result = doctor("--all", "--configfile", "mine.yaml")
    assert result.exit_code == 1 and said in result.stderr and "Traceback" not in result.output
