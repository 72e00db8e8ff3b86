"""Interventions in all layers: the fast engine against one forward pass per intervention and layer.

    python benchmarks/interventions.py [--layers 36] [--hidden 256] [--grid 20] [--curve docs/interventions.svg]

On a random Qwen2.5-VL it times the fast engine, transformer-lens's TransformerBridge and, where installed, nnsight
(`pip install nnsight`; only this benchmark uses it), all in one process, and compares their numbers with each other and
with a run in float64, in every fifth layer. Times are processor seconds. It stops if an engine is further than 1e-5
nats from another or from float64.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported: the model is made here

import argparse
import copy
import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from nnsight_engine import NNSightEngine
from PIL import Image
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from vlmdx.mechanism import bridge, engine, reference
from vlmdx.mechanism.sample import (
    ATTENTION_KNOCKOUT,
    KINDS,
    MEAN_ABLATION,
    MLP_ANSWER,
    MLP_OBJECT,
    Kind,
    Sample,
    Spec,
    all_layers,
)
from vlmdx.models.adapter import Row
from vlmdx.models.qwen2_5_vl import Adapter

IMAGE, VOCABULARY = 1000, 1024
SAME = 1e-5  # nats
TOGETHER = 2048  # `batch_tokens`; larger ones leave a CPU core's cache
NAMES = {
    "attention knockout": (ATTENTION_KNOCKOUT,),
    "MLP knockout, answer": (MLP_ANSWER,),
    "both at the answer": (ATTENTION_KNOCKOUT, MLP_ANSWER),
    "mean ablation": (MEAN_ABLATION,),
    "MLP knockout, object": (MLP_OBJECT,),
    "all four": KINDS,
}


@dataclass
class Bench(Adapter):
    """The family's adapter without processor: patches of noise for a grid of ``side`` x ``side`` tokens."""

    side: int = 0

    @property
    def image_token_id(self) -> int:
        return IMAGE

    def _padding_id(self) -> int:
        return 0

    def pixels(self, images: Any) -> dict[str, torch.Tensor]:
        cells = 2 * self.side
        patches = torch.randn(cells * cells, 1176, generator=torch.Generator().manual_seed(0)).repeat(len(images), 1)
        return {"pixel_values": patches, "image_grid_thw": torch.tensor([[1, cells, cells]] * len(images))}


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
            "bos_token_id": 1,
            "eos_token_id": 2,
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
    # The bridge insists on a tokenizer, opened from a folder; the benchmark makes up its ids.
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0}, "a")), unk_token="a", eos_token="a")
    processor = SimpleNamespace(tokenizer=words)
    adapter = Bench(Qwen2_5_VLForConditionalGeneration(config).eval(), processor, "benchmark", side=side)
    before, after = 20, 60
    ids = torch.tensor([*range(5, 5 + before - 1), IMAGE + 2, *[IMAGE] * side**2, IMAGE + 3, *range(5, 5 + after)])
    vision = tuple(range(before, before + side**2))
    middle = [before + (side // 2 + r - 1) * side + side // 2 + c - 1 for r in range(3) for c in range(3)]
    return adapter, Sample(ids, Image.new("RGB", (8, 8)), 7, (7, 8, 9), vision, tuple(middle))


def seconds(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Least processor time of a few calls, all threads together, and the result; other jobs hardly change it."""
    best, result = float("inf"), None
    for _ in range(repeats):
        begun = time.process_time()
        result = call()
        best = min(best, time.process_time() - begun)
    return best, result


def with_peak(call: Callable[[], Any]) -> tuple[float, Any]:
    """Peak resident memory during a call above that before it, MB (Linux with glibc)."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # or what earlier calls freed would be used again unseen
    Path("/proc/self/clear_refs").write_text("5")
    before, result = _status("VmRSS"), call()
    return (_status("VmHWM") - before) / 1024, result


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


class Exact:
    """The model in float64, its norms included, which transformers computes in float32 whatever the weights.

    It starts from the float32 model's own embeddings and positions, so that nothing but the decoder's rounding differs.
    """

    def __init__(self, adapter: Bench, sample: Sample) -> None:
        seen: dict[str, Any] = {}
        text = adapter.model.model.language_model
        handle = text.register_forward_pre_hook(lambda module, args, kwargs: seen.update(kwargs), with_kwargs=True)
        adapter.logits([Row(sample.ids, 0)], [sample.image])
        handle.remove()
        self.adapter = copy.copy(adapter)
        self.adapter.model = copy.deepcopy(adapter.model).double()
        self.text = self.adapter.model.model.language_model
        for module in self.text.modules():
            if type(module).__name__.endswith("RMSNorm"):
                module.forward = lambda x, norm=module: (  # type: ignore[method-assign, misc]
                    norm.weight * x * (x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon).rsqrt()
                )
        self.inputs = {"inputs_embeds": seen["inputs_embeds"].double(), "position_ids": seen["position_ids"]}
        self.sample = sample

    def __call__(self, spec: Spec | None = None) -> torch.Tensor:
        """Log-probability of the gold token."""
        if spec is None:
            hidden = self.text(**self.inputs, use_cache=False).last_hidden_state[0, -1]
        else:
            with reference.installed(self.adapter, self.sample, spec):
                hidden = self.text(**self.inputs, use_cache=False).last_hidden_state[0, -1]
        return self.adapter.model.lm_head(hidden).log_softmax(-1)[self.sample.target]


def bridged(adapter: Bench, sample: Sample) -> Callable[[Sequence[Spec]], torch.Tensor]:
    """One forward pass of the TransformerBridge per spec; it is booted once, outside the clock."""
    booted = bridge.Bridge(adapter, sample)
    return lambda specs: torch.stack([booted.under(sample, spec)[0, sample.target] for spec in specs])


def compare(layers: int, hidden: int, side: int) -> None:
    """Print the tables of one size.

    Raises:
        SystemExit: an engine's numbers are not those of the others.
    """
    adapter, sample = build(layers, hidden, side)
    rows, images = [Row(sample.ids, 0)], [sample.image]
    clean, _ = seconds(lambda: adapter.logits(rows, images), 5)
    print(f"{layers} layers x {hidden}, {len(sample.ids)} tokens, {side**2} of them of the image, {VOCABULARY} words")
    print(f"clean pass: {1000 * clean:.0f} ms, peak {with_peak(lambda: adapter.logits(rows, images))[0]:.0f} MB")
    fast, found, peak = {}, {}, {}
    for name, kinds in NAMES.items():
        specs = all_layers(kinds, layers)
        call = lambda specs=specs: engine.effects(adapter, [sample], specs, TOGETHER)  # noqa: E731
        repeats = 5 if all(kind[1] == "answer" for kind in kinds) else 1  # the others take many clean passes
        peak["fast", name], (fast[name], result) = with_peak(lambda call=call, n=repeats: seconds(call, n))
        found["fast", kinds] = result.logprob[:, 0]
    slow: dict[tuple[str, Kind], float] = {}
    engines: dict[str, Callable[[Sequence[Spec]], torch.Tensor]] = {}
    for label, start in {"bridge": bridged, "nnsight": NNSightEngine}.items():
        try:
            engines[label] = start(adapter, sample)
        except (ImportError, engine.EngineError) as error:
            print(f"{label} left out: {error}")
    for label, call_engine in engines.items():
        for kind in KINDS:
            specs = all_layers((kind,), layers)
            call = lambda specs=specs, run=call_engine: run(specs)  # noqa: E731
            peak[label, kind], (slow[label, kind], found[label, (kind,)]) = with_peak(
                lambda call=call: seconds(call, 1)
            )
    head = "".join(f"{label + ' CPU s':>15}{'times':>8}" for label in engines)
    print(f"\n{'all layers':22}{'fast CPU s':>12}{'clean passes':>14}{'peak MB':>9}{head}")
    for name, kinds in NAMES.items():
        spent = {label: sum(slow[label, kind] for kind in kinds) for label in engines}
        others = "".join(f"{s:15.2f}{s / fast[name]:8.1f}" for s in spent.values())
        print(f"{name:22}{fast[name]:12.3f}{fast[name] / clean:14.2f}{peak['fast', name]:9.0f}{others}")
    for label in engines:
        print(f"{label}, one pass at a time: peak {max(peak[label, kind] for kind in KINDS):.0f} MB")
    labels = "".join(f"{label:>11}" for label in ("fast", *engines))
    print(f"\n{'max |log p - float64|':22}{labels}  fast - others")
    exact, worst = Exact(adapter, sample), 0.0
    judged = [*range(0, layers, 5), layers - 1]
    for name, kinds in NAMES.items():
        if len(kinds) != 1:
            continue
        truth = torch.stack([exact(Spec(kinds[0], layer)) for layer in judged])
        errors = [(found[label, kinds][judged].double() - truth).abs().max().item() for label in ("fast", *engines)]
        between = [(found["fast", kinds] - found[label, kinds]).abs().max().item() for label in engines]
        worst = max(worst, *errors, *between)
        print(f"{name:22}" + "".join(f"{e:11.1e}" for e in errors) + "  " + " ".join(f"{b:.1e}" for b in between))
    together = torch.cat([found["fast", (kind,)] for kind in KINDS])
    mixed = (together - found["fast", KINDS]).abs().max().item()
    print(f"fast, all four at once against one by one: {mixed:.1e}")
    if not max(worst, mixed) <= SAME:
        raise SystemExit(f"an engine is {max(worst, mixed):.1e} nats off, more than {SAME:.0e}")


def curve(path: Path, hidden: int) -> None:
    """Cost of the interventions in clean passes of the same size, against layers and tokens."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    sizes = ([(n, 12) for n in (6, 12, 24, 36)], [(12, side) for side in (8, 12, 16, 24)])
    for axis, plan, label in zip(axes, sizes, ("layers", "tokens"), strict=True):
        places, costs = [], {"both at the answer": [], "both at the object": []}
        for layers, side in plan:
            adapter, sample = build(layers, hidden, side)
            clean, _ = seconds(lambda a=adapter, s=sample: a.logits([Row(s.ids, 0)], [s.image]), 5)
            for name, kinds in zip(costs, (KINDS[1::2], KINDS[::2]), strict=True):
                specs = all_layers(kinds, layers)
                spent, _ = seconds(lambda a=adapter, s=sample, p=specs: engine.effects(a, [s], p, TOGETHER), 3)
                costs[name].append(spent / clean)
            places.append(layers if label == "layers" else len(sample.ids))
            print(f"{layers} layers, {len(sample.ids)} tokens: " + str({k: round(v[-1], 2) for k, v in costs.items()}))
        for name, values in costs.items():
            axis.plot(places, values, "o-", label=name)
        axis.plot(places, [2 * layers for layers, _ in plan], "k--", linewidth=0.8, label="one pass per layer")
        axis.set_xlabel(label + (" (at 225 tokens)" if label == "layers" else " (at 12 layers)"))
        axis.set_yscale("log")
    axes[0].set_ylabel("clean passes")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=7, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--grid", type=int, default=20, help="image tokens per side")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--curve", type=Path, help="also plot cost against layers and tokens to this file")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with torch.inference_mode():
        compare(args.layers, args.hidden, args.grid)
        if args.curve:
            curve(args.curve, args.hidden)


if __name__ == "__main__":
    main()
