"""The whole config, and the checks that need more than one block."""

from pydantic import Field, model_validator

from vlmdx.config.base import Block, Slug
from vlmdx.config.datasets import Dataset, Images, Pool
from vlmdx.config.discovery import Discovery
from vlmdx.config.mechanism import Mechanism
from vlmdx.config.models import Demo, Model, Scoring
from vlmdx.config.reliability import Corruptions, Reliability, Selection

RESERVED = ("pool", "bench")


class Config(Block):
    """Everything a run is told. A file stands alone: what it leaves out takes the default, lists replace."""

    seed: int = Field(0, ge=0, lt=2**32, description="seed of every random choice in the workflow")
    datasets: dict[Slug, Dataset] = Field(min_length=1, description="data sets by slug")
    pool: Pool = Field(description=Pool.__doc__)
    images: Images = Field(Images(), description=Images.__doc__)
    corruptions: Corruptions = Field(Corruptions(), description=Corruptions.__doc__)
    models: dict[Slug, Model] = Field(min_length=1, description="models to evaluate, by slug")
    voters: list[Slug] = Field(
        min_length=1, description="models whose answers select the bench; a change here is a change of the selection"
    )
    scoring: Scoring = Field(Scoring(), description=Scoring.__doc__)
    selection: Selection = Field(Selection(), description=Selection.__doc__)
    reliability: Reliability = Field(Reliability(), description=Reliability.__doc__)
    mechanism: Mechanism = Field(Mechanism(), description=Mechanism.__doc__)
    discovery: Discovery = Field(Discovery(), description=Discovery.__doc__)
    demo: Demo = Field(Demo(), description=Demo.__doc__)

    @model_validator(mode="after")
    def _names_agree(self) -> "Config":
        for slug in self.datasets:
            if slug in RESERVED:
                raise ValueError(f"data set {slug!r}: this name is the workflow's own, choose another")
        for slug in self.pool.quotas:
            if slug not in self.datasets:
                raise ValueError(f"pool.quotas: no data set {slug!r}; there are {sorted(self.datasets)}")
        for slug in self.voters:
            if slug not in self.models:
                raise ValueError(f"voters: no model {slug!r}; there are {sorted(self.models)}")
        if len(set(self.voters)) < len(self.voters):
            raise ValueError(f"voters: {self.voters} repeats an entry")
        return self

    @model_validator(mode="after")
    def _mechanism_agrees(self) -> "Config":
        chosen = self.mechanism
        if chosen.dataset is not None and chosen.dataset not in self.datasets:
            raise ValueError(f"mechanism.dataset: no data set {chosen.dataset!r}; there are {sorted(self.datasets)}")
        if chosen.vsr is not None:
            if chosen.vsr not in self.datasets:
                raise ValueError(f"mechanism.vsr: no data set {chosen.vsr!r}; there are {sorted(self.datasets)}")
            entry = self.datasets[chosen.vsr]
            if entry.importer != "vsr" or not (entry.instances_file and entry.categories):
                raise ValueError(
                    f"mechanism.vsr: data set {chosen.vsr!r} must have importer vsr, `instances_file` for the boxes "
                    "and `categories` (resources/vsr_categories.txt)"
                )
        for slug in chosen.models or ():
            if slug not in self.models:
                raise ValueError(f"mechanism.models: no model {slug!r}; there are {sorted(self.models)}")
            if self.models[slug].readout != "letter":
                raise ValueError(f"mechanism.models: {slug!r} is read out in words; effects are those on a letter")
        return self

    @model_validator(mode="after")
    def _discovery_agrees(self) -> "Config":
        for slug, run in self.discovery.runs.items():
            where = f"discovery.runs.{slug}"
            if run.dataset not in self.datasets:
                raise ValueError(f"{where}.dataset: no data set {run.dataset!r}; there are {sorted(self.datasets)}")
            if run.dataset.startswith("discovered-"):
                raise ValueError(
                    f"{where}.dataset: {run.dataset!r} holds discovered questions, not images to ask about"
                )
            if run.answerer not in self.models:
                raise ValueError(f"{where}.answerer: no model {run.answerer!r}; there are {sorted(self.models)}")
            kinds = [verifier.kind for verifier in (run.verifier, run.second_verifier) if verifier]
            if "oracle" in kinds and self.datasets[run.dataset].importer != "gqa":
                raise ValueError(
                    f"{where}: the oracle needs scene graphs; data set {run.dataset!r} is not of importer gqa"
                )
        return self


DEMO = {
    "seed": 0,
    "datasets": {
        "shapes": {
            "importer": "gqa",
            "questions": "results/demo/scenes/questions.json",
            "scene_graphs": "results/demo/scenes/sceneGraphs.json",
            "images": "results/demo/scenes/images",
        },
        "shapes-mechanism": {
            "importer": "gqa",
            "questions": "results/demo/mechanism/questions.json",
            "scene_graphs": "results/demo/mechanism/sceneGraphs.json",
            "images": "results/demo/mechanism/images",
        },
        "discovered-qwen": {
            "importer": "jsonl",
            "file": "results/discovery/qwen/dataset/questions.jsonl",
            "answer_form": "text",
        },
        "discovered-llava": {
            "importer": "jsonl",
            "file": "results/discovery/llava/dataset/questions.jsonl",
            "answer_form": "text",
        },
    },
    "pool": {"quotas": {"shapes": None}},
    "corruptions": {"reference_side": 140},
    "models": {
        "qwen-demo": {"source": "resources/models/qwen-demo", "batch_tokens": 1024},
        "llava-demo": {"source": "resources/models/llava-demo", "batch_tokens": 1024},
    },
    "voters": ["qwen-demo", "llava-demo"],
    "selection": {"target": 100, "image_encoder": "resources/models/llava-demo"},
    "mechanism": {"dataset": "shapes-mechanism", "n": 60, "balance": True},
    "discovery": {
        "runs": {
            "qwen": {"dataset": "shapes-mechanism", "answerer": "qwen-demo", "verifier": {"kind": "oracle"}},
            "llava": {"dataset": "shapes-mechanism", "answerer": "llava-demo", "verifier": {"kind": "oracle"}},
        },
        "train_images": 100,
        "held_out_images": 50,
        "questions_per_image": 3,  # two to four shapes hold few different questions
        "questioner": {"temperature": 0.7},  # at 1, what was learned repeats itself more often (docs/log.md)
        "prompts": {"questioner": "resources/prompts/questioner-demo.txt", "conme": "resources/prompts/conme-demo.txt"},
        # Few images and a small world: what was asked of other images would make every question look like a repeat.
        "reward": {"buffer": 8},
        "training": {"learning_rate": 2e-4, "steps": 120, "batch_size": 8, "accumulation": 8},
        "finetuning": {"learning_rate": 3e-4},
    },
}
"""What the embedded default sets; the shipped config/config.yaml is this plus every default, with its descriptions."""
