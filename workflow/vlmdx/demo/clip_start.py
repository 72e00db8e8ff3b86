"""Start values for LLaVA's CLIP tower: its heads begin at a patch's neighbours, its filters as cosine waves."""

import torch

# Where the four heads of each layer of the LLaVA tower look at the start, as (columns, rows) from the patch itself
OFFSETS = (
    ((-1, 0), (1, 0), (0, -1), (0, 1)),
    ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    ((-1, 0), (1, 0), (0, -1), (0, 1)),
    ((-1, -1), (1, -1), (-1, 1), (1, 1)),
)


def start_with_neighbours(tower) -> None:
    """Start CLIP's attention as a convolution: each head looks at one neighbour of the patch.

    CLIP has no relative positions and has to find a patch's neighbours first. The position table starts as 2-D sines;
    queries and keys start as those sines, turned by the head's offset, so that the score peaks at that neighbour.
    Everything is trained from there on.
    """
    inner = getattr(tower, "vision_model", tower)
    table = inner.embeddings.position_embedding.weight
    side, width = int((table.shape[0] - 1) ** 0.5), table.shape[1]
    waves = width // 4  # sine and cosine of each axis
    rates = 2.2 * 0.16 ** (torch.arange(waves) / (waves - 1))  # radians per patch: 2.2 (sharp) to 0.35 (one turn in 18)
    turns = torch.arange(side)[:, None] * rates
    line = torch.cat([turns.sin(), turns.cos()], 1)  # (side, width / 2)
    grid = torch.cat([line[None].expand(side, -1, -1), line[:, None].expand(-1, side, -1)], -1)  # columns, then rows
    with torch.no_grad():
        inner.embeddings.patch_embedding.weight.copy_(_waves(inner.embeddings.patch_embedding.weight.shape))
        table[1:] = 0.5 * grid.reshape(side * side, width)
        for layer, offsets in zip(inner.encoder.layers, OFFSETS, strict=False):
            layer.mlp.fc1.weight.normal_(std=0.2)  # bent enough at the start to tell an edge from its negative
            for head, offset in enumerate(offsets):
                _look_at(layer.self_attn, head, offset, rates)


def _waves(shape: torch.Size) -> torch.Tensor:
    """Patch filters ``(width, 3, patch, patch)``: the lowest cosine waves of each colour channel, as in a JPEG block.

    White-noise filters of 20 x 20 pixels see mostly noise; a shape lives in the low frequencies.
    """
    width, channels, size, _ = shape
    order = sorted(((u, v) for u in range(size) for v in range(size)), key=lambda w: (w[0] + w[1], w))[
        : width // channels
    ]
    at = (torch.arange(size) + 0.5) * torch.pi / size
    filters = torch.zeros(shape)
    for i, (u, v) in enumerate(order):
        wave = (u * at).cos()[:, None] * (v * at).cos()[None]
        for channel in range(channels):
            filters[i * channels + channel, channel] = 0.15 * wave / wave.norm()
    return filters


def _look_at(attention, head: int, offset: tuple[int, int], rates: torch.Tensor) -> None:
    """Turn one head to the neighbour at ``offset``: its score is the sum of cos(rate * distance from there)."""
    size, waves, gain = attention.head_dim, len(rates), 2.7
    used = torch.linspace(0, waves - 1, size // 4).round().long()  # waves of one axis that fit into the head
    row = head * size
    for axis, step in enumerate(offset):
        for wave in used.tolist():
            sine, cosine = axis * 2 * waves + wave, axis * 2 * waves + waves + wave
            turn = rates[wave] * step
            attention.q_proj.weight[row, sine] += gain
            attention.q_proj.weight[row + 1, cosine] += gain
            attention.k_proj.weight[row, sine] += gain * turn.cos()
            attention.k_proj.weight[row, cosine] -= gain * turn.sin()
            attention.k_proj.weight[row + 1, sine] += gain * turn.sin()
            attention.k_proj.weight[row + 1, cosine] += gain * turn.cos()
            row += 2
