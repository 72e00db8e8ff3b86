"""What each image token shows: paint a box, and the tokens that change are the predicted ones, no others."""

import numpy as np
import pytest
import torch
from PIL import Image
from vlmdx.models.adapter import Row
from vlmdx.models.geometry import View, clip, tiles
from vlmdx.models.tokens import PromptError

from tests.models import tiny_families
from tests.models.conftest import opened
from tests.models.tiny import picture
from tests.models.tiny_families import FAMILIES

MIXING = ("out_proj", "attn.proj", "projection_layer")  # what lets a vision tower's patches see each other
SIZES = [(140, 140), (300, 170), (170, 300), (230, 60)]
EVERY = ["qwen", "llava", *FAMILIES]


@pytest.fixture(scope="module", params=EVERY)
def local(request, tmp_path_factory):
    """The tiny model of each family with a vision tower whose patches do not see each other.

    The processor takes the nearest pixel, so that nothing of the box leaks into the next cell by interpolation.
    """
    adapter = opened(request.param, tmp_path_factory.mktemp("views") / request.param)
    return make_local(adapter)


def make_local(adapter):
    mixing = [m for n, m in adapter.model.named_modules() if n.endswith(MIXING) and "language_model" not in n]
    assert mixing
    for module in mixing:
        torch.nn.init.zeros_(module.weight)
    adapter.processor.image_processor.resample = Image.Resampling.NEAREST
    return adapter


@torch.inference_mode()
def embeddings(adapter, ids, image):
    """What the first decoder layer gets, [length, width]: image features in their places, whatever the model packs."""
    seen = []
    handle = adapter.decoder_layers[0].register_forward_pre_hook(lambda module, args: seen.append(args[0][0]))
    adapter.logits([Row(ids, 0)], [image])
    handle.remove()
    return seen[0]


def boxes(views, size, seed, n=4):
    """Random boxes of which no edge lies near the border of a cell in any view, where a pixel may round either way."""
    random, found = np.random.default_rng(seed), []
    while len(found) < n:
        x, y = random.integers(0, size[0] - 8), random.integers(0, size[1] - 8)
        box = (int(x), int(y), int(random.integers(8, size[0] - x + 1)), int(random.integers(8, size[1] - y + 1)))
        if all(_clear(view, box) for view in views):
            found.append(box)
    return found


def _clear(view, box):
    near = []
    for axis, cells in ((0, view.grid[1]), (1, view.grid[0])):
        for edge in (box[axis], box[axis] + box[axis + 2]):
            place = (edge - view.shown[axis]) / view.shown[axis + 2] * cells
            near.append(abs(place - round(place)) if 0 < round(place) < cells else 1)
    return min(near) > 0.15


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_x06_painting_a_box_changes_the_predicted_embeddings_only(local, size):
    blank = picture(*size)
    ids = local.encode(local.render("what dog"), blank)
    positions, views = local.image_views(ids, blank)
    assert sorted(t for v in views for t in v.tokens) == [t for v in views for t in v.tokens]
    before, covered = embeddings(local, ids, blank), set()
    for box in boxes(views, size, seed=len(ids)):
        painted = blank.copy()
        painted.paste(picture(*box[2:], seed=7), box[:2])
        changed = (embeddings(local, ids, painted) != before).any(-1).nonzero()[:, 0].tolist()
        predicted = [positions[token] for view in views for token in view.tokens_in(box)]
        assert changed == predicted
        covered.add(len(predicted))
    assert len(covered) > 1


def test_x06_all_of_the_image_is_all_of_the_tokens_that_show_something(every):
    image = picture(500, 375)
    ids = every.encode(every.render("what"), image)
    positions, views = every.image_views(ids, image)
    assert positions == (ids == every.image_token_id).nonzero()[:, 0].tolist()
    inside = [token for view in views for token in view.tokens_in((0, 0, 500, 375))]
    assert inside == [token for view in views for token in view.tokens]
    marks = sum(view.marks * view.grid[0] for view in views)
    assert len(inside) == len(positions) - marks
    for view in views:
        for rule in ("any", "half", "centre"):
            cells = [view.tokens_in(view.cell_box(token), rule) for token in view.tokens]
            if view.shown[0] >= 0 and view.shown[1] >= 0:
                assert cells == [[token] for token in view.tokens]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # 300 x 170 -> 112 x 64 px in the middle of 112 x 112; of 8 x 8 tokens 4 rows are kept, and 4 px more are lost
        ("llava_next", [(4, 4), (4, 8)]),
        ("llava_onevision", [(4, 4), (4, 8)]),
        ("internvl", [(2, 2)] * 3),  # two tiles and the thumbnail
        ("idefics3", [(2, 2)] * 7),  # 168 x 95.2 -> 3 x 2 tiles and the global view
        ("gemma3", [(2, 2)]),
        ("paligemma", [(4, 4)]),
    ],
)
def test_x06_views_of_tiled_families(name, expected, tmp_path):
    adapter = opened(name, tmp_path / name)
    image = picture(300, 170)
    views = adapter.image_views(adapter.encode(adapter.render("what"), image), image)[1]
    assert [view.grid for view in views] == expected
    # a box near the upper right corner lies in the last column of the first row of every view that shows it
    shown = [view.tokens_in((299, 14, 1, 1)) for view in views]
    assert [view.tokens[view.grid[1] - 1] for view, tokens in zip(views, shown, strict=True) if tokens] == [
        token for tokens in shown for token in tokens
    ]
    assert sum(map(len, shown)) == (1 if len(expected) == 1 else 2)  # a tile and the whole


