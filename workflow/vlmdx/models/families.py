"""Which module holds the adapter of which model type; opens without torch, so that the Snakefile may read it."""

GENERIC = "generic"
# `model_type` of a model's config.json -> module with its `Adapter`
FAMILIES = {
    "qwen2_vl": "vlmdx.models.qwen2_5_vl",
    "qwen2_5_vl": "vlmdx.models.qwen2_5_vl",
    "qwen3_vl": "vlmdx.models.qwen3_vl",
    "llava": "vlmdx.models.llava",
    "llava_next": "vlmdx.models.llava_next",
    "llava_onevision": "vlmdx.models.llava_onevision",
    "internvl": "vlmdx.models.internvl",
    "idefics3": "vlmdx.models.idefics3",
    "smolvlm": "vlmdx.models.idefics3",
    "gemma3": "vlmdx.models.gemma3",
    "paligemma": "vlmdx.models.paligemma",
    # No model type: used only where an entry says `family: generic`.
    GENERIC: "vlmdx.models.generic",
}


def adapter_module(model_type: str) -> str:
    """Module that holds the adapter of ``model_type``.

    Raises:
        ValueError: no adapter for it.
    """
    if model_type not in FAMILIES:
        known = ", ".join(sorted(set(FAMILIES) - {GENERIC}))
        raise ValueError(
            f"model type {model_type!r} has no adapter; known: {known}. `vlmdx doctor` tries the generic adapter; "
            "if all its checks pass, set `family: generic` in the model's entry"
        )
    return FAMILIES[model_type]
