"""Where every artifact stands: the only place that builds a path under results/.

Arguments may be Snakemake wildcards in braces, so that one function serves a rule's output and another's input.
"""

TABLE = "results/ras_table.csv"
BY_SEVERITY = "results/ras_by_severity.csv"
BY_CORRUPTION = "results/ras_by_corruption.csv"
POSITION_BIAS = "results/position_bias.csv"
CIRCULAR = "results/circular.csv"
ACCOUNTING = "results/accounting.csv"
FAILURE_MODES = "results/mechanism/failure_modes.csv"
PATHWAYS = "results/mechanism/pathways.csv"
SENSITIVITY = "results/mechanism/sensitivity.csv"
SAMPLING = "results/mechanism/sampling.csv"
PROBING = "results/mechanism/probing.csv"
VSR = "results/mechanism/vsr.csv"
MECHANISM_ACCOUNTING = "results/mechanism/accounting.csv"
FDR = "results/fdr_table.csv"
TRANSFER = "results/discovery/transfer.csv"
JOINT = "results/joint_table.csv"
VOCABULARY = "results/discovery/vocabulary.parquet"
STABILITY = "results/discovery/stability.csv"
SHARED_SKILLS = "results/discovery/shared_skills.csv"
DISCOVERY_ACCOUNTING = "results/discovery/accounting.csv"
RESOLVED_CONFIG = "results/config.yaml"
WORLDS = ("scenes", "mechanism")  # demo scenes of the main job, and of the mechanism target


def demo_world(world: str, name: str) -> str:
    """Demo scenes as GQA writes them: questions.json, sceneGraphs.json and images."""
    return f"results/demo/{world}/{name}"


def items(dataset: str) -> str:
    """Items of a data set, or of the pool."""
    return f"results/datasets/{dataset}/items.parquet"


def images(dataset: str) -> str:
    """Decoded images of a data set, or of the pool."""
    return f"results/datasets/{dataset}/images.parquet"


def rejected(dataset: str) -> str:
    """Rows set aside by the importer, or by the pool."""
    return f"results/datasets/{dataset}/rejected.parquet"


def corrupted(dataset: str, family: str) -> str:
    """Shard of corrupted images."""
    return f"results/corrupted/{dataset}/{family}.parquet"


def scores(model: str, itemset: str, family: str) -> str:
    """Shard of a model's scores on the pool, the bench or the bench's rotations (circular)."""
    return f"results/scores/{model}/{itemset}/{family}.parquet"


def selection(name: str) -> str:
    """Artifacts of the selection: bench.parquet, bench.txt, gini.parquet, embeddings.safetensors; and the rotations of
    the bench: rotations.parquet, rotations_rejected.parquet.
    """
    return f"results/selection/{name}"


def reliability(model: str, table: str) -> str:
    """A model's cells, trajectories, summary or position shares."""
    return f"results/reliability/{model}/{table}.parquet"


def operation_sample(dataset: str, operation: str, name: str) -> str:
    """Questions of one operation that are dissected: items.parquet and rejected.parquet; and word pairs made
    of them: pairs.parquet and unpaired.parquet.
    """
    return f"results/datasets/{dataset}/operations/{operation}/{name}"


def operation_effects(model: str, dataset: str, operation: str, name: str) -> str:
    """A model's effects on one operation: effects, control and rejected as Parquet, and tensors.safetensors; and
    its probes: probes.parquet and unprobed.parquet.
    """
    return f"results/mechanism/{model}/{dataset}/{operation}/{name}"


def vsr(model: str, dataset: str, name: str) -> str:
    """A model's effects on VSR's statements, their contrasts by relation category, and figures."""
    return f"results/mechanism/{model}/{dataset}/vsr/{name}"


def mechanism(model: str, dataset: str, name: str) -> str:
    """A model's effects on all operations, its pathways, failure modes and figures."""
    return f"results/mechanism/{model}/{dataset}/{name}"


def questioner(run: str, method: str, seed: str, name: str) -> str:
    """A method's questioner: training.parquet, checkpoint, history, held_out.parquet."""
    return f"results/discovery/{run}/{method}/{seed}/{name}"


def discovery(run: str, name: str) -> str:
    """What a run found: rollouts.parquet, taxonomy.json, tables and figures."""
    return f"results/discovery/{run}/{name}"


def rewards(run: str, reward: str) -> str:
    """Rollouts of a run under other reward settings."""
    return f"results/discovery/{run}/rewards/{reward}.parquet"


def joint(model: str, dataset: str, name: str) -> str:
    """A model on discovered questions: cells, set_aside, effects, rejected, as Parquet."""
    return f"results/joint/{model}/{dataset}/{name}"


def figure(name: str, suffix: str) -> str:
    """A figure; ``suffix`` is svg or png."""
    return f"results/figures/{name}.{suffix}"
