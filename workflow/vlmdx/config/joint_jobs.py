"""The jobs in which the three diagnoses meet: discovered questions transferred, corrupted and dissected."""

import functools
from collections.abc import Mapping

from vlmdx.config import paths
from vlmdx.config.discovery import ModelVerifier
from vlmdx.config.discovery_jobs import METRICS, DiscoveryJobs
from vlmdx.config.job import PLOTTING, TABLES, Job

PREFIX = "discovered-"  # data set of the questions that a run discovered
EXPORTED = "dataset/questions.jsonl"


class JointJobs(DiscoveryJobs):
    """All jobs of one config."""

    @functools.cache  # noqa: B019 -- one Jobs lives as long as the process
    def export_discovered(self, run: str) -> Job:
        """Rule export_discovered."""
        before = [self.join_rollouts(run)]
        settings = {"seed": self.config.seed, "dataset": self._run(run).dataset}
        return self._job("export_discovered", settings, ("num2words", "numpy"), before)

    def makers(self, sources: Mapping[str, str]) -> list[Job]:
        """Also the runs that discovered a data set's questions."""
        runs = [run for run in self.config.discovery.runs if paths.discovery(run, EXPORTED) in sources.values()]
        return [*super().makers(sources), *map(self.export_discovered, runs)]

    @functools.cache  # noqa: B019
    def transfer(self, run: str, model: str) -> Job:
        """Rule transfer."""
        chosen = self._run(run)
        settings = {
            "model": self.answerer(model),
            "verifier": self.verifier(chosen.verifier),
            "prompts": {n: self.text(p) for n, p in self.config.discovery.prompts.model_dump().items()},
            "device": self.config.scoring.device,
        }
        opened = [self.config.models[model]]
        opened += [chosen.verifier] if isinstance(chosen.verifier, ModelVerifier) else []
        return self._opening("transfer", settings, [self.join_rollouts(run)], opened, run)

    @functools.cached_property
    def transfer_table(self) -> Job:
        """Rule transfer_table."""
        settings = self._intervals()
        before = [self.transfer(run, model) for run in self.config.discovery.runs for model in self.config.models]
        return self._job("transfer_table", settings, METRICS, before)

    @functools.cache  # noqa: B019
    def discovered_reliability(self, model: str, dataset: str) -> Job:
        """Rule discovered_reliability."""
        settings = {
            **self.config.reliability.model_dump(),
            "seed": self.config.seed,
            "families": self.families(),
            "severities": self.config.corruptions.severities,
        }
        before = [self.score(model, dataset, family) for family in self.shards()]
        return self._job("discovered_reliability", settings, TABLES, before, files=self._sql())

    @functools.cache  # noqa: B019
    def discovered_effects(self, model: str, dataset: str) -> Job:
        """Rule discovered_effects."""
        return self._intervening("discovered_effects", model, self.import_dataset(dataset))

    @functools.cached_property
    def joint_table(self) -> Job:
        """Rule joint_table."""
        runs, models = list(self.config.discovery.runs), self.joined()
        settings = {**self._intervals(), "runs": runs, "models": models}
        before = [self.transfer_table]
        for run in runs:
            before += [self.export_discovered(run), self.taxonomy(run)]
            for model in models:
                dataset = f"{PREFIX}{run}"
                before += [self.discovered_reliability(model, dataset), self.discovered_effects(model, dataset)]
        return self._job("joint_table", settings, METRICS, before)

    @functools.cached_property
    def plot_joint(self) -> Job:
        """Rule plot_joint."""
        return self._job("plot_joint", {}, PLOTTING, [self.joint_table])

    def joined(self) -> list[str]:
        """Models of the joint table: system C intervenes on letters."""
        return [slug for slug, entry in self.config.models.items() if entry.readout == "letter"]
