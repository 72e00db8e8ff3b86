"""Reinforcement learning of the questioner: TRL's GRPOTrainer, fed from the plan, the memory and the panel.

What this adds to TRL: the prompt of a question is made right when it is drawn, from the questions already asked about
its image, so neither a prefetched batch nor a resumed run sees another prompt; every question has a seed of its own;
verdicts are stored as they come; groups without spread are left out of the loss; and the first step proves that the
pixels reach the policy's and the reference's log-probabilities.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from PIL import Image
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from vlmdx.discovery.callbacks import Watch, check_loss
from vlmdx.discovery.log import spreads
from vlmdx.discovery.panel import NO_SEED, Panel, Row, Slot, completion_text, images_of, signal
from vlmdx.discovery.passes import completion_logprobs, prove_pixels
from vlmdx.discovery.pictures import Picture
from vlmdx.discovery.plan import Place
from vlmdx.discovery.prompts import clean_question
from vlmdx.discovery.rollouts import Recorder
from vlmdx.discovery.sample import Sampled, draw, end_ids
from vlmdx.discovery.sequence import place_slots, plain
from vlmdx.discovery.settings import TrainSettings
from vlmdx.models.adapter import Adapter


def user_turn(text: str, image: Image.Image) -> list[Row]:
    """The conversational prompt of one question."""
    return [{"role": "user", "content": [{"type": "image", "image": image}, {"type": "text", "text": text}]}]


class QuestionerTrainer(GRPOTrainer):
    """See the module."""

    def __init__(
        self,
        adapter: Adapter,
        panel: Panel,
        pictures: Sequence[Picture],
        plan: Sequence[Sequence[Place]],
        settings: TrainSettings,
        recorder: Recorder,
        args: GRPOConfig,
        watch: Watch,
        first: int,
        seed: int,
        done: Sequence[Row],
        peft: LoraConfig | None,
    ) -> None:
        """``first``: steps of the run before ``plan[0]``; ``done``: rows of the steps that lie behind a resumed run."""
        self.adapter, self.panel, self.pictures, self.places = adapter, panel, pictures, plan
        self.settings, self.recorder, self.first, self.seed = settings, recorder, first, seed
        self.memory = panel.memory(done)
        self.rows: list[Row] = []  # of the latest step
        self.live = False  # whether any group of the latest step has spread
        self.proven = False
        self.ends = end_ids(adapter)
        rows = [
            {"prompt": [], "step": step, "place": i} for step, places in enumerate(plan) for i in range(len(places))
        ]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "You are using 'rollout_func'")
            super().__init__(
                model=adapter.model,
                reward_funcs=self.reward,
                args=args,
                train_dataset=Dataset.from_list(rows),
                processing_class=adapter.processor,
                callbacks=[watch],
                peft_config=peft,
                rollout_func=None if settings.use_vllm else self.draw,
            )
        self.eos_token_ids = self.ends
        watch.trainer = self
        self.remove_callback(PrinterCallback)

    # ---- before a question is drawn --------------------------------------------------------------------------------

    def slots(self, inputs: Sequence[Row]) -> list[Slot]:
        """The questions to draw, from rows of the data set: each prompt's samples follow each other."""
        step = inputs[0]["step"]
        places = [self.places[step][row["place"]] for row in inputs[:: self.settings.generations]]
        shown = [(self.pictures[place.image], place.turn) for place in places]
        prompter = plain(self.panel.instruction)
        slots = place_slots(shown, self.first + step + 1, self.settings.generations, self.seed, self.memory, prompter)
        return [replace(slot, seed=NO_SEED) for slot in slots] if self.settings.use_vllm else slots

    def draw(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """TRL's rollout function: one completion per row of the batch."""
        slots, images = self._slots, [self._images[slot.picture.image_id] for slot in self._slots]
        model = self.accelerator.unwrap_model(self.model_wrapped)
        model.eval()
        drawn = draw(
            self.adapter,
            model,
            [slot.prompt for slot in slots],
            images,
            [slot.seed for slot in slots],
            self.settings.temperature,
            self.settings.max_tokens,
        )
        model.train()
        rendered = [self.adapter.render(slot.prompt) for slot in slots]
        return {
            "prompt_ids": [
                self.adapter.encode(text, image).tolist() for text, image in zip(rendered, images, strict=True)
            ],
            "completion_ids": [list(said.ids) for said in drawn],
            "logprobs": [[0.0] * said.tokens for said in drawn],  # asked for, of no use with this sampler
            "drawn": drawn,
        }

    def _generate_and_score_completions(self, inputs: list[Row]) -> dict[str, Any]:
        self._slots = self.slots(inputs)
        self._images = images_of(self._slots)
        self._micro = list(range(len(inputs)))
        # The image stands in the message: a column of its own would make TRL run the processor over every sample.
        filled = [
            {"prompt": user_turn(slot.prompt, self._images[slot.picture.image_id]), "slot": slot}
            for slot in self._slots
        ]
        batch = super()._generate_and_score_completions(filled)
        batch["row"] = torch.arange(len(inputs))  # travels with its row through shuffling and cutting
        live = torch.from_numpy(spreads(self.rows, self.settings.generations) > 0)
        self.live = bool(live.any())
        # Groups without spread have zero advantage already; they are not to dilute the mean over tokens either.
        mask = batch["completion_mask"]
        tokens = mask[live.repeat_interleave(self.settings.generations).to(mask.device)].sum()
        batch["advantages"] = batch["advantages"] * (mask.sum() / tokens.clamp(min=1))
        if not self.proven:
            prove_pixels(self, batch)
            self.proven = True
        return batch

    # ---- after it was drawn ----------------------------------------------------------------------------------------

    def reward(
        self,
        completions: Sequence[Any],
        slot: Sequence[Slot],
        drawn: Sequence[Sampled] | None = None,
        completion_ids: Sequence[Sequence[int]] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """The reward function that TRL calls: grades and stores the questions.

        Args:
            completions: strings, chat messages, or lists of messages or content parts.
            slot: one per completion.
            drawn: what our sampler knows of them; absent with vLLM.
            completion_ids: their token ids.
            **_: whatever else a version of TRL passes.

        Returns:
            One reward each; None = no verdict.
        """
        ids = completion_ids if completion_ids is not None else [()] * len(completions)
        said = drawn or [
            Sampled(clean_question(completion_text(text)), None, len(tokens), bool(tokens) and tokens[-1] in self.ends)
            for text, tokens in zip(completions, ids, strict=True)
        ]
        self.rows = self.panel.grade(slot, said, self.memory)
        self.recorder.write(slot[0].step, self.rows)
        return [signal(row) for row in self.rows]

    # ---- log-probabilities -----------------------------------------------------------------------------------------

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        self._micro = inputs["row"].tolist()
        loss = super()._compute_loss(model, inputs)
        check_loss(loss.item(), self.first + self.state.global_step + 1)
        return loss

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        images: Mapping[str, Image.Image] | None = None,
        **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor, None]:
        """TRL's pass over prompt and completion, with inputs made by the adapter: one for all families, and proven.

        ``images``: by id, to be seen instead of the real ones.
        """
        size = batch_size or len(input_ids)
        # Without LoRA the reference is another model.
        adapter = replace(self.adapter, model=model) if model is self.ref_model else self.adapter
        logprobs: list[torch.Tensor] = []
        entropies: list[torch.Tensor] = []
        for start in range(0, len(input_ids), size):
            part = slice(start, start + size)
            shown = [self._slots[row].picture.image_id for row in self._micro[part]]
            seen = {image_id: (images or self._images)[image_id] for image_id in shown}
            rows = list(zip(input_ids[part], attention_mask[part].bool(), strict=True))
            prompts = [ids[:-logits_to_keep][real[:-logits_to_keep]] for ids, real in rows]
            said = [ids[-logits_to_keep:][real[-logits_to_keep:]] for ids, real in rows]
            made = completion_logprobs(adapter, model, prompts, said, shown, seen)
            for found, values in zip((logprobs, entropies), made, strict=True):
                found.append(torch.nn.functional.pad(values, (0, logits_to_keep - values.shape[1])))
        return torch.cat(logprobs), torch.cat(entropies), None

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """As the Trainer does, but through `from_pretrained`.

        A checkpoint has the hub's names of the weights. The Trainer loads them by the names in memory, which for
        several families are others, and goes on with a warning and the weights it had: those of the start.
        """
        model = self.accelerator.unwrap_model(model or self.model)
        if hasattr(model, "peft_config"):
            return super()._load_from_checkpoint(resume_from_checkpoint, model)
        saved = type(model).from_pretrained(resume_from_checkpoint, dtype=model.dtype)
        model.load_state_dict(saved.state_dict(), strict=True)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """No card: what made a checkpoint stands in the artifact's own record."""
