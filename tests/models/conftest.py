"""Tiny models of all families, loaded by the ordinary loading code."""

import pytest
from vlmdx.models.load import load

from tests.models import tiny, tiny_families

EVERY = ["qwen", "llava", *tiny_families.FAMILIES]


def opened(name, folder):
    """The tiny model of any family, saved to ``folder`` and loaded from there."""
    if name in tiny_families.FAMILIES:
        return tiny_families.opened(name, folder)
    return load(str(tiny.build(name, folder)), device="cpu")


@pytest.fixture(scope="session", params=EVERY)
def every(request, tmp_path_factory):
    """The tiny model of each family behind its adapter."""
    return opened(request.param, tmp_path_factory.mktemp("every") / request.param)


@pytest.fixture(scope="session", params=["qwen", "llava"])
def folder(request, tmp_path_factory):
    """Folder of a saved tiny model."""
    return tiny.build(request.param, tmp_path_factory.mktemp("models") / f"{request.param}-v1.5")


@pytest.fixture(scope="session")
def adapter(folder):
    """The tiny model behind its family's adapter."""
    return load(str(folder), device="cpu")


@pytest.fixture(scope="session")
def qwen_folder(tmp_path_factory):
    return tiny.build("qwen", tmp_path_factory.mktemp("models") / "Qwen2.5-VL-tiny")


@pytest.fixture(scope="session")
def llava_folder(tmp_path_factory):
    return tiny.build("llava", tmp_path_factory.mktemp("models") / "llava-1.5-tiny")
