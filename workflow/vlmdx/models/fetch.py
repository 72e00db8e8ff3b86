"""Download a model into the Hugging Face cache: its own step, on a machine with internet, before any job runs."""

from pathlib import Path

from huggingface_hub import snapshot_download

# Configuration, tokenizer, chat template and safetensors weights; no pickles, no Python.
FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")


def fetch(source: str, revision: str | None = None, trust_remote_code: bool = False) -> Path:
    """Download what :func:`vlmdx.models.load.load` opens; a local folder is left alone.

    Args:
        source: hub id or local folder.
        revision: commit, tag or branch.
        trust_remote_code: also download the model's own Python files.

    Returns:
        The folder with the files.
    """
    if Path(source).is_dir():
        return Path(source)
    patterns = [*FILES, "*.py"] if trust_remote_code else list(FILES)
    return Path(snapshot_download(source, revision=revision, allow_patterns=patterns))
