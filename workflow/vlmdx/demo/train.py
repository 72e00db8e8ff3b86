"""Train a demo model in three stages: see (dense labels), pair (one-hop words), ask (questions in words and by letter).

Without the first two stages the loss stays at chance for more than a thousand steps. Data are a function of the seed
and the step, so a training that was killed and resumed gives the same weights as one that ran through.
"""

import csv
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from vlmdx.demo.architectures import build
from vlmdx.demo.checkpoint import save_model
from vlmdx.demo.kinds import Kinds
from vlmdx.demo.lessons import Mix, Prompts, dense_labels, lesson
from vlmdx.demo.pack import Packer
from vlmdx.demo.scene import COLORS, HELD_OUT_FIRST, SHAPES, SIZES, TRAIN_FIRST
from vlmdx.demo.stages import Stage, default_stages, rate, stage_of

HELD_OUT_SCENES = 48  # for the curve; the final evaluation uses other held-out scenes
CURVE_MIX = Mix(text=8, letter=8)
EMPTY_WEIGHT = 0.15  # of a vision token without an object in the dense loss: they are many and easy
DENSE = (1 + len(COLORS), 1 + len(SHAPES), 1 + len(SIZES))


@dataclass
class Progress:
    """What a killed training needs to go on."""

    step: int = 0
    curve: list[dict] = field(default_factory=list)
    seconds: float = 0.0


def train(
    name: str,
    folder: str | Path,
    prompts: Prompts,
    *,
    seed: int,
    stages: tuple[Stage, ...] | None = None,
    every: int = 100,
    save_every: int = 200,
    bfloat16: bool = True,
    say=print,
) -> list[dict]:
    """Train demo model ``name`` into ``folder``; returns the learning curve (also ``curve.csv`` beside the folder).

    Args:
        every: steps between two rows of the curve.
        save_every: steps between two checkpoints (the model, and the state that resumes it).
        bfloat16: run matrix products in bfloat16 (1.4 times faster where the CPU can); weights stay float32.
        say: called with one line per curve row.
    """
    torch.set_num_threads(1)
    stages = default_stages(name) if stages is None else stages
    folder = Path(folder)
    state_file = folder.with_name(f"{folder.name}.state.pt")
    model, processor = build(name, seed)
    packer = Packer(model, processor)
    heads = torch.nn.Linear(model.config.text_config.hidden_size, sum(DENSE))
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [
            {"params": [*decay, heads.weight], "weight_decay": 0.05},
            {"params": [*rest, heads.bias], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
    )
    progress = Progress()
    if state_file.exists():
        state = torch.load(state_file, weights_only=True)
        model.load_state_dict(state["model"]), heads.load_state_dict(state["heads"])
        optimizer.load_state_dict(state["optimizer"])
        progress = Progress(**state["progress"])
    total = sum(s.steps for s in stages)
    began = time.monotonic() - progress.seconds
    sums: dict[str, list[float]] = {}
    for step in range(progress.step, total):
        stage, at, first = stage_of(stages, step)
        for group in optimizer.param_groups:
            group["lr"] = rate(stage, at)
        scenes = [
            lesson(packer, prompts, seed, TRAIN_FIRST + first + i, stage.mix, stage.kinds) for i in range(stage.images)
        ]
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            loss, parts = _loss(packer, heads, stage, scenes)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*model.parameters(), *heads.parameters()], 1.0)
        optimizer.step()
        for key, value in parts.items():
            sums.setdefault(key, []).append(value)
        done = step + 1
        if done % every == 0 or done == total:
            row = {"step": done, "stage": stage.name, "seconds": round(time.monotonic() - began, 1)}
            row |= {key: round(float(np.mean(values)), 4) for key, values in sums.items()}
            if stage.mix.text or stage.mix.letter:
                row |= held_out(packer, prompts, seed, stage.kinds)
            progress.curve.append(row)
            sums = {}
            say(" ".join(f"{k}={v}" for k, v in row.items()))
        if done % save_every == 0 or done == total:
            progress.step, progress.seconds = done, time.monotonic() - began
            save_model(model, processor, folder)
            _write_curve(folder.with_name(f"{folder.name}.curve.csv"), progress.curve)
            _save_state(state_file, model, heads, optimizer, progress)
    return progress.curve


def _loss(packer: Packer, heads, stage: Stage, scenes) -> tuple[torch.Tensor, dict[str, float]]:
    with torch.set_grad_enabled(not stage.frozen):
        seen = packer.image_tokens([pixels for _, pixels, _ in scenes])
    parts: dict[str, float] = {}
    loss = torch.zeros(())
    if stage.dense:
        labels = torch.from_numpy(np.stack([dense_labels(scene, seen.shape[1]) for scene, *_ in scenes]))
        logits = heads(seen.float()).split(DENSE, -1)
        objects = labels[..., 0] > 0
        share = torch.where(objects, 1.0, EMPTY_WEIGHT)
        share = share / share.sum()
        each = torch.stack(
            [
                (F.cross_entropy(x.transpose(1, 2), labels[..., i], reduction="none") * share).sum()
                for i, x in enumerate(logits)
            ]
        )
        right = torch.stack([(x.argmax(-1) == labels[..., i])[objects].float().mean() for i, x in enumerate(logits)])
        parts |= {"dense": each.sum().item(), "dense_color": right[0].item(), "dense_shape": right[1].item()}
        loss = loss + stage.dense * each.sum()
    packs = [segments for *_, segments in scenes]
    if any(packs):
        logits, wanted, weights, kinds = packer.gather(packer.hidden(seen, packs), packs, stage.deep)
        each = F.cross_entropy(logits, wanted, reduction="none")
        loss = loss + (each * weights).sum() / weights.sum()
        sort, values = np.array(kinds), each.detach().numpy()
        parts |= {f"loss_{k}": values[sort == k].mean().item() for k in sorted(set(kinds))}
    return loss, parts


@torch.no_grad()
def held_out(
    packer: Packer, prompts: Prompts, seed: int, kinds: Kinds, scenes: int = HELD_OUT_SCENES
) -> dict[str, float]:
    """Accuracy on held-out scenes per answer mode; both among all words."""
    found = [lesson(packer, prompts, seed, HELD_OUT_FIRST + i, CURVE_MIX, kinds) for i in range(scenes)]
    right: dict[str, list[bool]] = {}
    for start in range(0, scenes, 16):
        part = found[start : start + 16]
        packs = [segments for *_, segments in part]
        hidden = packer.hidden(packer.image_tokens([pixels for _, pixels, _ in part]), packs)
        logits, wanted, _, modes = packer.gather(hidden, packs)
        for correct, mode in zip((logits.argmax(-1) == wanted).tolist(), modes, strict=False):
            right.setdefault(mode, []).append(correct)
    return {
        f"accuracy_{k}": round(float(np.mean(right[k])), 4) for k in ("text", "letter", "early", "check") if k in right
    }


def _write_curve(file: Path, rows: list[dict]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    new = file.with_name(f".{file.name}.{os.getpid()}")
    with new.open("w", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        writer.writerows(rows)
    new.replace(file)


def _save_state(file: Path, model, heads, optimizer, progress: Progress) -> None:
    new = file.with_name(f".{file.name}.{os.getpid()}")
    torch.save(
        {
            "model": model.state_dict(),
            "heads": heads.state_dict(),
            "optimizer": optimizer.state_dict(),
            "progress": asdict(progress),
        },
        new,
    )
    new.replace(file)
