"""The Parquet contracts between stages: one Arrow schema per artifact, with its key and a line on every column.

A stage writes only through :func:`vlmdx.schema.io.write_table`, which refuses unknown, missing or mistyped columns,
NaN (missing is NULL), and a key that is not unique. More about each column stands in its ``description`` metadata,
which travels in the file itself.
"""

from dataclasses import dataclass

import pyarrow as pa

# The Hugging Face `datasets` image struct: a Parquet file with this column opens as images without any conversion.
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
OBJECT = pa.struct(
    [
        ("object_id", pa.string()),
        ("name", pa.string()),
        ("x", pa.float32()),
        ("y", pa.float32()),
        ("w", pa.float32()),
        ("h", pa.float32()),
    ]
)


@dataclass(frozen=True)
class Table:
    """A contract: its name in messages, the Arrow schema, and the columns that together are unique."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]


def _column(name: str, type_: pa.DataType, description: str, nullable: bool = False) -> pa.Field:
    return pa.field(name, type_, nullable=nullable, metadata={"description": description})


ITEMS = Table(
    "items",
    pa.schema(
        [
            _column("item_id", pa.string(), "'{dataset}:{source id}', unique over all data sets"),
            _column("dataset", pa.string(), "slug of the data set"),
            _column("image_id", pa.string(), "'{dataset}:{image id}', a row of images.parquet"),
            _column("question", pa.string(), "question text, without options"),
            _column("options", pa.list_(pa.string()), "option texts in shown order"),
            _column("answer", pa.int32(), "index of the gold option, NULL where the source gives none", True),
            _column("category", pa.string(), "the source's own category", True),
            _column("operation", pa.string(), "GQA operation of the question", True),
            _column("program", pa.string(), "functional program as JSON", True),
            _column("objects", pa.list_(OBJECT), "annotated objects; boxes in pixels of the stored image", True),
        ]
    ),
    ("item_id",),
)
IMAGES = Table(
    "images",
    pa.schema(
        [
            _column("image_id", pa.string(), "'{dataset}:{image id}'"),
            _column("image", IMAGE, "decoded RGB image as lossless PNG, upright, alpha composited"),
            _column("width", pa.int32(), "pixels, after orientation"),
            _column("height", pa.int32(), "pixels, after orientation"),
            _column("sha256", pa.string(), "of the RGB pixels (vlmdx.images.pixel_sha256), not of the file"),
            _column("mode", pa.string(), "Pillow mode of the source file"),
            _column("orientation", pa.int32(), "EXIF orientation of the source file, 1 if absent"),
        ]
    ),
    ("image_id",),
)
REJECTED = Table(
    "rejected",
    pa.schema(
        [
            _column("source", pa.string(), "file the row came from"),
            _column("position", pa.string(), "row number or key within the source"),
            _column("item_id", pa.string(), "item id, where the row got that far", True),
            _column("reason", pa.string(), "why the row was set aside and what to do"),
        ]
    ),
    ("source", "position"),
)
CORRUPTED = Table(
    "corrupted",
    pa.schema(
        [
            _column("image_id", pa.string(), "as in images.parquet"),
            _column("corruption", pa.string(), "one of the 19, or 'clean'"),
            _column("severity", pa.int8(), "1 to 5; 0 is clean"),
            _column("image", IMAGE, "PNG at the reference resolution"),
            _column("sha256", pa.string(), "of the RGB pixels"),
            _column("seed", pa.int64(), "seed of this image's draw; NULL where nothing is drawn", True),
            _column("psnr", pa.float32(), "dB against clean; NULL where the image did not change", True),
            _column("ssim", pa.float32(), "structural similarity against clean"),
        ]
    ),
    ("image_id", "corruption", "severity"),
)
SCORES = Table(
    "scores",
    pa.schema(
        [
            _column("item_id", pa.string(), "as in items.parquet"),
            _column("corruption", pa.string(), "one of the 19, or 'clean'"),
            _column("severity", pa.int8(), "1 to 5; 0 is clean"),
            _column("option_index", pa.int32(), "index into options"),
            _column("letter", pa.string(), "letter shown before the option"),
            _column("logit", pa.float32(), "next-token logit of the letter; NULL in the text read-out", True),
            _column("logprob", pa.float32(), "log-probability within the options, nats", True),
            _column("prob", pa.float32(), "probability within the options", True),
            _column("logprob_full", pa.float32(), "log-probability over the whole vocabulary, nats", True),
            _column("letter_mass", pa.float32(), "probability on all letters of the item together", True),
            _column("text_sum", pa.float32(), "text read-out: log-likelihood of the option's tokens, nats", True),
            _column("text_mean", pa.float32(), "text read-out: the same per token, nats", True),
            _column("is_gold", pa.bool_(), "NULL where the item has no gold", True),
            _column("chosen", pa.bool_(), "the option of largest probability; ties by hash, never by position", True),
            _column("tied", pa.bool_(), "two or more options share the largest probability exactly", True),
            _column("image_tokens", pa.int32(), "vision tokens the model saw", True),
            _column("reason", pa.string(), "why the row has no probabilities; NULL where it was scored", True),
        ]
    ),
    ("item_id", "corruption", "severity", "option_index"),
)
SELECTION = Table(
    "selection",
    pa.schema(
        [
            _column("item_id", pa.string(), "a chosen item"),
            _column("gini", pa.float32(), "mean Gini impurity over voters and corruptions"),
            _column("rank", pa.int32(), "order of choice, from 0"),
            _column("similarity", pa.float32(), "largest similarity to an earlier choice; NULL for the first", True),
        ]
    ),
    ("item_id",),
)
GINI = Table(
    "gini",
    pa.schema(
        [
            _column("item_id", pa.string(), "an item of the pool"),
            _column("gini", pa.float32(), "mean Gini impurity over voters and corruptions; NULL if not scored", True),
            _column("voters", pa.int32(), "voter models with at least one whole trajectory"),
        ]
    ),
    ("item_id",),
)
CELLS = Table(
    "cells",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("item_id", pa.string(), ""),
            _column("image_id", pa.string(), "cluster of the bootstrap"),
            _column("dataset", pa.string(), ""),
            _column("corruption", pa.string(), "one of the 19 (clean has no row of its own)"),
            _column("family", pa.string(), "family of the corruption"),
            _column("severity", pa.int8(), "1 to 5"),
            _column("correct_clean", pa.bool_(), "right on the clean image"),
            _column("correct", pa.bool_(), "right on the corrupted image"),
            _column("state", pa.string(), "cc, cw, wc or ww: clean then corrupted correctness"),
            _column("entropy_clean", pa.float64(), "S on the clean image, in [0, 1]"),
            _column("entropy", pa.float64(), "S on the corrupted image, in [0, 1]"),
            _column("misalignment_clean", pa.float64(), "C on the clean image, in [0, 1]"),
            _column("misalignment", pa.float64(), "C on the corrupted image, in [0, 1]"),
            _column("delta_s", pa.float64(), "S corrupted - S clean"),
            _column("delta_c", pa.float64(), "C corrupted - C clean"),
            _column("ras", pa.float64(), "Robustness Alignment Score, in [-2, 1]"),
            _column("confidence_clean", pa.float64(), "max p on the clean image"),
            _column("confidence", pa.float64(), "max p on the corrupted image"),
            _column("brier_clean", pa.float64(), "Brier score on the clean image"),
            _column("brier", pa.float64(), "sum over options of (p - gold)^2"),
            _column("nll_clean", pa.float64(), "negative log-likelihood of the gold option, clean, nats"),
            _column("nll", pa.float64(), "negative log-likelihood of the gold option, nats"),
        ]
    ),
    ("model", "item_id", "corruption", "severity"),
)
TRAJECTORIES = Table(
    "trajectories",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("item_id", pa.string(), ""),
            _column("image_id", pa.string(), ""),
            _column("corruption", pa.string(), ""),
            _column("correct_clean", pa.bool_(), "right on the clean image"),
            _column("kind", pa.string(), "stable, transient or persistent change of correctness against clean"),
            _column("onset", pa.int8(), "first severity at which correctness differs from clean; NULL if stable", True),
            _column("flips", pa.int8(), "changes of correctness along severity 0, 1, ..., highest"),
        ]
    ),
    ("model", "item_id", "corruption"),
)
SUMMARY = Table(
    "summary",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("scope", pa.string(), "all, family, corruption or severity"),
            _column("level", pa.string(), "which family, corruption or severity; 'all' in scope all"),
            _column("metric", pa.string(), "name of the figure"),
            _column("value", pa.float64(), "NULL where no row supports it", True),
            _column("low", pa.float64(), "lower end of the clustered bootstrap interval", True),
            _column("high", pa.float64(), "upper end of the clustered bootstrap interval", True),
            _column("n", pa.int64(), "rows (item x corruption x severity) behind the value"),
        ]
    ),
    ("model", "scope", "level", "metric"),
)
POSITION = Table(
    "position",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("option_index", pa.int32(), "position of the option, from 0"),
            _column("letter", pa.string(), "letter shown at this position"),
            _column("chosen", pa.float64(), "share of clean answers that chose this position"),
            _column("gold", pa.float64(), "share of the same items whose gold option stands here"),
            _column("mean_prob", pa.float64(), "mean probability here, over items that have this position"),
            _column("n", pa.int64(), "items that have this position"),
            _column("answers", pa.int64(), "clean answers behind the shares"),
        ]
    ),
    ("model", "option_index"),
)
SET_ASIDE = Table(
    "set_aside",
    pa.schema(
        [
            _column("model", pa.string(), "model slug"),
            _column("item_id", pa.string(), "as in items.parquet"),
            _column("corruption", pa.string(), "one of the 19"),
            _column("severity", pa.int8(), "1 to 5"),
            _column("code", pa.string(), "no_gold, clean_missing, clean_not_scored, missing or not_scored"),
            _column("reason", pa.string(), "why this cell has no score, in words"),
        ]
    ),
    ("model", "item_id", "corruption", "severity"),
)
EFFECTS = Table(
    "effects",
    pa.schema(
        [
            _column("item_id", pa.string(), ""),
            _column("operation", pa.string(), "GQA operation"),
            _column(
                "intervention",
                pa.string(),
                "mean_ablation, attention_knockout, mlp_knockout; identity with controls, head_knockout if asked for",
            ),
            _column("position", pa.string(), "object or answer"),
            _column("layer", pa.int32(), "decoder layer, from 0"),
            _column("head", pa.int32(), "query head of a head_knockout, from 0; NULL: all heads", True),
            _column("logprob_clean", pa.float32(), "log p(gold), nats"),
            _column("logprob", pa.float32(), "log p(gold | intervention), nats"),
            _column("delta", pa.float32(), "logprob_clean - logprob"),
            _column("correct", pa.bool_(), "right without intervention"),
        ]
    ),
    ("item_id", "intervention", "position", "layer", "head"),
)
ROLLOUTS = Table(
    "rollouts",
    pa.schema(
        [
            _column("run", pa.string(), "slug of the run"),
            _column("method", pa.string(), "zero-shot, sft, expert-iteration, conme, rl or sft-rl"),
            _column("seed", pa.int32(), "seed of the run"),
            _column("phase", pa.string(), "train or held-out"),
            _column("step", pa.int32(), "optimizer step, or round; 0 on held-out images"),
            _column("image_id", pa.string(), "cluster of all intervals"),
            _column("image_sha256", pa.string(), "of the image that was asked about"),
            _column("turn", pa.int32(), "place in the sequence of questions about this image, from 0"),
            _column("sample", pa.int32(), "place among the samples of one prompt, from 0"),
            _column("sample_seed", pa.int64(), "of the sampler"),
            _column("prompt", pa.string(), "what the questioner was told, as rendered"),
            _column("question", pa.string(), "what it wrote"),
            _column("question_logprob", pa.float32(), "sum over its tokens under the policy that wrote it, nats", True),
            _column("question_tokens", pa.int32(), ""),
            _column("finished", pa.bool_(), "false: cut off at the limit of tokens"),
            _column("valid", pa.bool_(), "NULL: undecided", True),
            _column("criterion", pa.string(), "which criterion of validity failed", True),
            _column("validity_detail", pa.string(), "the verifier on the question, in words", True),
            _column("answer", pa.string(), "NULL: not asked", True),
            _column("answer_logprob", pa.float32(), "sum over its tokens, nats", True),
            _column("correct", pa.bool_(), "NULL: not asked, or undecided", True),
            _column("reference", pa.string(), "the right answer, where the verifier knows it", True),
            _column("judgement_detail", pa.string(), "the verifier on the answer, in words", True),
            _column("semantic", pa.float64(), "1 - largest cosine to a failed question, in [0, 1]"),
            _column("lexical", pa.float64(), "1 - relative frequency of its first two words among failed questions"),
            _column("delta", pa.float64(), "diversity, in [0, 1]"),
            _column("penalty", pa.float64(), "P"),
            _column("reward", pa.float64(), "delta * V * (1 - C) - P"),
        ]
    ),
    ("run", "method", "seed", "phase", "step", "image_id", "turn", "sample"),
)
PRIMITIVES = Table(
    "primitives",
    pa.schema(
        [
            _column("image_id", pa.string(), ""),
            _column("question", pa.string(), "a valid question about this image, held-out or of a training"),
            _column("primitives", pa.list_(pa.string()), "elementary abilities it needs; NULL: set aside", True),
            _column("reason", pa.string(), "why there are none", True),
        ]
    ),
    ("image_id", "question"),
)
VOCABULARY = Table(
    "vocabulary",
    pa.schema(
        [
            _column("primitive", pa.string(), "an elementary ability, in small letters"),
            _column("questions", pa.int64(), "distinct questions of all runs that need it"),
            _column("skill", pa.string(), "its topic, named by the primitive in the topic's middle"),
            _column("words", pa.list_(pa.string()), "words of largest c-TF-IDF weight in the topic"),
            _column("meta_skill", pa.string(), "group of skills, named by the skill in the group's middle"),
        ]
    ),
    ("primitive",),
)
SKILLS = Table(
    "skills",
    pa.schema(
        [
            _column("image_id", pa.string(), ""),
            _column("question", pa.string(), "a valid question with known primitives"),
            _column("skills", pa.list_(pa.string()), "skills of its primitives, distinct and sorted"),
        ]
    ),
    ("image_id", "question"),
)
BLIND = Table(
    "blind",
    pa.schema(
        [
            _column("image_id", pa.string(), ""),
            _column("question", pa.string(), "a valid held-out question with a verdict on its answer"),
            _column("correct", pa.bool_(), "of the answer given to the image"),
            _column("answer", pa.string(), "given to the image"),
            _column("blind_answer", pa.string(), "given to a grey image of the same size"),
            _column("same", pa.bool_(), "both answers are the same in other spelling: the image had no say"),
        ]
    ),
    ("image_id", "question"),
)
SECOND = Table(
    "second opinions",
    pa.schema(
        [
            _column("image_id", pa.string(), ""),
            _column("question", pa.string(), "a held-out question that passed the screen"),
            _column("valid", pa.bool_(), "the run's verifier; NULL: undecided", True),
            _column("second_valid", pa.bool_(), "the second verifier; NULL: undecided", True),
            _column("correct", pa.bool_(), "the run's verifier on the answer; NULL: not asked, or undecided", True),
            _column("second_correct", pa.bool_(), "the second verifier on the same answer", True),
        ]
    ),
    ("image_id", "question"),
)
TRANSFER = Table(
    "transfer",
    pa.schema(
        [
            _column("run", pa.string(), "run that discovered the question"),
            _column("model", pa.string(), "model that was asked"),
            _column("image_id", pa.string(), ""),
            _column("question", pa.string(), ""),
            _column("answer", pa.string(), "what the model said"),
            _column("reference", pa.string(), "the right answer, where the verifier knows it", True),
            _column("correct", pa.bool_(), "NULL: undecided", True),
        ]
    ),
    ("run", "model", "image_id", "question"),
)
