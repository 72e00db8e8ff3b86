"""LLaVA-OneVision: LLaVA-NeXT's tiles on SigLIP and Qwen2 (arXiv 2408.03326, section 3)."""

import math

from vlmdx.models import llava_next
from vlmdx.models.geometry import Grid


class Adapter(llava_next.Adapter):
    """LLaVA-OneVision family."""

    def render_answer(self, text: str, answer: str) -> str:
        # The published template heads a given answer with "assistant \n", but ends a prompt with "assistant\n", and the
        # latter is where the model is asked to go on.
        return super().render_answer(text, answer).replace("<|im_start|>assistant \n", "<|im_start|>assistant\n")

    def pooled(self, grid: Grid, side: int) -> Grid:
        # Grids of more than so many tiles' tokens are interpolated down ("anyres_max_9", arXiv 2408.03326 section 3.1).
        most = int(self.model.config.vision_aspect_ratio.removeprefix("anyres_max_"))
        ratio = math.sqrt(grid[0] * grid[1] / (most * side**2))
        return (int(grid[0] // ratio), int(grid[1] // ratio)) if ratio > 1.1 else grid
