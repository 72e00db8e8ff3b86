"""A model's files: all there or named, no pickles, no code that nobody trusted, no network."""

import json
import shutil
import subprocess
import sys
from fnmatch import fnmatch

import pytest
import torch
from vlmdx.models.files import LEFT_OUT, check_files, read_config, snapshot, wanted
from vlmdx.models.load import load

EVIL = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"


@pytest.fixture
def model(llava_folder, tmp_path):
    """A copy to be spoilt."""
    return shutil.copytree(llava_folder, tmp_path / "m")


def test_s11_missing_snapshot_says_what_to_run():
    with pytest.raises(FileNotFoundError, match=r"'nobody/No-Such-Model-1\.5' at revision abc .*run `vlmdx fetch`"):
        snapshot("nobody/No-Such-Model-1.5", "abc")
    with pytest.raises(FileNotFoundError, match="neither a folder nor a hub id"):
        snapshot("no/such/folder")


def test_s11_missing_shard_is_named(model):
    weights = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (model / "model.safetensors").rename(model / weights["a"])
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    with pytest.raises(FileNotFoundError, match=r"lacks model-00002-of-00002\.safetensors; run `vlmdx fetch` again"):
        load(str(model))


@pytest.mark.parametrize("kept", [0, 5, 0.5, -1])
def test_s11_weights_cut_short_are_named_before_they_are_read(model, kept):
    weights = model / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[: int(len(content) * kept) if isinstance(kept, float) else kept])
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors is cut short or no safetensors"):
        check_files(model, "here")


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("config.json", r"lacks config\.json"),
        ("processor_config.json", r"lacks processor_config\.json or preprocessor_config\.json"),
        ("tokenizer.json", r"lacks tokenizer\.json or tokenizer\.model or vocab\.json"),
    ],
)
def test_s11_each_file_that_a_model_needs_is_asked_for_by_name(model, gone, said):
    (model / gone).unlink()
    with pytest.raises(FileNotFoundError, match=said):
        load(str(model))
    if gone != "config.json":
        check_files(model, "an image encoder", processor=False)


def test_config_without_a_model_type_is_told(model):
    for text in ("[]", "{}", "{"):
        (model / "config.json").write_text(text)
        with pytest.raises(ValueError, match=r"config\.json"):
            read_config(model)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pth", "weights.pkl", "last.ckpt"])
def test_pickled_weights_are_refused_by_name(model, name):
    (model / "model.safetensors").unlink()
    torch.save({}, model / name)
    with pytest.raises(FileNotFoundError, match=rf"only pickled weights \({name}\), which are refused"):
        load(str(model))


def test_a_pickle_beside_the_weights_is_not_opened(model):
    (model / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    assert load(str(model), device="cpu").describe()["family"] == "llava"


def test_what_is_downloaded_holds_no_pickles_no_code_and_no_second_weights():
    names = ["config.json", "model-00001-of-00002.safetensors", "chat_template.jinja", "merges.txt", "tokenizer.model"]
    names += ["pytorch_model.bin", "model.pth", "modeling_x.py", "training_args.bin", "consolidated.safetensors"]
    names += ["original/params.json"]
    for trusted, count in ((False, 5), (True, 6)):
        taken = [n for n in names if any(fnmatch(n, p) for p in wanted(trusted))]
        taken = [n for n in taken if not any(fnmatch(n, p) for p in LEFT_OUT)]
        assert len(taken) == count and ("modeling_x.py" in taken) == trusted


def test_code_of_a_known_family_is_left_alone(model):
    """A model that brings classes of its own for a family that transformers knows is opened without them."""
    (model / "evil.py").write_text(EVIL)
    for name in ("config.json", "processor_config.json", "tokenizer_config.json"):
        content = json.loads((model / name).read_text())
        content["auto_map"] = {
            "AutoConfig": "evil.Config",
            "AutoModelForImageTextToText": "evil.Model",
            "AutoProcessor": "evil.Processor",
            "AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"],
        }
        (model / name).write_text(json.dumps(content))
    assert load(str(model), device="cpu").describe()["processor"] == "LlavaProcessor"
    assert not (model / "ran").exists()


def test_code_of_an_unknown_family_is_refused_with_the_key_to_set(model):
    (model / "evil.py").write_text(EVIL)
    content = json.loads((model / "config.json").read_text())
    content |= {"model_type": "newer", "auto_map": {"AutoConfig": "evil.Config"}}
    (model / "config.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"brings Python code of its own .*`trust_remote_code: true`"):
        load(str(model), device="cpu")
    for family in ("generic", "llava"):
        with pytest.raises(ValueError, match="code"):
            load(str(model), device="cpu", family=family)
    assert not (model / "ran").exists()


def test_s11_a_folder_opens_where_there_is_no_network_at_all(llava_folder):
    isolated = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*isolated, "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let a process leave the network (unshare --net)")
    opened = "import sys; from vlmdx.models.load import load; print(load(sys.argv[1]).describe()['processor'])"
    done = subprocess.run([*isolated, sys.executable, "-c", opened, str(llava_folder)], text=True, capture_output=True)
    assert done.stdout.strip() == "LlavaProcessor", done.stderr
