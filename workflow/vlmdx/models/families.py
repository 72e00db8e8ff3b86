"""Which module holds the adapter of which model type; opens without torch, so that the Snakefile may read it."""

# `model_type` of a model's config.json -> module with its `Adapter`
FAMILIES = {
    "qwen2_vl": "vlmdx.models.qwen2_5_vl",
    "qwen2_5_vl": "vlmdx.models.qwen2_5_vl",
    "qwen3_vl": "vlmdx.models.qwen3_vl",
    "llava": "vlmdx.models.llava",
    "llava_next": "vlmdx.models.llava_next",
    "llava_onevision": "vlmdx.models.llava_next",
    "internvl": "vlmdx.models.internvl",
    "idefics3": "vlmdx.models.idefics3",
    "smolvlm": "vlmdx.models.idefics3",
    "gemma3": "vlmdx.models.gemma3",
    "paligemma": "vlmdx.models.paligemma",
}


def adapter_module(model_type: str) -> str:
    """Module that holds the adapter of ``model_type``.

    Raises:
        ValueError: no adapter for it.
    """
    if model_type not in FAMILIES:
        raise ValueError(f"model type {model_type!r} has no adapter; known: {', '.join(sorted(FAMILIES))}")
    return FAMILIES[model_type]
