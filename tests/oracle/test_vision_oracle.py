"""The models against torchvision's: names, shapes and first values of their state, and scores.

torchvision belongs to one release of PyTorch: `pip install torchvision==0.28.0 --no-deps` (in an environment with torch 2.13.0).
"""
import warnings

import numpy as np
import pytest
import torch as real

import pyx_tensor as torch
from pyx_tensor.vision import models


def import_models():
    """torchvision.models. Its compiled operations may belong to another build of PyTorch; models don't need them."""
    register = real.library.register_fake
    real.library.register_fake = lambda name, *args, **kwargs: (
        (lambda function: function) if str(name).startswith("torchvision::") else register(name, *args, **kwargs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torchvision.models
        return torchvision.models
    except ImportError as error:
        pytest.skip(f"torchvision isn't installed ({error}): pip install torchvision==0.28.0 --no-deps", allow_module_level=True)
    finally:
        real.library.register_fake = register


theirs = import_models()
SMALL = ["alexnet", "resnet18", "resnet50", "squeezenet1_0", "squeezenet1_1", "densenet121", "inception_v3", "vgg11_bn"]


def quietly(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


@pytest.mark.parametrize("name", models.list_models())
def test_names_and_shapes(name, monkeypatch):
    for drawing in ("uniform_", "normal_"):
        monkeypatch.setattr(torch.Tensor, drawing, lambda self, *args, **kwargs: self)
    options = dict(init_weights=False) if name.startswith(("vgg", "inception")) else {}
    with real.device("meta"):
        expected = getattr(theirs, name)(num_classes=7, **options).state_dict()
    found = quietly(models.get_model, name, num_classes=7, **options).state_dict()
    assert list(found) == list(expected)
    assert all(tuple(found[key].shape) == tuple(expected[key].shape) for key in found)


@pytest.mark.parametrize("name", SMALL)
def test_scores(name):
    """With torchvision's state dict, to 1e-4; and the same random numbers made it."""
    real.manual_seed(0)
    torch.manual_seed(0)
    other = quietly(getattr(theirs, name), num_classes=10).eval()
    ours = quietly(models.get_model, name, num_classes=10).eval()
    state = {key: torch.from_numpy(value.numpy().copy()) for key, value in other.state_dict().items()}
    first = next(iter(state))
    np.testing.assert_allclose(ours.state_dict()[first].numpy(), state[first].numpy(), rtol=1e-4, atol=1e-6)
    assert "All keys matched" in repr(ours.load_state_dict(state))
    x = np.random.default_rng(0).standard_normal((2, 3, 96 if name != "inception_v3" else 160, 96 if name != "inception_v3" else 128)).astype("f4")
    with torch.no_grad(), real.no_grad():
        scores, expected = ours(torch.from_numpy(x)).numpy(), other(real.from_numpy(x)).numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
