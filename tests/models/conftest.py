"""Tiny models of both families, loaded by the ordinary loading code."""

import pytest
from vlmdx.models.load import load

from tests.models import tiny


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
