"""Runs and models that several files of tests look at."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from tests.discovery.training import POLICY, small, train, weights
from tests.models import tiny_families


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory):
    """Four steps without a break: folder, weights, rows."""
    folder = tmp_path_factory.mktemp("unbroken")
    model, rows = train(folder, small())
    return folder, weights(model), rows


@pytest.fixture(scope="session", params=["qwen", "smolvlm"])
def random_policy(request, tmp_path_factory):
    """Folder of a tiny random Qwen2.5-VL (with the demo's small vocabulary) or SmolVLM."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "smolvlm":
        return tiny_families.build("smolvlm", folder)
    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(POLICY.source)
    config.text_config.initializer_range = config.vision_config.initializer_range = 0.2
    AutoModelForImageTextToText.from_config(config).save_pretrained(folder)
    AutoProcessor.from_pretrained(POLICY.source).save_pretrained(folder)
    return folder
