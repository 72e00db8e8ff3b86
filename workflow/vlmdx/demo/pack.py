"""Many questions about one image in one training sequence, each computed exactly as if it were asked alone.

A prompt is [turn start, image tokens | question …, turn end]; the part before the bar is the same for all questions
about an image. A pack holds it once, followed by segments (the part after the bar, and the answer). A segment attends
to the shared part and to itself, and its positions start where the shared part ends: so its logits are those of the
single prompt, at a fraction of the cost.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch

from vlmdx.demo.scene import CANVAS
from vlmdx.models.prompts import user_turn

# Targets that are read off before the last layer (after how many): the answer at the question's end, then at each
# option whether it is the answer. What remains for the last layer is to name the letter of the option that is.
DEPTH = {"early": 4, "check": 5}
SLOT = "[UNK]"  # stands in for the user's text while the chat template is cut into what comes before and after it


@dataclass
class Segment:
    """Token ids after the shared part; ``targets`` are (position in ids, target id, weight, kind) to be predicted."""

    ids: list[int]
    targets: list[tuple[int, int, float, str]] = field(default_factory=list)


class Packer:
    """Cuts a model's own prompt into its shared part and its rest, and runs packs of segments through the model."""

    def __init__(self, model, processor):
        self.model, self.processor = model, processor
        blank = np.full((CANVAS, CANVAS, 3), 128, np.uint8)
        batch = self.prompt(SLOT, blank)
        ids = batch["input_ids"][0].tolist()
        cut = ids.index(processor.tokenizer.unk_token_id)
        self.shared, self.after = ids[:cut], ids[cut + 1 :]
        image_id = getattr(model.config, "image_token_id", None) or model.config.image_token_index
        self.slots = torch.tensor([i for i, t in enumerate(self.shared) if t == image_id])
        self.positions = self._positions(batch, cut)

    def prompt(self, text: str, image: np.ndarray) -> dict:
        """The single-question batch of the product: rendered by the processor's chat template."""
        rendered = self.processor.apply_chat_template(user_turn(text), add_generation_prompt=True)
        return self.processor(text=[rendered], images=[image], return_tensors="pt")

    def question(self, text: str) -> list[int]:
        """Ids of a user's text up to and including the generation prompt."""
        return self.words(text) + self.after

    def words(self, text: str) -> list[int]:
        return self.processor.tokenizer(text, add_special_tokens=False)["input_ids"]

    def _positions(self, batch: dict, cut: int) -> torch.Tensor:
        """Rotary positions of the shared part and of the first token after it: ``(3 or 1, cut + 1)``."""
        inner = self.model.model
        if not hasattr(inner, "get_rope_index"):
            return torch.arange(cut + 1)[None]
        kept = {k: batch[k] for k in ("input_ids", "mm_token_type_ids", "image_grid_thw", "attention_mask")}
        return inner.get_rope_index(**kept)[0][:, 0, : cut + 1]

    def image_tokens(self, images: list[np.ndarray]) -> torch.Tensor:
        """What the text model sees of each image: ``(images, tokens, width)``; the product's image processor."""
        pixels = self.processor.image_processor(images=images, return_tensors="pt")
        found = self.model.model.get_image_features(**pixels)
        found = getattr(found, "pooler_output", found)
        if isinstance(found, (tuple, list)):
            found = torch.cat(list(found))
        return found.reshape(len(images), len(self.slots), -1)

    def hidden(self, seen: torch.Tensor, packs: list[list[Segment]]) -> dict[int, torch.Tensor]:
        """Normed hidden states ``(images, length, width)`` of packs over image tokens ``seen``.

        Key 0 is the model's output, the others are those after the layers of ``DEPTH``.
        """
        ids, mask, positions = self.layout(packs)
        embedded = self.model.get_input_embeddings()(ids)
        embedded = embedded.index_copy(1, self.slots, seen.to(embedded.dtype))
        positions = positions if positions.shape[0] == 3 else positions[0]
        text_model = self.model.model.language_model
        kept: dict[int, torch.Tensor] = {}
        hooks = [
            text_model.layers[layer - 1].register_forward_hook(partial(_keep, kept, layer))
            for layer in sorted(set(DEPTH.values()))
        ]
        try:
            last = text_model(
                inputs_embeds=embedded,
                attention_mask=mask,
                position_ids=positions,
                use_cache=False,
            ).last_hidden_state
        finally:
            for hook in hooks:
                hook.remove()
        return {0: last, **{layer: text_model.norm(states) for layer, states in kept.items()}}

    def layout(self, packs: list[list[Segment]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ids ``(n, L)``, boolean mask ``(n, 1, L, L)`` (True: may attend) and positions ``(3 or 1, n, L)``."""
        cut = len(self.shared)
        length = max(cut + sum(len(s.ids) for s in pack) for pack in packs)
        ids = torch.full((len(packs), length), self.processor.tokenizer.pad_token_id)
        owner = torch.full((len(packs), length), -1)  # 0 the shared part, then one number per segment, -1 padding
        offset = torch.zeros(len(packs), length, dtype=torch.long)
        ids[:, :cut], owner[:, :cut] = torch.tensor(self.shared), 0
        for row, pack in enumerate(packs):
            start = cut
            for number, segment in enumerate(pack, 1):
                end = start + len(segment.ids)
                ids[row, start:end] = torch.tensor(segment.ids)
                owner[row, start:end] = number
                offset[row, start:end] = torch.arange(end - start)
                start = end
        same = (owner[:, :, None] == owner[:, None, :]) | (owner[:, None, :] == 0)
        mask = (same & torch.ones(length, length, dtype=torch.bool).tril())[:, None]
        positions = self.positions[:, None, -1:] + offset[None]
        positions[:, :, :cut] = self.positions[:, None, :cut]
        return ids, mask, positions

    def gather(self, hidden: dict[int, torch.Tensor], packs: list[list[Segment]], deep: bool = True):
        """Logits ``(targets, vocabulary)``, target ids, weights and kinds of every target of the packs.

        Not ``deep``: everything is read off after the last layer, and options are not checked one by one.
        """
        found: list[tuple[int, int, int, float, str]] = []
        for row, pack in enumerate(packs):
            start = len(self.shared)
            for segment in pack:
                for position, target, weight, kind in segment.targets:
                    if deep or kind != "check":
                        found.append((row, start + position, target, weight, kind))
                start += len(segment.ids)
        rows, columns, wanted, weights, kinds = (list(column) for column in zip(*found, strict=True))
        where = torch.tensor(rows), torch.tensor(columns)
        depth = torch.tensor([DEPTH.get(kind, 0) if deep else 0 for kind in kinds])
        states = hidden[0][where]
        for layer in set(depth.tolist()) - {0}:
            states = torch.where((depth == layer)[:, None], hidden[layer][where], states)
        logits = self.model.lm_head(states)
        return logits.float(), torch.tensor(wanted), torch.tensor(weights), kinds


def _keep(kept: dict[int, torch.Tensor], layer: int, module, inputs, output) -> None:
    """Forward hook: keep a decoder layer's output."""
    kept[layer] = output[0] if isinstance(output, tuple) else output
