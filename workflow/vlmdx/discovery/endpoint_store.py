"""What an endpoint verifier keeps on disk: replies, so that nothing is paid twice, and what was paid."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vlmdx.discovery.prompted import Unreadable
from vlmdx.schema.io import atomic

COUNTED = (
    "requests",
    "retries",
    "replies",
    "cached",
    "undecided",
    "prompt_tokens",
    "completion_tokens",
    "replies_without_usage",
)


class Replies:
    """Readable replies by the content of their request; any number of jobs may share a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(folder)

    @staticmethod
    def key(*request: str | int) -> str:
        """Name of a request: SHA-256 over its parts."""
        return hashlib.sha256(json.dumps(request).encode()).hexdigest()

    def get(self, key: str, read: Callable[[str], Any]) -> str | None:
        """The reply that is kept, if ``read`` (see :class:`vlmdx.discovery.prompted.Ask`) can read it.

        Raises:
            ValueError: a file that is no reply of this cache.
        """
        path = self._file(key)
        try:
            text = json.loads(path.read_text())["reply"]
            read(text)
        except (FileNotFoundError, Unreadable):
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: no reply of this cache ({error}); remove it and run again") from error
        return text

    def put(self, key: str, model: str, text: str, tokens: dict[str, int]) -> None:
        """Keep a reply; the file appears whole."""
        with atomic(self._file(key)) as temporary:
            temporary.write_text(json.dumps({"model": model, "reply": text, **tokens}))

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


class Usage:
    """Counts of one job, in a JSON file that is up to date after every request; a resumed job counts on.

    Args:
        path: of the file.
        model: whose use is counted.
        prices: of prompt and completion tokens, per million.
    """

    def __init__(self, path: Path, model: str, prices: tuple[float | None, float | None]) -> None:
        self._path, self._model, self._prices = Path(path), model, prices
        self._lock = threading.Lock()
        before = json.loads(self._path.read_text()) if self._path.exists() else {}
        self._counts: Counter[str] = Counter({name: before.get(name, 0) for name in COUNTED})

    def add(self, **more: int) -> None:
        """Add to the counts named in ``COUNTED``."""
        with self._lock:
            self._counts.update(more)
            with atomic(self._path) as temporary:
                temporary.write_text(json.dumps(self.summary(), indent=1) + "\n")

    def summary(self) -> dict[str, Any]:
        """Model, counts, and ``cost`` in the currency of the prices; None where no price is set."""
        prompt, completion = self._prices
        cost = None
        if prompt is not None and completion is not None:
            cost = (prompt * self._counts["prompt_tokens"] + completion * self._counts["completion_tokens"]) / 1e6
        return {"model": self._model, **{name: self._counts[name] for name in COUNTED}, "cost": cost}
