"""Download a model into the Hugging Face cache: its own step, on a machine with internet, before any job runs."""

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from vlmdx.models.files import LEFT_OUT, check_files, read_config, wanted


class FetchError(RuntimeError):
    """A model could not be fetched; the message says why and what to do, and holds no token."""


@dataclass(frozen=True)
class Fetched:
    """A model on this machine.

    Attributes:
        revision: the commit, 40 hexadecimal digits.
        model_type: of its config.json.
    """

    source: str
    revision: str
    model_type: str
    folder: Path


def resolve(source: str, revision: str | None = None) -> str:
    """Commit that ``revision`` (default: the main branch) of a hub id names today.

    Raises:
        FetchError: the hub cannot be reached, or does not give this model.
    """
    try:
        commit = HfApi().model_info(source, revision=revision).sha
    except (HTTPError, OSError, ValueError) as error:
        raise _told(source, revision, error) from error
    if commit is None:
        raise FetchError(f"{source}: the hub names no commit for revision {revision!r}")
    return commit


def fetch(source: str, revision: str, trust_remote_code: bool = False, processor: bool = True) -> Fetched:
    """Download what :func:`vlmdx.models.load.load` opens, and see that it is whole.

    Args:
        source: hub id.
        revision: commit; of a name that can move the cache remembers what it meant today.
        trust_remote_code: also download the model's own Python files.
        processor: the model comes with its processor and tokenizer.

    Raises:
        FetchError: the hub cannot be reached, or does not give this model.
        FileNotFoundError: the repository holds no safetensors weights.
    """
    try:
        allowed, left_out = wanted(trust_remote_code), list(LEFT_OUT)
        folder = Path(snapshot_download(source, revision=revision, allow_patterns=allowed, ignore_patterns=left_out))
    except (HTTPError, OSError, ValueError) as error:
        raise _told(source, revision, error) from error
    check_files(folder, source, processor)
    return Fetched(source, folder.name, read_config(folder)["model_type"], folder)


def _told(source: str, revision: str | None, error: Exception) -> FetchError:
    if isinstance(error, GatedRepoError):
        return FetchError(f"{source}: gated; accept its licence on the hub, then log in with `hf auth login`")
    if isinstance(error, RepositoryNotFoundError):
        return FetchError(f"{source}: no such model on the hub, or a private one (`hf auth login`)")
    if isinstance(error, RevisionNotFoundError):
        return FetchError(f"{source}: no revision {revision!r}")
    if isinstance(error, OfflineModeIsEnabled):
        return FetchError(f"{source}: the hub is switched off here; unset HF_HUB_OFFLINE to fetch")
    if isinstance(error, HfHubHTTPError):
        return FetchError(f"{source}: the hub answers with status {error.response.status_code}; try again later")
    if isinstance(error, LocalEntryNotFoundError | HTTPError | ConnectionError | TimeoutError):
        return FetchError(f"{source}: the hub cannot be reached; run this on a machine with internet access")
    return FetchError(f"{source}: {type(error).__name__}: {error}")
