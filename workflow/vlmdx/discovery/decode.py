"""One batch through a model's own `generate`, for questions that are sampled and for replies that are greedy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from PIL import Image
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from vlmdx.models.adapter import Adapter, Row
from vlmdx.models.tokens import PromptError


def check_length(adapter: Adapter, tokens: int) -> None:
    """Refuse a prompt that leaves no room for its completion; nothing is ever cut.

    Raises:
        PromptError: ``tokens`` of prompt and completion together are more than the model's context.
    """
    context = getattr(adapter.model.config.get_text_config(), "max_position_embeddings", None)
    if context is not None and tokens > context:
        raise PromptError(
            f"prompt and completion of up to {tokens} tokens are longer than the context of {context} of "
            f"{adapter.source}; lower its `max_pixels` or the number of questions per image"
        )


def decode(
    adapter: Adapter,
    model: Any,
    prompts: Sequence[Tensor],
    images: Sequence[Image.Image],
    ends: Sequence[int],
    max_tokens: int,
    processor: LogitsProcessor,
) -> list[list[int]]:
    """The ids that ``model`` adds to each prompt: at each place the likeliest after ``processor``.

    Args:
        adapter: makes the inputs.
        model: the adapter's own, or a wrapper of it.
        prompts: encoded prompts, n times int64 [length]; never cut.
        images: RGB, one per prompt; those of equal pixels pass the vision tower once.
        ends: ids that end a row.
        max_tokens: most tokens to add.
        processor: the last to see the scores.

    Returns:
        n lists of equal length, filled up after a row's end.

    Raises:
        PromptError: a prompt with its completion would be longer than the model's context.
    """
    check_length(adapter, max(map(len, prompts)) + max_tokens)
    objects = {id(image): image for image in images}  # rows mostly share them
    pixels = {key: (image.size, image.tobytes()) for key, image in objects.items()}
    places: dict[tuple[tuple[int, int], bytes], int] = {}
    which = [places.setdefault(pixels[id(image)], len(places)) for image in images]
    distinct = [images[which.index(number)] for number in range(len(places))]
    rows = [Row(ids, number) for ids, number in zip(prompts, which, strict=True)]
    text = replace(adapter, padding_side="left").text_inputs(rows)
    text.pop("position_ids", None)  # `generate` makes its own from the mask
    filler = adapter.processor.tokenizer.pad_token_id
    # What is not set here is taken from the model's own generation config, which may sample, or penalise repetitions:
    # neither the policy gradient nor the log-probability of a reply would know of that.
    config = GenerationConfig(
        max_new_tokens=max_tokens,
        min_length=0,
        do_sample=False,
        num_beams=1,
        temperature=1.0,
        top_p=1.0,
        top_k=50,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        eos_token_id=list(ends),
        pad_token_id=filler if filler is not None else ends[0],
        use_cache=True,
    )
    made = model.generate(
        **text,
        **adapter.vision_inputs(distinct, which),
        generation_config=config,
        logits_processor=LogitsProcessorList([processor]),
    )
    return made[:, text["input_ids"].shape[1] :].tolist()
