"""Tiny models of the four families that the engines are compared on."""

import pytest
import torch

from tests.mechanism.samples import FAMILIES, open_tiny


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session", params=FAMILIES)
def adapter(request, tmp_path_factory):
    """A tiny random model with grouped-query attention, four layers deep."""
    heads = (3, 1) if request.param in ("qwen", "llava") else (4, 2)
    return open_tiny(request.param, tmp_path_factory.mktemp("mechanism") / request.param, 4, heads)


@pytest.fixture(scope="session")
def qwen3(tmp_path_factory):
    """Four query heads on two key heads."""
    return open_tiny("qwen3_vl", tmp_path_factory.mktemp("mechanism") / "qwen3", 4, (4, 2))


@pytest.fixture(scope="session")
def llava(tmp_path_factory):
    return open_tiny("llava", tmp_path_factory.mktemp("mechanism") / "llava-1.5", 3)


@pytest.fixture(scope="session")
def qwen(tmp_path_factory):
    return open_tiny("qwen", tmp_path_factory.mktemp("mechanism") / "qwen2.5-vl", 3)