@torch.inference_mode()
def test_x06_onevision_grids_over_the_limit_are_pooled(tmp_path):
    """Interpolation mixes neighbours, so a box also changes the tokens next to it, and nothing further off."""
    adapter = make_local(tiny_families.opened("llava_onevision", tmp_path / "m"))
    for owner in (adapter.model.config, adapter.processor):
        owner.vision_aspect_ratio = "anyres_max_1"
    blank = picture(300, 280)
    ids = adapter.encode(adapter.render("what"), blank)
    positions, (overview, grid) = adapter.image_views(ids, blank)
    assert overview.grid == grid.grid == (4, 4) and grid.marks == 1
    before = embeddings(adapter, ids, blank)
    for box in boxes((overview, grid), (300, 280), seed=1):
        painted = blank.copy()
        painted.paste(picture(*box[2:], seed=7), box[:2])
        changed = {p for p, new in enumerate((embeddings(adapter, ids, painted) != before).any(-1).tolist()) if new}
        width, height = grid.shown[2] / grid.grid[1], grid.shown[3] / grid.grid[0]
        wider = (box[0] - width, box[1] - height, box[2] + 2 * width, box[3] + 2 * height)
        whole = set(overview.tokens_in(box))
        least, most = (whole | set(grid.tokens_in(b, rule)) for b, rule in ((box, "centre"), (wider, "any")))
        assert {positions[t] for t in least} <= changed <= {positions[t] for t in most}


def test_x06_llava_box_in_the_cropped_away_part_has_no_token(tmp_path):
    adapter = opened("llava", tmp_path / "m")
    adapter.processor.image_processor.size = {"shortest_edge": 336}
    adapter.processor.image_processor.crop_size = {"height": 336, "width": 336}
    (view,) = adapter.views(picture(500, 375))
    assert view.grid == (24, 24)
    assert view.tokens_in((0, 0, 55, 375)) == [] and view.tokens_in((445, 0, 55, 375)) == []
    assert len(view.tokens_in((0, 0, 500, 375))) == 576


def test_x06_processors_that_show_the_image_in_another_way(tmp_path):
    adapter = opened("llava", tmp_path / "m")
    processor = adapter.processor.image_processor
    processor.do_center_crop, processor.size = False, {"height": 70, "width": 70}
    (view,) = adapter.views(picture(500, 375))
    assert view.shown == (0, 0, 500, 375) and view.grid == (5, 5)
    processor.do_pad = True
    with pytest.raises(NotImplementedError, match="do_pad"):
        adapter.views(picture(500, 375))


def test_x06_views_that_do_not_add_up_to_the_prompt_are_refused(every, monkeypatch):
    image = picture(140, 140)
    ids = every.encode(every.render("what"), image)
    every._views.clear()
    monkeypatch.setattr(type(every), "views", lambda self, image: [View(0, (1, 3), (0, 0, 1, 1))])
    with pytest.raises(PromptError, match="views of 1 x 3 cells"):
        every.image_views(ids, image)
    every._views.clear()


def test_x06_gemma_pan_and_scan_is_refused(tmp_path):
    adapter = opened("gemma3", tmp_path / "m")
    options = {"do_pan_and_scan": True, "pan_and_scan_min_crop_size": 20}
    adapter.processor.images_kwargs = {**adapter.processor.images_kwargs, **options}
    with pytest.raises(PromptError, match="image tokens"):
        adapter.encode(adapter.render("what"), picture(300, 100))


def test_tiles_and_clip():
    views = tiles(5, (2, 3), (4, 4), (300, 200))
    assert [view.first for view in views] == [5, 21, 37, 53, 69, 85]
    assert views[4].shown == (100, 100, 100, 100)
    assert views[4].tokens_in((101, 101, 1, 1)) == [69] and views[4].tokens_in((99, 99, 1, 1)) == []
    assert clip((-5, 190, 10, 100), (300, 200)) == (0, 190, 5, 10)
    assert clip((300, 0, 5, 5), (300, 200)) is None
