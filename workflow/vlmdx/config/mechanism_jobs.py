"""The jobs of the mechanism target, beside those of the main one; see :mod:`vlmdx.config.jobs`."""

import functools
from pathlib import Path
from typing import Any

from vlmdx.config.job import INFERENCE, PLOTTING, TABLES, Job, adapter_modules
from vlmdx.config.jobs import Jobs

STATISTICS = (*TABLES, "pandas", "scipy")
DISSECTION = (*INFERENCE, "pandas", "safetensors")
PROBES = (*INFERENCE, "scikit-learn", "scipy")
BRIDGE = "transformer-lens"  # installed by those who choose the engine
MODEL_KEYS = {"source", "revision", "family", "dtype", "attention", "max_pixels", "trust_remote_code"}


class MechanismJobs(Jobs):
    """All jobs of one config, those of the mechanism included.

    Methods that take a data set are asked only for `mechanism.dataset`, and those of VSR for `mechanism.vsr`.
    """

    @functools.cache  # noqa: B019 -- one Jobs lives as long as the process
    def sample_operations(self, dataset: str, operation: str) -> Job:
        """Rule sample_operations."""
        chosen = self.config.mechanism
        n = chosen.candidates if chosen.balance else chosen.n
        settings = {"operation": operation, "n": n, "seed": self.config.seed}
        return self._job("sample_operations", settings, ("pyarrow",), [self.import_dataset(dataset)])

    @functools.cache  # noqa: B019
    def effects(self, model: str, dataset: str, operation: str) -> Job:
        """Rule effects; the images are the data set's own, so nothing of the corruptions is upstream."""
        chosen = self.config.mechanism
        balance = chosen.n if chosen.balance else None  # how many to draw once the model was asked; None: all
        scoring = self.config.scoring
        prompt = scoring.letter_prompt if chosen.readout == "letter" else scoring.text_prompt
        own = {
            **chosen.model_dump(include={"readout", "head_layers"}),
            "template": Path(self.here(prompt)).read_text(encoding="utf-8"),
            "balance": balance,
        }
        return self._intervening("effects", model, self.sample_operations(dataset, operation), **own)

    @functools.cache  # noqa: B019
    def join_effects(self, model: str, dataset: str) -> Job:
        """Rule join_effects."""
        operations = self.config.mechanism.operations
        before = [self.effects(model, dataset, operation) for operation in operations]
        return self._job("join_effects", {"operations": operations}, ("pyarrow", "safetensors"), before)

    @functools.cache  # noqa: B019
    def pathways(self, model: str, dataset: str) -> Job:
        """Rule pathways."""
        chosen = self.config.mechanism.model_dump(include={"resamples", "confidence", "thresholds"})
        settings = {**chosen, "seed": self.config.seed}
        return self._job("pathways", settings, STATISTICS, [self.join_effects(model, dataset)])

    @functools.cache  # noqa: B019
    def word_pairs(self, dataset: str, operation: str) -> Job:
        """Rule word_pairs."""
        before = [self.sample_operations(dataset, operation)]
        return self._job("word_pairs", {"seed": self.config.seed}, ("pyarrow",), before)

    @functools.cache  # noqa: B019
    def probe(self, model: str, dataset: str, operation: str) -> Job:
        """Rule probe."""
        settings = {
            **self._dissected(model),
            "batch_tokens": self._batch_tokens(model),
            "folds": self.config.mechanism.probing.folds,
        }
        del settings["rule"]  # a probe reads the answer position: no box has a say in it
        return self._model_job("probe", model, settings, PROBES, [self.word_pairs(dataset, operation)])

    @functools.cache  # noqa: B019
    def probing(self, model: str, dataset: str) -> Job:
        """Rule probing."""
        chosen = self.config.mechanism
        settings = {
            "operations": chosen.operations,
            "valid": chosen.probing.valid,
            **chosen.model_dump(include={"resamples", "confidence"}),
            "seed": self.config.seed,
        }
        before = [self.probe(model, dataset, operation) for operation in chosen.operations]
        return self._job("probing", settings, STATISTICS, before)

    @functools.cached_property
    def mechanism_tables(self) -> Job:
        """Rule mechanism_tables."""
        models, dataset = self.dissected(), str(self.config.mechanism.dataset)
        before = [job(model, dataset) for model in models for job in (self.pathways, self.probing)]
        return self._job("mechanism_tables", {"models": models}, ("pandas",), before)

    @functools.cached_property
    def mechanism_accounting(self) -> Job:
        """Rule mechanism_accounting; what is not configured is not counted."""
        chosen, models = self.config.mechanism, self.dissected()
        settings = {"models": models, "dataset": chosen.dataset, "vsr": chosen.vsr, "operations": chosen.operations}
        before = [self.mechanism_tables] if chosen.dataset else []
        before += [self.vsr_table] if chosen.vsr else []
        return self._job("mechanism_accounting", settings, TABLES, before)

    @functools.cache  # noqa: B019
    def vsr_effects(self, model: str, dataset: str) -> Job:
        """Rule vsr_effects."""
        return self._intervening("vsr_effects", model, self.import_dataset(dataset))

    @functools.cache  # noqa: B019
    def vsr_pathways(self, model: str, dataset: str) -> Job:
        """Rule vsr_pathways."""
        chosen = self.config.mechanism.model_dump(include={"resamples", "confidence"})
        settings = {**chosen, "seed": self.config.seed}
        return self._job("vsr_pathways", settings, STATISTICS, [self.vsr_effects(model, dataset)])

    @functools.cached_property
    def vsr_table(self) -> Job:
        """Rule vsr_table."""
        models, dataset = self.dissected(), str(self.config.mechanism.vsr)
        before = [self.vsr_pathways(model, dataset) for model in models]
        return self._job("vsr_table", {"models": models}, ("pandas",), before)

    @functools.cache  # noqa: B019
    def plot_vsr(self, model: str, dataset: str) -> Job:
        """Rule plot_vsr."""
        settings = self.config.mechanism.thresholds.model_dump(include={"alpha", "test"})
        return self._job("plot_vsr", settings, PLOTTING, [self.vsr_pathways(model, dataset)])

    @functools.cache  # noqa: B019
    def plot_vsr_overlays(self, model: str, dataset: str) -> Job:
        """Rule plot_vsr_overlays."""
        return self._overlaid("plot_vsr_overlays", model, self.vsr_effects(model, dataset))

    @functools.cache  # noqa: B019
    def plot_probing(self, model: str, dataset: str) -> Job:
        """Rule plot_probing."""
        return self._job("plot_probing", {}, PLOTTING, [self.probing(model, dataset)])

    @functools.cache  # noqa: B019
    def plot_layer_curves(self, model: str, dataset: str) -> Job:
        """Rule plot_layer_curves."""
        settings = {"replicates": self.config.mechanism.replicates, "seed": self.config.seed}
        return self._job("plot_layer_curves", settings, PLOTTING, [self.join_effects(model, dataset)])

    @functools.cache  # noqa: B019
    def plot_effect_heatmaps(self, model: str, dataset: str) -> Job:
        """Rule plot_effect_heatmaps."""
        return self._job("plot_effect_heatmaps", {}, PLOTTING, [self.join_effects(model, dataset)])

    @functools.cache  # noqa: B019
    def plot_effect_forest(self, model: str, dataset: str) -> Job:
        """Rule plot_effect_forest."""
        settings = self.config.mechanism.thresholds.model_dump(include={"alpha", "test"})
        return self._job("plot_effect_forest", settings, PLOTTING, [self.pathways(model, dataset)])

    @functools.cache  # noqa: B019
    def plot_overlays(self, model: str, dataset: str) -> Job:
        """Rule plot_overlays."""
        return self._overlaid("plot_overlays", model, self.pathways(model, dataset))

    def dissected(self) -> list[str]:
        """Models to dissect: an effect is one on the probability of the gold letter."""
        every = [slug for slug, entry in self.config.models.items() if entry.readout == "letter"]
        return every if self.config.mechanism.models is None else list(self.config.mechanism.models)

    def _intervening(self, rule: str, model: str, before: Job, **own: Any) -> Job:
        """A job that intervenes in ``model``; ``own`` are settings of this rule alone."""
        chosen = self.config.mechanism
        settings = {
            **self._dissected(model),
            **chosen.model_dump(include={"engine", "window", "controls"}),
            "batch_tokens": self._batch_tokens(model),
            **own,
        }
        libraries = (*DISSECTION, BRIDGE) if chosen.engine == "bridge" else DISSECTION
        return self._model_job(rule, model, settings, libraries, [before])

    def _overlaid(self, rule: str, model: str, before: Job) -> Job:
        """A job that draws on images; the model tells which image tokens a box covers."""
        settings = {**self._dissected(model), "per_operation": self.config.mechanism.per_operation}
        return self._model_job(rule, model, settings, (*DISSECTION, *PLOTTING), [before])

    def _batch_tokens(self, model: str) -> int:
        return self.config.mechanism.batch_tokens or self.config.models[model].batch_tokens

    def _dissected(self, model: str) -> dict[str, Any]:
        """What a job needs to ask ``model`` and to find the tokens of a box."""
        entry, scoring = self.config.models[model], self.config.scoring
        return {
            **entry.model_dump(include=MODEL_KEYS),
            "source": self.here(entry.source),
            "device": scoring.device,
            "template": Path(self.here(scoring.letter_prompt)).read_text(encoding="utf-8"),
            "rule": self.config.mechanism.rule,
            "seed": self.config.seed,
        }

    def _model_job(self, rule: str, model: str, settings: dict[str, Any], libraries: tuple, before: list[Job]) -> Job:
        """A job that loads ``model``."""
        entry = self.config.models[model]
        modules = adapter_modules(entry, Path(self.here(entry.source)))
        return self._job(rule, settings, libraries, before, content=self._weights(entry), modules=modules)
