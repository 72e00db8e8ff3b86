"""Verifier of kind ``endpoint``: any OpenAI-compatible chat server, prompted."""

import base64
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openai
from PIL import Image
from tqdm import tqdm

from vlmdx.discovery.endpoint_store import Replies, Usage
from vlmdx.discovery.prompted import PromptedVerifier, Reply, Unreadable, VerifierPrompts
from vlmdx.images.pixels import pixel_sha256, png_bytes

LONGEST_PAUSE = 60.0  # s, whatever back-off or the server's Retry-After say
_REFUSED = (401, 403, 404)  # wrong key, path or model: every further request would fail as well
_PASSING = (408, 409, 429)  # and everything from 500 on

log = logging.getLogger(__name__)


class EndpointError(RuntimeError):
    """The server refuses all requests; the message says what to mend, and never holds the key."""


@dataclass(frozen=True)
class EndpointSettings:
    """One model on one server.

    Attributes:
        base_url: with version, e.g. ``http://localhost:8000/v1``.
        model: as the server calls it.
        api_key_env: environment variable with the key; None for a server that wants none.
        timeout: of one request, s.
        retries: further tries of a request that failed in passing or was answered unreadably.
        backoff: before the first retry, s; doubles with each, up to ``LONGEST_PAUSE``.
        max_tokens: most tokens of a reply.
        workers: requests at a time; of no influence on the verdicts.
        prompt_price, completion_price: per million tokens, in whatever currency; None = not counted.
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    timeout: float = 60.0
    retries: int = 5
    backoff: float = 1.0
    max_tokens: int = 512
    workers: int = 4
    prompt_price: float | None = None
    completion_price: float | None = None


def endpoint_verifier(
    settings: EndpointSettings, prompts: VerifierPrompts, cache: Path, usage: Path
) -> PromptedVerifier:
    """A verifier that asks a chat server.

    Args:
        prompts: texts of the prompt files.
        cache: folder of replies, may be shared by any number of jobs.
        usage: JSON file in which requests, tokens and costs of this job are counted, on top of what it holds.

    Raises:
        ValueError: the environment variable with the key is not set, or holds no key.
    """
    return PromptedVerifier(Endpoint(settings, cache, usage), prompts)


class Endpoint:
    """Asks one chat server, with patience; replies that can be read are kept on disk, so nothing is paid twice."""

    def __init__(
        self, settings: EndpointSettings, cache: Path, usage: Path, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.settings, self._sleep, self._replies = settings, sleep, Replies(cache)
        self.usage = Usage(usage, settings.model, (settings.prompt_price, settings.completion_price))
        self._key = _api_key(settings.api_key_env)
        # The client's own retries are off: ours are counted, and also cover replies that cannot be read.
        self._client = openai.OpenAI(
            base_url=settings.base_url, api_key=self._key or "none", timeout=settings.timeout, max_retries=0
        )

    def __call__(
        self, prompts: Sequence[str], images: Sequence[Image.Image], read: Callable[[str], Any]
    ) -> list[Reply]:
        """One reply per (prompt, image), in order; see :class:`vlmdx.discovery.prompted.Ask`.

        Raises:
            EndpointError: the server refuses key, path or model.
        """
        pixels = [np.asarray(image.convert("RGB")) for image in images]
        settings = self.settings
        keys = [
            Replies.key(settings.model, prompt, pixel_sha256(image), settings.max_tokens)
            for prompt, image in zip(prompts, pixels, strict=True)
        ]
        asked = dict(zip(keys, zip(prompts, pixels, strict=True), strict=True))  # the same thing is asked once
        with ThreadPoolExecutor(settings.workers) as pool:
            replies = pool.map(lambda key: self._reply(key, *asked[key], read), asked)
            found = dict(
                zip(asked, tqdm(replies, "verify", len(asked), unit="reply", disable=len(asked) < 2), strict=True)
            )
        return [found[key] for key in keys]

    def _reply(self, key: str, prompt: str, pixels: np.ndarray, read: Callable[[str], Any]) -> Reply:
        if (kept := self._replies.get(key, read)) is not None:
            self.usage.add(cached=1)
            return Reply(kept)
        failure, wait = Reply(None, "not asked"), 0.0
        for attempt in range(self.settings.retries + 1):
            if attempt:
                self.usage.add(retries=1)
                self._sleep(max(wait, self._pause(key, attempt)))
            wait = 0.0
            self.usage.add(requests=1)
            try:
                text, tokens = self._request(prompt, pixels)
            except openai.APIStatusError as error:
                failure = Reply(None, f"HTTP {error.status_code}: {self._hide(_short(error))}")
                if error.status_code in _REFUSED:
                    # The server's message may quote the key, and so may a chained exception.
                    raise EndpointError(self._refusal(failure.reason)) from None
                if error.status_code < 500 and error.status_code not in _PASSING:
                    break
                wait = _retry_after(error)
            except (openai.OpenAIError, ValueError) as error:  # no connection, time-out, no JSON, no completion
                failure = Reply(None, self._hide(f"{type(error).__name__}: {_short(error)}"))
            else:
                self.usage.add(**tokens)
                try:
                    read(text)
                except Unreadable:
                    failure = Reply(text)
                else:
                    self._replies.put(key, self.settings.model, text, tokens)
                    return Reply(text)
            log.warning("request %s, try %d: %s", key[:8], attempt + 1, failure.reason or "unreadable reply")
        self.usage.add(undecided=1)
        return failure

    def _request(self, prompt: str, pixels: np.ndarray) -> tuple[str, dict[str, int]]:
        """Text of one reply, and the tokens it cost.

        Raises:
            openai.OpenAIError: no reply.
            ValueError: the reply is no chat completion.
        """
        image = "data:image/png;base64," + base64.b64encode(png_bytes(pixels)).decode()
        made: Any = self._client.chat.completions.create(
            model=self.settings.model,
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": image}},
                        {"type": "text", "text": prompt},
                    ],
                }
            ],
            max_tokens=self.settings.max_tokens,
            temperature=0.0,
        )
        try:
            text = made.choices[0].message.content
        except (AttributeError, IndexError, TypeError) as error:
            raise ValueError("the reply is no chat completion") from error
        if not isinstance(text, str):
            raise ValueError("the reply has no text")
        spent = {name: getattr(made.usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
        counted = {name: value for name, value in spent.items() if type(value) is int}
        return self._hide(text), {"replies": 1, **(counted if len(counted) == 2 else {"replies_without_usage": 1})}

    # ---- patience -------------------------------------------------------------------------------------------------

    def _pause(self, key: str, attempt: int) -> float:
        """Seconds before a retry: doubling, and up to half as long again by request, so that not all come at once."""
        spread = 1 + int(key[:4], 16) / 0xFFFF / 2
        return min(self.settings.backoff * 2 ** (attempt - 1) * spread, LONGEST_PAUSE)

    def _refusal(self, reason: str) -> str:
        where = f"{self.settings.base_url} (model {self.settings.model!r})"
        variable = self.settings.api_key_env or "none: set `api_key_env`"
        return (
            f"{where} refuses every request, {reason}; check base_url, model and key (environment variable {variable})"
        )

    def _hide(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _api_key(variable: str | None) -> str:
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ValueError(
            f"environment variable {variable} is not set; it is to hold the key of the verifier's endpoint"
        )
    # A header that is refused would be printed with the key in it.
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(f"environment variable {variable} holds no key: white space or letters that no key has")
    return key


def _retry_after(error: openai.APIStatusError) -> float:
    """Seconds that the server asks to wait; 0 where it does not say, or says it as a date."""
    try:
        return min(max(float(error.response.headers.get("retry-after", 0)), 0.0), LONGEST_PAUSE)
    except ValueError:
        return 0.0


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
