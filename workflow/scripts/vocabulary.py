"""Put the primitives of all runs together into skills and meta-skills: one vocabulary, so that runs can be compared."""

import os

# Before anything of Hugging Face is imported: jobs never download, a compute node may have no internet.
os.environ["HF_HUB_OFFLINE"] = "1"

import sys
from collections import Counter
from typing import Any

import pandas as pd
import torch
from vlmdx.discovery.embedder import Embedder
from vlmdx.discovery.topics import TopicSettings, stability, vocabulary
from vlmdx.provenance import footer, run_job
from vlmdx.schema import atomic, read_table, write_table
from vlmdx.schema.tables import PRIMITIVES, VOCABULARY


def main(snakemake: Any) -> None:
    """The vocabulary, and how far it depends on chance."""
    torch.set_num_threads(snakemake.threads)
    settings = snakemake.params.settings
    counts: Counter[str] = Counter()
    for path in snakemake.input.primitives:
        for needed in read_table(path, PRIMITIVES, ["primitives"])["primitives"].to_pylist():
            counts.update(set(needed or ()))
    embed, chosen, seed = Embedder(**settings["encoder"]), TopicSettings(**settings["topics"]), settings["seed"]
    rows = vocabulary(counts, embed, chosen, seed)
    kinds = [len({row[level] for row in rows}) for level in ("primitive", "skill", "meta_skill")]
    print("{} primitives, {} skills, {} meta-skills".format(*kinds), file=sys.stderr)
    write_table(snakemake.output.vocabulary, rows, VOCABULARY, footer(snakemake))
    columns = ["first", "second", "primitives", "adjusted_rand"]
    pairs = pd.DataFrame(stability(counts, embed, chosen, seed, settings["reseedings"]), columns=columns)
    with atomic(snakemake.output.stability) as temporary:
        pairs.to_csv(temporary, index=False, float_format="%.6g")


if "snakemake" in globals():
    run_job(main, snakemake)  # noqa: F821 -- injected by Snakemake
