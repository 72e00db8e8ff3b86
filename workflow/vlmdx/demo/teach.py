"""Teach a demo model something more: steps of gradient descent from its weights, resumable at any point."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from vlmdx.demo.checkpoint import save_model


def teach(
    model,
    processor,
    folder: str | Path,
    loss: Callable[[int], torch.Tensor],
    rate: Callable[[int], float],
    steps: int,
    *,
    every: int = 50,
    save_every: int = 100,
    say: Callable[[str], None] = print,
) -> list[dict]:
    """Train into ``folder``, resuming from ``{folder}.state.pt``; returns the curve of losses.

    Args:
        model: whose weights are changed.
        processor: saved with it.
        folder: where both are saved.
        loss: loss of a step, nats a token; a function of the step alone, so that a resumed training equals another.
        rate: learning rate of a step.
        steps: optimizer steps.
        every: steps between two rows of the curve.
        save_every: steps between two states.
        say: called with one line per row.
    """
    folder = Path(folder)
    state_file = folder.with_name(f"{folder.name}.state.pt")
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
    done, curve, losses = 0, [], []
    if state_file.exists():
        state = torch.load(state_file, weights_only=True)
        model.load_state_dict(state["model"]), optimizer.load_state_dict(state["optimizer"])
        done, curve = state["done"], state["curve"]
    model.train()
    for step in range(done, steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        with torch.autocast("cpu", torch.bfloat16):  # 1.5 times faster where the CPU can; weights stay float32
            found = loss(step)
        optimizer.zero_grad(set_to_none=True)
        found.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(found.item())
        if (step + 1) % every == 0 or step + 1 == steps:
            curve.append({"step": step + 1, "loss": round(float(np.mean(losses)), 4)})
            say(f"step {step + 1} of {steps}: loss {curve[-1]['loss']} nats a token")
            losses = []
        if (step + 1) % save_every == 0 or step + 1 == steps:
            new = state_file.with_name(f".{state_file.name}.{os.getpid()}")
            parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "done": step + 1, "curve": curve}
            torch.save(parts, new)
            new.replace(state_file)
    save_model(model.eval(), processor, folder)
    return curve
