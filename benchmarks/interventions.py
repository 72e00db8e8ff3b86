"""Fast engine against one forward pass per intervention and layer, on a random Qwen2.5-VL: time, memory, same numbers.

    python benchmarks/interventions.py [--layers 36] [--hidden 256] [--grid 20] [--curve]

Prints a table, checks that both engines give the same numbers, and with --curve writes cost against layers and tokens
to benchmarks/interventions.svg.
"""

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from vlmdx.mechanism import engine, reference
from vlmdx.mechanism.sample import ATTENTION_KNOCKOUT, KINDS, MEAN_ABLATION, MLP_ANSWER, MLP_OBJECT, Sample, all_layers
from vlmdx.models.adapter import Row
from vlmdx.models.qwen2_5_vl import Adapter

IMAGE, VOCABULARY = 1000, 1024
SAME = 1e-5  # nats, as in tests/mechanism; a run that exceeds it stops and says by how much
PIXELS = "pixel_values"


class Bench(Adapter):
    """The family's adapter without processor: patches of noise for a grid of ``side`` x ``side`` tokens."""

    side: int
    has_grid = False

    @property
    def image_token_id(self) -> int:
        return IMAGE

    def _padding_id(self) -> int:
        return 0

    def pixels(self, images: Any) -> dict[str, torch.Tensor]:
        cells = 2 * self.side
        patches = torch.randn(cells * cells, 1176, generator=torch.Generator().manual_seed(0)).repeat(len(images), 1)
        return {PIXELS: patches, "image_grid_thw": torch.tensor([[1, cells, cells]] * len(images))}


def build(layers: int, hidden: int, side: int) -> tuple[Bench, Sample]:
    """A random model and one sample whose grounding set is 9 tokens in the middle of the image."""
    torch.manual_seed(0)
    heads = hidden // 32
    config = Qwen2_5_VLConfig(
        text_config={
            "hidden_size": hidden,
            "intermediate_size": 4 * hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": max(1, heads // 4),
            "max_position_embeddings": 8192,
            "vocab_size": VOCABULARY,
            "initializer_range": 0.05,
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [4, 6, 6]},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "num_heads": 2,
            "intermediate_size": 128,
            "out_hidden_size": hidden,
            "fullatt_block_indexes": [1],
        },
        image_token_id=IMAGE,
        video_token_id=IMAGE + 1,
        vision_start_token_id=IMAGE + 2,
        vision_end_token_id=IMAGE + 3,
    )
    adapter = Bench(Qwen2_5_VLForConditionalGeneration(config).eval(), None, "benchmark")
    adapter.side = side
    before, after = 20, 60
    ids = torch.tensor([*range(5, 5 + before - 1), IMAGE + 2, *[IMAGE] * side**2, IMAGE + 3, *range(5, 5 + after)])
    vision = tuple(range(before, before + side**2))
    middle = [before + (side // 2 + r - 1) * side + side // 2 + c - 1 for r in range(3) for c in range(3)]
    return adapter, Sample(ids, Image.new("RGB", (8, 8)), 7, (7, 8, 9), vision, tuple(middle))


def seconds(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Best time of a few calls, and the result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        begun = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - begun)
    return best, result


def memory() -> float:
    """Peak resident memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(layers: int, hidden: int, side: int) -> None:
    """Print the table of one size."""
    adapter, sample = build(layers, hidden, side)
    tokens = len(sample.ids)
    clean, _ = seconds(lambda: adapter.logits([Row(sample.ids, 0)], [sample.image]), 5)
    print(f"{layers} layers x {hidden}, {tokens} tokens ({side**2} of the image); clean pass {1000 * clean:.0f} ms")
    print(f"model alone: peak {memory():.0f} MB")
    names = {
        "attention knockout": (ATTENTION_KNOCKOUT,),
        "MLP knockout, answer": (MLP_ANSWER,),
        "both, answer position": (ATTENTION_KNOCKOUT, MLP_ANSWER),
        "mean ablation": (MEAN_ABLATION,),
        "MLP knockout, object": (MLP_OBJECT,),
        "all four": KINDS,
    }
    fast = {}
    for name, kinds in names.items():
        specs = all_layers(kinds, layers)
        fast[name] = seconds(lambda specs=specs: engine.effects(adapter, [sample], specs, 8192))
    print(f"fast engine: peak {memory():.0f} MB")
    print(f"{'all layers':24}{'reference s':>12}{'fast s':>9}{'times':>7}{'clean passes':>14}{'difference':>12}")
    slow = {
        kind: seconds(lambda kind=kind: reference.effects(adapter, [sample], all_layers((kind,), layers)), 1)
        for kind in KINDS
    }
    for name, kinds in names.items():
        spent = sum(slow[kind][0] for kind in kinds)
        expected = torch.cat([slow[kind][1].logprob for kind in kinds])
        quick, found = fast[name]
        difference = (expected - found.logprob).abs().max().item()
        print(
            f"{name:24}{spent:12.2f}{quick:9.3f}{spent / quick:7.1f}{quick / clean:14.2f}{difference:12.1e}", flush=True
        )
        if difference > SAME:
            raise SystemExit(f"{name}: the engines differ by {difference:.1e}")
    print(f"reference: peak {memory():.0f} MB")


def curve(path: Path, hidden: int) -> None:
    """Cost of all four interventions in clean passes of the same size, against layers and tokens."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 2.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    sizes = ([(n, 12) for n in (6, 12, 24, 36)], [(12, side) for side in (8, 12, 16, 24)])
    for axis, plan, label in zip(axes, sizes, ("layers", "tokens"), strict=True):
        places, costs = [], {"answer position": [], "object": []}
        for layers, side in plan:
            adapter, sample = build(layers, hidden, side)
            clean, _ = seconds(lambda a=adapter, s=sample: a.logits([Row(s.ids, 0)], [s.image]), 5)
            for name, kinds in (("answer position", KINDS[1::2]), ("object", KINDS[::2])):
                specs = all_layers(kinds, layers)
                spent, _ = seconds(lambda a=adapter, s=sample, p=specs: engine.effects(a, [s], p, 8192))
                costs[name].append(spent / clean)
            places.append(layers if label == "layers" else len(sample.ids))
        for name, values in costs.items():
            axis.plot(places, values, "o-", label=f"both at the {name}")
        axis.plot(
            places, [2 * plan[i][0] for i in range(len(places))], "k--", linewidth=0.8, label="one pass per layer"
        )
        axis.set_xlabel(label)
        axis.set_yscale("log")
    axes[0].set_ylabel("clean passes")
    axes[0].legend(fontsize=7, frameon=False)
    figure.savefig(path)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--grid", type=int, default=20, help="image tokens per side")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--curve", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with torch.inference_mode():
        compare(args.layers, args.hidden, args.grid)
        if args.curve:
            curve(Path(__file__).with_suffix(".svg"), args.hidden)


if __name__ == "__main__":
    main()
