"""The jobs of the mechanism target, beside those of the main one; see :mod:`vlmdx.config.jobs`."""

import functools
from pathlib import Path
from typing import Any

from vlmdx.config.jobs import INFERENCE, PLOTTING, TABLES, Job, Jobs, _adapter_modules

STATISTICS = (*TABLES, "pandas", "scipy")
DISSECTION = (*INFERENCE, "pandas", "safetensors")
BRIDGE = "transformer-lens"  # installed by those who choose the engine
MODEL_KEYS = {"source", "revision", "family", "dtype", "attention", "max_pixels", "trust_remote_code"}


class MechanismJobs(Jobs):
    """All jobs of one config, those of the mechanism included.

    Methods that take a data set are asked only for `mechanism.dataset`.
    """

    @functools.cache  # noqa: B019 -- one Jobs lives as long as the process
    def sample_operations(self, dataset: str, operation: str) -> Job:
        """Rule sample_operations."""
        settings = {"operation": operation, "n": self.config.mechanism.n, "seed": self.config.seed}
        return self._job("sample_operations", settings, ("pyarrow",), [self.import_dataset(dataset)])

    @functools.cache  # noqa: B019
    def effects(self, model: str, dataset: str, operation: str) -> Job:
        """Rule effects; the images are the data set's own, so nothing of the corruptions is upstream."""
        chosen = self.config.mechanism
        settings = {
            **self._dissected(model),
            **chosen.model_dump(include={"engine", "window", "controls"}),
            "batch_tokens": chosen.batch_tokens or self.config.models[model].batch_tokens,
        }
        libraries = (*DISSECTION, BRIDGE) if chosen.engine == "bridge" else DISSECTION
        return self._model_job("effects", model, settings, libraries, [self.sample_operations(dataset, operation)])

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

    @functools.cached_property
    def failure_modes(self) -> Job:
        """Rule failure_modes."""
        models, dataset = self.dissected(), str(self.config.mechanism.dataset)
        before = [self.pathways(model, dataset) for model in models]
        return self._job("failure_modes", {"models": models}, ("pandas",), before)

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
        """Rule plot_overlays; the model tells which image tokens a box covers."""
        settings = {**self._dissected(model), "per_operation": self.config.mechanism.per_operation}
        libraries = (*DISSECTION, *PLOTTING)
        return self._model_job("plot_overlays", model, settings, libraries, [self.pathways(model, dataset)])

    def dissected(self) -> list[str]:
        """Models to dissect: an effect is one on the probability of the gold letter."""
        every = [slug for slug, entry in self.config.models.items() if entry.readout == "letter"]
        return every if self.config.mechanism.models is None else list(self.config.mechanism.models)

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
        modules = _adapter_modules(entry, Path(self.here(entry.source)))
        return self._job(rule, settings, libraries, before, content=self._weights(entry), modules=modules)
