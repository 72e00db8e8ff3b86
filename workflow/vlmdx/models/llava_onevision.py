"""LLaVA-OneVision: LLaVA-NeXT's tiles on SigLIP and Qwen2 (arXiv 2408.03326, section 3)."""

from vlmdx.models import llava_next


class Adapter(llava_next.Adapter):
    """LLaVA-OneVision family."""

    def render_answer(self, text: str, answer: str) -> str:
        # The published template heads a given answer with "assistant \n", but ends a prompt with "assistant\n", and the
        # latter is where the model is asked to go on.
        return super().render_answer(text, answer).replace("<|im_start|>assistant \n", "<|im_start|>assistant\n")
