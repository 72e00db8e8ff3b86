"""The interface to a vision-language model: prompt in, float32 next-token logits out.

What all families share stands here; a family's module overrides what differs (inputs of the vision tower, image-token
grid, box geometry). The text side of an item depends on its prompt and on the image's *size* only, so it is encoded
once per (prompt, size) by the processor itself and reused for every degraded version of the image; pixels are never
reused between images (waybarrios/vllm-mlx#718), and within a batch each image passes the vision tower once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from PIL import Image
from torch import Tensor

from vlmdx.models.geometry import Grid, View
from vlmdx.models.prompts import letters, user_turn
from vlmdx.models.tokens import PromptError, check_bos, continuation_ids, single_ids

MOST_ENCODED = 8192  # prompts kept: more than a job of the main target has; a questioner in training asks without end


@dataclass(frozen=True)
class Row:
    """One sequence to run.

    Attributes:
        ids: token ids, int64 [length], image tokens expanded.
        image: index of its image in the list of images that comes with the rows.
        keep: how many of its last positions are asked for their next-token logits.
    """

    ids: Tensor
    image: int
    keep: int = 1


@dataclass
class Adapter:
    """A loaded model with its processor.

    Attributes:
        model: in eval mode, on its device.
        processor: its own `AutoProcessor`.
        source: where it was loaded from, for messages.
        max_pixels: the pixel budget that was asked for, None = the processor's own.
        padding_side: where a batch's shorter rows are filled up. Scores do not depend on it.
    """

    model: Any
    processor: Any
    source: str
    max_pixels: int | None = None
    padding_side: Literal["left", "right"] = "right"
    has_grid: ClassVar[bool] = True  # the image tokens are one span in raster order over one grid
    _encoded: dict[tuple[str, tuple[int, int]], Tensor] = field(default_factory=dict, repr=False)
    _views: dict[tuple[int, int], tuple[View, ...]] = field(default_factory=dict, repr=False)

    @staticmethod
    def limit_pixels(image_processor: Any, max_pixels: int) -> None:
        """Set the pixel budget, where a family's processor has one; what is produced is checked for every image."""

    # ---- text side ------------------------------------------------------------------------------------------------

    def render(self, text: str) -> str:
        """The prompt for one image and ``text``, by the model's own chat template, up to where it starts to answer.

        Raises:
            ValueError: the model ships no chat template (a base model is not asked questions in chat form).
        """
        return self._render(user_turn(text), add_generation_prompt=True)

    def render_answer(self, text: str, answer: str) -> str:
        """The same conversation with ``answer`` given."""
        return self._render([*user_turn(text), {"role": "assistant", "content": [{"type": "text", "text": answer}]}])

    def _render(self, turns: list[dict], **options: Any) -> str:
        if not self.processor.chat_template:
            raise ValueError(
                f"{self.source}: processor has no chat template; use the instruction-tuned checkpoint, or add its "
                "chat_template.jinja to the model folder"
            )
        return self.processor.apply_chat_template(turns, tokenize=False, **options)

    @cached_property
    def separator(self) -> str:
        """What the chat template puts between the prompt and an answer, e.g. the space in "ASSISTANT: yes".

        Raises:
            ValueError: the template does not continue the prompt with the answer (e.g. it opens a <think> block).
        """
        prompt, whole = self.render("?"), self.render_answer("?", "ANSWER")
        between, found, _ = whole.removeprefix(prompt).partition("ANSWER")
        if not whole.startswith(prompt) or not found or between.strip():
            raise ValueError(
                f"{self.source}: the chat template puts {between!r} between prompt and answer, so an answer read right "
                "after the prompt would not be the model's; use a checkpoint that answers without thinking first"
            )
        return between

    def encode_text(self, text: str) -> list[int]:
        """Ids of ``text`` with the special tokens of the real input and the image placeholder not expanded."""
        return self.processor.tokenizer(text, add_special_tokens=not self._has_bos(text))["input_ids"]

    def letter_ids(self, prompt: str, n_options: int) -> list[int]:
        """Ids of the first ``n_options`` letters as they follow ``prompt``.

        Raises:
            PromptError: a letter is not one token there, or two share an id.
            ValueError: more than 26 options.
        """
        return single_ids(self.encode_text, prompt, [self.separator + letter for letter in letters(n_options)])

    def answer_ids(self, prompt: str, answer: str) -> list[int]:
        """Ids that ``answer`` adds to ``prompt``, decided jointly with its end.

        Raises:
            PromptError: the tokenizer merges the two.
        """
        return continuation_ids(self.encode_text, prompt, self.separator + answer)

    def encode(self, prompt: str, image: Image.Image) -> Tensor:
        """Ids of ``prompt`` with the image tokens of an image of this size, int64 [length]; never cut.

        Raises:
            PromptError: the processor refuses the image or prompt, the image tokens do not match the grid, the
                pixel budget is exceeded, or the prompt is longer than the model's context.
        """
        key = (prompt, image.size)
        if key not in self._encoded:
            ids = self.process(prompt, image)["input_ids"][0]
            check_bos(ids.tolist(), self.processor.tokenizer.bos_token_id)
            context = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
            if context is not None and len(ids) > context:
                raise PromptError(f"prompt of {len(ids)} tokens is longer than the model's context of {context}")
            if len(self._encoded) >= MOST_ENCODED:
                del self._encoded[next(iter(self._encoded))]  # the oldest
            self._encoded[key] = ids
        return self._encoded[key]

    def process(self, prompt: str, image: Image.Image) -> dict[str, Tensor]:
        """The processor's own call on one prompt and image: plain inputs of ``model(**inputs)``, batch of 1, on CPU.

        Raises:
            PromptError: as :meth:`encode`.
        """
        try:
            out = self.processor(
                text=[prompt], images=[image], add_special_tokens=not self._has_bos(prompt), return_tensors="pt"
            )
        except ValueError as error:
            raise PromptError(f"the processor refuses this image or prompt: {error}") from error
        self.check_image(out)
        return dict(out)

    def check_image(self, inputs: dict[str, Tensor]) -> None:
        """Compare image tokens with the produced grid, and the grid with the pixel budget.

        Raises:
            PromptError: they differ; silently shifted image tokens would be read as another image.
        """
        (tokens,) = self.image_tokens(inputs["input_ids"])
        if not tokens:
            raise PromptError("the prompt has no image tokens")
        if self.has_grid:
            rows, columns = self.image_grids(inputs)[0]
            if rows * columns != tokens:
                raise PromptError(f"the prompt has {tokens} image tokens, the image gives {rows} x {columns} cells")
        produced = self.produced_pixels(inputs)
        if self.max_pixels is not None and produced > self.max_pixels:
            raise PromptError(f"the processor makes {produced} pixels of the image, over max_pixels={self.max_pixels}")

    def _has_bos(self, prompt: str) -> bool:
        """The template wrote the BOS: the tokenizer must not add another (meta-llama/llama-cookbook#933)."""
        bos = self.processor.tokenizer.bos_token
        return bool(bos) and prompt.startswith(bos)

    # ---- image tokens ---------------------------------------------------------------------------------------------

    @property
    def image_token_id(self) -> int:
        """Id of the placeholder that stands once per image token."""
        return self.model.config.image_token_id

    def image_tokens(self, ids: Tensor) -> list[int]:
        """Image tokens of each row of ``ids`` (int64 [rows, length])."""
        return (ids == self.image_token_id).sum(-1).tolist()

    def image_span(self, ids: Tensor) -> tuple[int, int]:
        """Start and length of the image tokens in ``ids`` (int64 [length]).

        Raises:
            PromptError: no image tokens, or not in one piece.
        """
        positions = (ids == self.image_token_id).nonzero().flatten().tolist()
        if not positions or positions[-1] - positions[0] + 1 != len(positions):
            raise PromptError(f"image tokens at {positions[:3]}...: expected one contiguous span")
        return positions[0], len(positions)

    def image_grids(self, inputs: dict[str, Tensor]) -> list[Grid]:
        """Rows and columns of image tokens of each image in ``inputs``."""
        raise NotImplementedError(f"{self.source}: this family cuts images into tiles; it has no single token grid")

    def produced_pixels(self, inputs: dict[str, Tensor]) -> int:
        """Pixels of the one image in ``inputs`` as the vision tower sees them, all tiles together."""
        return inputs["pixel_values"].numel() // 3

    def image_views(self, ids: Tensor, image: Image.Image) -> tuple[list[int], tuple[View, ...]]:
        """Where the image tokens stand in ``ids`` (int64 [length]), and what each of them shows of ``image``.

        The views are derived from what the processor makes of an image of this size, and hold for all of them.

        Returns:
            Absolute positions of the image tokens, ascending; and the views, whose tokens are numbers into them.

        Raises:
            PromptError: the views and the prompt disagree on the number of image tokens.
        """
        positions = (ids == self.image_token_id).nonzero().flatten().tolist()
        if image.size not in self._views:
            self._views[image.size] = tuple(self.views(image))
        views = self._views[image.size]
        if sum(view.size for view in views) != len(positions):
            grids = " + ".join(f"{view.grid[0]} x {view.grid[1]}" for view in views)
            raise PromptError(f"the prompt has {len(positions)} image tokens, the image gives views of {grids} cells")
        return positions, views

    def views(self, image: Image.Image) -> Sequence[View]:
        """Views of an image, in the order of their tokens.

        The default is right where the whole image is resized onto one grid, each side by its own factor.
        """
        (grid,) = self.image_grids(self.pixels([image]))
        return [View(0, grid, (0, 0, *image.size))]

    @property
    def decoder_layers(self) -> torch.nn.ModuleList:
        """The language model's layers, in order."""
        return self.model.model.language_model.layers

    # ---- forward --------------------------------------------------------------------------------------------------

    def pixels(self, images: Sequence[Image.Image]) -> dict[str, Tensor]:
        """What the processor makes of the images' pixels, on the model's device."""
        # One list per image: some processors treat a flat list as the images of one prompt, and shrink them.
        settings = getattr(self.processor, "images_kwargs", {})
        made = self.processor.image_processor(images=[[image] for image in images], return_tensors="pt", **settings)
        return dict(made.to(self.model.device))

    def vision_inputs(self, images: Sequence[Image.Image], which: Sequence[int]) -> dict[str, Any]:
        """Vision side of a batch: each image passes the vision tower once and serves every row that shows it."""
        return self.shared_features(self.pixels(images), which)

    def shared_features(self, pixels: dict[str, Tensor], which: Sequence[int]) -> dict[str, Any]:
        """Features of the distinct images in ``pixels``, laid out for the rows that show images ``which``."""
        output = self.model.get_image_features(**pixels)
        pooled = output.pooler_output
        output.pooler_output = pooled[list(which)] if isinstance(pooled, Tensor) else [pooled[i] for i in which]
        return {"mm_encoder_outputs": {"image": output}}

    def text_inputs(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Padded ids, mask and positions of a batch, [rows, longest], on the model's device."""
        ids = self._pad([row.ids for row in rows], self._padding_id())
        mask = self._pad([torch.ones_like(row.ids) for row in rows], 0)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        return {name: tensor.to(self.model.device) for name, tensor in inputs.items()}

    def _pad(self, sequences: list[Tensor], value: int) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(
            sequences, batch_first=True, padding_value=value, padding_side=self.padding_side
        )

    def _padding_id(self) -> int:
        """Any id will do where the mask is 0, except the image token's, which would claim image features."""
        tokenizer = self.processor.tokenizer
        return tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id

    @torch.inference_mode()
    def logits(self, rows: Sequence[Row], images: Sequence[Image.Image]) -> Tensor:
        """Next-token logits of a batch.

        Args:
            rows: sequences of any lengths.
            images: the distinct images the rows refer to.

        Returns:
            float32 [rows, positions, vocabulary]: the last ``keep`` real tokens of each row, found from the mask;
            rows that keep fewer than the longest repeat their last one at the end.
        """
        text = self.text_inputs(rows)
        last = text["attention_mask"].shape[1] - 1 - text["attention_mask"].flip(-1).argmax(-1)
        kept = torch.tensor([row.keep for row in rows], device=last.device)
        steps = torch.arange(int(kept.max()), device=last.device)
        keep = torch.minimum((last - kept + 1)[:, None] + steps, last[:, None])
        vision = self.vision_inputs(images, [row.image for row in rows])
        return self.model(**text, **vision, logits_to_keep=keep, use_cache=False).logits.float()

    def verify(self) -> None:
        """Prove at loading that this adapter fits the model; those written for a family are proved by the tests.

        Raises:
            ValueError: it does not.
        """

    # ---- record ---------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """What the scores depend on beside the weights; part of every cache key and of the artifact's footer."""
        return {
            "family": type(self).__module__.rpartition(".")[2],
            "processor": type(self.processor).__name__,
            "image_processor": self.processor.image_processor.to_dict() | {"class": self._image_processor_class()},
            "chat_template": self.processor.chat_template,
            "dtype": str(self.model.dtype),
            "device": self.model.device.type,
            "attention": self.model.config._attn_implementation,
            "max_pixels": self.max_pixels,
        }

    def _image_processor_class(self) -> str:
        return type(self.processor.image_processor).__name__
