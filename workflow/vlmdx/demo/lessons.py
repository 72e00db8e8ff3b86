"""What the demo models are taught, as packs of segments: one-hop pairs, answers in words, answers by letter."""

from dataclasses import dataclass

import numpy as np

from vlmdx.demo.asked import Asked, options
from vlmdx.demo.draw import draw, mask
from vlmdx.demo.kinds import KINDS, Kinds
from vlmdx.demo.pack import Packer, Segment
from vlmdx.demo.questions import ask
from vlmdx.demo.scene import CANVAS, COLORS, SHAPES, SIZES, Scene, generator, sample_scene
from vlmdx.models.prompts import fill, letters

COVER = 0.25  # share of a vision token's cell that an object must cover to label it
NOTHING = 0  # label of a cell without an object


@dataclass(frozen=True)
class Prompts:
    """The product's two wordings (resources/prompts/letter.txt and text.txt)."""

    letter: str
    text: str


def dense_labels(scene: Scene, tokens: int) -> np.ndarray:
    """Colour, shape and size of the object in each vision token's cell: int ``(tokens, 3)``, 0 = none, raster order.

    Cells are those of a square grid of ``tokens`` cells over the canvas; covered means drawn on, not inside the box.
    """
    side = round(tokens**0.5)
    cell = CANVAS // side
    labels = np.full((side, side, 3), NOTHING)
    best = np.full((side, side), COVER)
    for t in scene.things:
        cover = mask(t).reshape(side, cell, side, cell).mean((1, 3))
        labels[cover >= best] = (1 + COLORS.index(t.color), 1 + SHAPES.index(t.shape), 1 + list(SIZES).index(t.size))
        best = np.maximum(best, cover)
    return labels.reshape(-1, 3)


def pairs(packer: Packer, scene: Scene) -> list[Segment]:
    """ "circle red", "red circle", "circle large" for what is unique in the scene; the second word is the target."""
    found = []
    for key, value in (("shape", "color"), ("color", "shape"), ("shape", "size")):
        keys = [getattr(t, key) for t in scene.things]
        for t in scene.things:
            if keys.count(getattr(t, key)) == 1:
                first, second = packer.words(f"{getattr(t, key)} {getattr(t, value)}")
                # the cue "shape" or "color" would be a question; the bare word is the shortest possible one
                if value != "size":
                    found.append(Segment([first, second], [(0, second, 1.0, f"pair_{value}")]))
                else:
                    cue = packer.words("size")[0]
                    found.append(Segment([first, cue, second], [(1, second, 1.0, "pair_size")]))
    return found


def text_segment(packer: Packer, prompts: Prompts, text: str, answer: str) -> Segment:
    """The question answered in a word: target at the last prompt token, then the end of the turn."""
    return _answered(packer, fill(prompts.text, text), text, answer, answer, "text")


def letter_segment(packer: Packer, prompts: Prompts, asked: Asked, rng: np.random.Generator) -> Segment:
    """The question with options in random order, answered by letter."""
    return _lettered(packer, prompts, asked.text, asked, rng, "letter")


def find_segment(packer: Packer, prompts: Prompts, asked: Asked, rng: np.random.Generator) -> Segment:
    """A letter question whose text is the answer itself: teaches "the letter in front of this word" alone."""
    return _lettered(packer, prompts, f"{asked.answer}?", asked, rng, "find")


def _lettered(
    packer: Packer, prompts: Prompts, text: str, asked: Asked, rng: np.random.Generator, kind: str
) -> Segment:
    choices = options(asked, rng)
    letter = letters(len(choices))[choices.index(asked.answer)]
    segment = _answered(packer, fill(prompts.letter, text, choices), text, asked.answer, letter, kind)
    yes, no = packer.words("yes no")
    first = len(packer.words(text)) + 2  # options follow as letter, ".", word
    for number, choice in enumerate(choices):
        at = first + 3 * number
        if segment.ids[at] != packer.words(choice)[0]:
            raise ValueError(f"{choice!r} is not at token {at} of {packer.processor.tokenizer.decode(segment.ids)!r}")
        segment.targets.append((at, yes if choice == asked.answer else no, 0.25, "check"))
    return segment


def _answered(packer: Packer, prompt: str, text: str, word: str, answer: str, kind: str) -> Segment:
    """A prompt and its answer; at the question's last token, "?", the answer in a word is asked for too (DEPTH)."""
    ids = packer.question(prompt)
    last = len(ids) - 1
    end = packer.processor.tokenizer.eos_token_id
    (token,) = packer.words(answer)
    targets = [(last, token, 1.0, kind), (last + 1, end, 0.1, "end")]
    targets.append((len(packer.words(text)) - 1, packer.words(word)[0], 0.5, "early"))
    return Segment([*ids, token], targets)


@dataclass(frozen=True)
class Mix:
    """How many segments of each sort one image gets; ``pair`` counts at most what the scene offers."""

    pair: int = 0
    text: int = 0
    letter: int = 0
    find: int = 0


def lesson(
    packer: Packer, prompts: Prompts, seed: int, index: int, mix: Mix, kinds: Kinds = KINDS
) -> tuple[Scene, np.ndarray, list[Segment]]:
    """One training image: ``(scene, pixels, segments)``; letters are drawn from the other end of the questions.

    So few questions are asked in both modes.
    """
    scene = sample_scene(seed, index)
    rng = generator(seed, index, 3)
    segments: list[Segment] = []
    if mix.pair:
        found = pairs(packer, scene)
        segments += [found[i] for i in rng.permutation(len(found))[: mix.pair]]
    if mix.text or mix.letter or mix.find:
        questions = ask(seed, scene, max(mix.text, mix.letter, mix.find), kinds)
        picked = [questions[i][1] for i in rng.permutation(len(questions))]
        segments += [text_segment(packer, prompts, asked.text, asked.answer) for asked in picked[: mix.text]]
        for count, make in ((mix.letter, letter_segment), (mix.find, find_segment)):
            segments += [make(packer, prompts, asked, rng) for asked in picked[len(picked) - count :]]
    return scene, draw(seed, scene), segments
