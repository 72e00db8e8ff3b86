"""Open the roles of a run from what a job is told."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from vlmdx.discovery.answerer import ModelAnswerer
from vlmdx.discovery.embedder import Embedder
from vlmdx.discovery.graph import Graph
from vlmdx.discovery.job import Policy
from vlmdx.discovery.oracle import Oracle
from vlmdx.discovery.panel import Panel
from vlmdx.discovery.pictures import Picture, read_pictures
from vlmdx.discovery.prompted import VerifierPrompts
from vlmdx.discovery.reward import RewardSettings
from vlmdx.discovery.roles import Verifier
from vlmdx.discovery.verify_endpoint import EndpointSettings, endpoint_verifier
from vlmdx.discovery.verify_model import model_verifier
from vlmdx.models.load import load
from vlmdx.schema import read_table
from vlmdx.schema.tables import IMAGES

OPEN = ("source", "revision", "family", "dtype", "attention", "max_pixels", "trust_remote_code")


def open_answerer(settings: Mapping[str, Any], device: str) -> ModelAnswerer:
    """The model under test."""
    adapter = load(**{key: settings[key] for key in OPEN}, device=device)
    return ModelAnswerer(adapter, settings["template"], batch_tokens=settings["batch_tokens"])


def open_verifier(
    settings: Mapping[str, Any],
    prompts: Mapping[str, str],
    graphs: Mapping[str, Graph] | None,
    device: str,
    cache: Path,
    job: str,
) -> Verifier:
    """The judge.

    Args:
        settings: its ``kind``, and what that kind needs.
        prompts: texts of the prompt files, by name.
        graphs: scene graphs by image id, for the oracle.
        device: of a model.
        cache: folder for an endpoint's replies, which all jobs of a run share, and for their counts of use.
        job: name of the job; each counts its own use, since several run at a time.

    Raises:
        ValueError: an endpoint's key is not set.
    """
    texts = VerifierPrompts(prompts["validity"], prompts["reference"], prompts["judge"])
    rest = {key: value for key, value in settings.items() if key != "kind"}
    if settings["kind"] == "oracle":
        return Oracle(graphs or {})
    if settings["kind"] == "endpoint":
        return endpoint_verifier(EndpointSettings(**rest), texts, cache / "replies", cache / f"usage-{job}.json")
    adapter = load(**{key: rest[key] for key in OPEN}, device=device)
    return model_verifier(adapter, texts, rest["max_tokens"], rest["batch_tokens"])


def open_panel(settings: Mapping[str, Any], graphs: Mapping[str, Graph] | None, cache: Path, job: str) -> Panel:
    """Everybody who judges a questioner; ``cache`` and ``job`` as for :func:`open_verifier`."""
    return Panel(
        open_answerer(settings["answerer"], settings["device"]),
        open_verifier(settings["verifier"], settings["prompts"], graphs, settings["device"], cache, job),
        Embedder(**settings["encoder"]),
        RewardSettings(**settings["reward"]),
        settings["prompts"]["questioner"],
    )


def policy_of(settings: Mapping[str, Any]) -> Policy:
    """The questioner before training."""
    chosen = settings["questioner"]
    options = {key: chosen[key] for key in ("dtype", "attention", "max_pixels", "trust_remote_code")}
    return Policy(chosen["source"], chosen["revision"], {**options, "device": settings["device"]})


def read_graphs(path: str | None, dataset: str) -> dict[str, Graph] | None:
    """Scene graphs by image id as in images.parquet, i.e. with the data set's name in front; None without a file."""
    if path is None:
        return None
    graphs = json.loads(Path(path).read_text(encoding="utf-8"))
    return {f"{dataset}:{image_id}": graph for image_id, graph in graphs.items()}


def pictures_of(path: str, images: Mapping[str, int], side: Literal["train", "held_out"]) -> list[Picture]:
    """Images of a data set to train on, or the held-out ones.

    Args:
        path: images.parquet.
        images: how many on each side, and the ``seed``; see :func:`split_images`.
        side: which.
    """
    known = read_table(path, IMAGES, columns=["image_id"])["image_id"].to_pylist()
    train, held_out = split_images(known, images["train"], images["held_out"], images["seed"])
    return read_pictures(path, train if side == "train" else held_out)


def split_images(image_ids: Sequence[str], train: int, held_out: int, seed: int) -> tuple[list[str], list[str]]:
    """Images to train on and others to compare methods on, ranked by a hash of seed and id.

    An image keeps its side when images are added, as long as the counts leave room: held-out images come first.

    Raises:
        ValueError: not enough images.
    """
    ranked = sorted(set(image_ids), key=lambda i: hashlib.sha256(f"{seed}\x1fimages\x1f{i}".encode()).hexdigest())
    if len(ranked) < train + held_out:
        raise ValueError(
            f"{len(ranked)} images for {train} to train on and {held_out} held out; "
            "lower discovery.train_images or discovery.held_out_images"
        )
    return sorted(ranked[held_out : held_out + train]), sorted(ranked[:held_out])
