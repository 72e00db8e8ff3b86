"""What every rule's job is told (settings) and what decides whether it runs again (digest).

A digest covers the job's own code, settings and libraries *and the digests of the jobs before it*. So it names the
whole history of an artifact, and a run that was killed half-way through an update is seen for what it is, whatever the
times of the files say. External files count by content, see :func:`vlmdx.provenance.fingerprint`.
"""

import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vlmdx.config import paths
from vlmdx.config.datasets import SOURCES
from vlmdx.config.job import CORRUPTING, EMBEDDING, IMAGING, INFERENCE, PLOTTING, TABLES, Job, adapter_modules
from vlmdx.config.models import Model
from vlmdx.config.pins import pinned
from vlmdx.config.root import Config
from vlmdx.provenance import digest_of, digest_parts, fingerprint
from vlmdx.schema.names import CLEAN, FAMILIES

DEMO_MODELS = ("qwen-demo", "llava-demo")


class Jobs:
    """The jobs of one config.

    Args:
        config: the validated config.
        root: the repository's root, where relative paths of the config start.
    """

    def __init__(self, config: Config, root: Path) -> None:
        self.root, self.asked = root, config
        self.known: dict[str, Job] = {}  # every job that was asked for so far, by digest
        self.config = pinned(config, self.here)  # what was asked for, with the lock file's commits

    def here(self, path: str) -> str:
        """A path of the config, seen from the working directory; `results/…` and absolute paths stay as they are."""
        if path.startswith("results/") or Path(path).is_absolute():
            return path
        if not os.path.exists(self.root / path):  # noqa: PTH110 -- Path.exists raises where a name is too long
            return path
        return os.path.relpath(self.root / path)

    def families(self) -> dict[str, list[str]]:
        """Configured corruptions by family, without families that lost all of theirs, in the order of FAMILIES."""
        names = self.config.corruptions.names
        chosen = {family: [name for name in members if name in names] for family, members in FAMILIES.items()}
        return {family: members for family, members in chosen.items() if members}

    def shards(self) -> list[str]:
        """Shards of one item set: clean, then each configured family."""
        return [CLEAN, *self.families()]

    @functools.cache  # noqa: B019 -- one Jobs lives as long as the process
    def demo_scenes(self, world: str) -> Job:
        """Rule demo_scenes."""
        prefix = "" if world == paths.WORLDS[0] else f"{world}_"
        keys = ("scenes", "questions_per_scene")
        settings = {key: getattr(self.config.demo, f"{prefix}{key}") for key in keys}
        return self._job("demo_scenes", {**settings, "seed": self.config.seed}, IMAGING)

    @functools.cached_property
    def demo_model(self) -> Job:
        """Rule demo_model."""
        return self._job("demo_model", {"seed": self.config.seed}, INFERENCE)

    @functools.cached_property
    def demo_models(self) -> Job:
        """Rule demo_models."""
        return self._job("demo_models", {"models": list(DEMO_MODELS)}, PLOTTING, [self.demo_model])

    @functools.cached_property
    def demo_questioner(self) -> Job:
        """Rule demo_questioner."""
        return self._taught("demo_questioner")

    @functools.cached_property
    def demo_pupil(self) -> Job:
        """Rule demo_pupil."""
        return self._taught("demo_pupil")

    def _taught(self, rule: str) -> Job:
        """A demo model that starts from the shipped qwen-demo."""
        start = self._weights(Model(source="resources/models/qwen-demo"))
        return self._job(rule, {"seed": self.config.seed}, (*INFERENCE, "num2words"), content=start)

    def sources(self, dataset: str) -> dict[str, str]:
        """Files and folders that a data set's importer reads, by key of its entry."""
        entry = self.config.datasets[dataset].model_dump()
        return {key: self.here(value) for key, value in entry.items() if key in SOURCES and value}

    def inputs(self, dataset: str) -> dict[str, str]:
        """The same as Snakemake inputs: without a folder that the workflow makes, whose time is all Snakemake knows.

        The files beside it come from the same rule, and the digest names that rule's job.
        """
        return {k: p for k, p in self.sources(dataset).items() if not (p.startswith("results/") and k == "images")}

    @functools.cache  # noqa: B019 -- one Jobs lives as long as the process
    def import_dataset(self, dataset: str) -> Job:
        """Rule import_dataset."""
        entry, sources = self.config.datasets[dataset], self.sources(dataset)
        settings = {
            "importer": entry.importer,
            "options": {**entry.model_dump(exclude={"importer"}), **sources},
            "seed": self.config.seed,
            "max_pixels": self.config.images.max_pixels,
        }
        content = {key: fingerprint(Path(path)) for key, path in sources.items() if not path.startswith("results/")}
        module = f"vlmdx.datasets.{entry.importer}"
        return self._job("import_dataset", settings, IMAGING, self.makers(sources), content=content, modules=[module])

    def makers(self, sources: Mapping[str, str]) -> list[Job]:
        """Jobs that make a data set's files, where the workflow does."""
        made = [w for w in paths.WORLDS if any(p.startswith(paths.demo_world(w, "")) for p in sources.values())]
        return [self.demo_scenes(world) for world in made]

    @functools.cached_property
    def pool(self) -> Job:
        """Rule pool."""
        quotas = dict(self.config.pool.quotas)
        settings = {"datasets": list(quotas), "quotas": quotas, "seed": self.config.seed}
        return self._job("pool", settings, IMAGING, [self.import_dataset(dataset) for dataset in quotas])

    @functools.cache  # noqa: B019
    def corrupt(self, dataset: str, family: str) -> Job:
        """Rule corrupt."""
        settings = {
            "corruptions": self.families().get(family, []),
            "severities": [] if family == CLEAN else self.config.corruptions.severities,
            "seed": self.config.seed,
            "reference_side": self.config.corruptions.reference_side,
        }
        before = self.pool if dataset == "pool" else self.import_dataset(dataset)
        return self._job("corrupt", settings, CORRUPTING, [before])

    @functools.cache  # noqa: B019
    def score(self, model: str, itemset: str, family: str) -> Job:
        """Rule score."""
        entry = self.config.models[model]
        scoring = self.config.scoring
        template = scoring.letter_prompt if entry.readout == "letter" else scoring.text_prompt
        settings = {
            **entry.model_dump(),
            "source": self.here(entry.source),
            "device": scoring.device,
            "template": Path(self.here(template)).read_text(encoding="utf-8"),
        }
        before = [self.corrupt(itemset if itemset in self.config.datasets else "pool", family)]
        if itemset in ("bench", "circular"):
            before.append(self.select_bench if itemset == "bench" else self.rotate_bench)
        modules = adapter_modules(entry, Path(self.here(entry.source)))
        return self._job("score", settings, INFERENCE, before, content=self._weights(entry), modules=modules)

    @functools.cached_property
    def embed_pool(self) -> Job:
        """Rule embed_pool."""
        chosen = self.config.selection
        settings = {
            "image_encoder": self.here(chosen.image_encoder),
            "image_revision": chosen.image_revision,
            "text_encoder": self.here(chosen.text_encoder),
            "text_revision": chosen.text_revision,
        }
        encoder = Model(source=chosen.image_encoder, revision=chosen.image_revision)
        return self._job(
            "embed_pool", settings, EMBEDDING, [self.corrupt("pool", CLEAN)], content=self._weights(encoder)
        )

    @functools.cached_property
    def select_bench(self) -> Job:
        """Rule select_bench."""
        chosen = self.config.selection
        settings = {
            **chosen.model_dump(include={"target", "weight_gini", "weight_image", "max_similarity"}),
            "severities": self.config.corruptions.severities,
        }
        answers = [self.score(voter, "pool", family) for voter in self.config.voters for family in self.shards()]
        return self._job("select_bench", settings, TABLES, [self.embed_pool, *answers])

    @functools.cache  # noqa: B019
    def cut_bench(self, voter: str) -> Job:
        """Rule cut_bench."""
        answers = [self.score(voter, "pool", family) for family in self.shards()]
        return self._job("cut_bench", {}, ("pyarrow",), [self.select_bench, *answers])

    def circular_models(self) -> list[str]:
        """Models whose answers to rotated options are asked for; a read-out in words shows no options to rotate."""
        models = self.config.models.items() if self.config.scoring.circular else ()
        return [slug for slug, entry in models if entry.readout == "letter"]

    @functools.cached_property
    def rotate_bench(self) -> Job:
        """Rule rotate_bench."""
        return self._job("rotate_bench", {}, ("pyarrow",), [self.select_bench])

    @functools.cached_property
    def circular(self) -> Job:
        """Rule circular."""
        models, keys = self.circular_models(), {"bootstrap", "confidence"}
        settings = {"models": models, "seed": self.config.seed, **self.config.reliability.model_dump(include=keys)}
        before = [self.bench_scores(model, CLEAN) for model in models]
        before += [self.score(model, "circular", CLEAN) for model in models]
        return self._job("circular", settings, TABLES, [self.rotate_bench, *before])

    def bench_scores(self, model: str, family: str) -> Job:
        """The job that makes a model's bench scores: cut from the pool's for a voter, scored for any other."""
        return self.cut_bench(model) if model in self.config.voters else self.score(model, "bench", family)

    @functools.cache  # noqa: B019
    def reliability(self, model: str) -> Job:
        """Rule reliability."""
        settings = {
            **self.config.reliability.model_dump(),
            "seed": self.config.seed,
            "families": self.families(),
            "severities": self.config.corruptions.severities,
        }
        before = [self.bench_scores(model, family) for family in self.shards()]
        return self._job("reliability", settings, TABLES, before, files=self._sql())

    @functools.cached_property
    def ras_table(self) -> Job:
        """Rule ras_table."""
        settings = {"models": list(self.config.models), "families": self.families()}
        return self._job("ras_table", settings, TABLES, self._all_models(), files=self._sql())

    @functools.cached_property
    def accounting(self) -> Job:
        """Rule accounting."""
        settings = {
            "quotas": dict(self.config.pool.quotas),
            "families": self.families(),
            "severities": self.config.corruptions.severities,
            "models": list(self.config.models),
            "voters": self.config.voters,
            "circular": self.circular_models(),
        }
        # What is upstream of these is part of their digests, and so is everything that is counted.
        before = [*self._all_models(), *([self.circular] if settings["circular"] else [])]
        return self._job("accounting", settings, TABLES, before)

    @functools.cache  # noqa: B019
    def plot(self, rule: str) -> Job:
        """A figure over all models."""
        return self._job(rule, {"models": list(self.config.models)}, PLOTTING, self._all_models())

    @functools.cached_property
    def plot_gini(self) -> Job:
        """Rule plot_gini."""
        return self._job("plot_gini", {}, PLOTTING, [self.select_bench])

    @functools.cached_property
    def contact_sheet(self) -> Job:
        """Rule contact_sheet."""
        before = [self.corrupt("pool", family) for family in self.shards()]
        return self._job("contact_sheet", {"image_id": None}, PLOTTING, before)

    @functools.cache  # noqa: B019
    def about_all(self, rule: str, plots: tuple[str, ...]) -> Job:
        """Rules provenance and catalog, which tell of every artifact; ``plots`` are the rules of figures."""
        before = [self.ras_table, self.accounting, self.plot_gini, self.contact_sheet, *map(self.plot, plots)]
        return self._job(rule, {}, TABLES, before)

    def _all_models(self) -> list[Job]:
        return [self.reliability(model) for model in self.config.models]

    def _sql(self) -> list[Path]:
        return sorted((self.root / "workflow" / "vlmdx" / "reliability" / "sql").glob("*.sql"))

    def _weights(self, entry: Model) -> Mapping[str, Any]:
        folder = Path(self.here(entry.source))
        known = {"source": entry.source, "revision": entry.revision}
        return fingerprint(folder) if folder.is_dir() else known

    def _job(
        self,
        rule: str,
        settings: Mapping[str, Any],
        libraries: Iterable[str],
        before: Iterable[Job] = (),
        content: Mapping[str, Any] | None = None,
        files: Iterable[Path] = (),
        modules: Iterable[str] = (),
    ) -> Job:
        script = self.root / "workflow" / "scripts" / f"{rule}.py"
        # A set of digests: the order in which models stand in the config must not rerun anything.
        history = sorted({job.digest for job in before})
        values = {"settings": settings, "before": history, "content": content}
        parts = digest_parts(script, values, files, libraries, modules)
        job = Job(digest_of(parts), settings, rule, parts)
        self.known[job.digest] = job
        return job
