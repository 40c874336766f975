"""Files both ways between pyx_tensor and PyTorch."""
import io

import numpy as np
import pytest
import pyx_tensor
import torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def over(save, load, obj, **options):
    buffer = io.BytesIO()
    save(obj, buffer)
    buffer.seek(0)
    return load(buffer, **options)


def make(module, name):
    x = module.arange(24).reshape(2, 3, 4).to(getattr(module, name))
    return {"whole": x, "part": x[:, 1], "turned": x.permute(2, 0, 1), "single": x[0, 0, 0], "none": x[:0]}


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_both_ways(name):
    ours, theirs = make(pyx_tensor, name), make(torch, name)
    for there, expected in ((over(pyx_tensor.save, torch.load, ours, weights_only=True), theirs),
                            (over(torch.save, pyx_tensor.load, theirs), ours)):
        for key, value in expected.items():
            assert there[key].tolist() == value.tolist() and there[key].stride() == value.stride(), key
            assert str(there[key].dtype) == str(value.dtype)


def network(module):
    nn = module.nn
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))


def test_state_dicts_both_ways():
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    ours, theirs = network(pyx_tensor), network(torch)
    theirs.load_state_dict(over(pyx_tensor.save, torch.load, ours.state_dict(), weights_only=True))
    np.testing.assert_allclose(theirs(torch.from_numpy(x)).detach().numpy(), ours(pyx_tensor.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
    theirs = network(torch)
    ours.load_state_dict(over(torch.save, pyx_tensor.load, theirs.state_dict()))
    np.testing.assert_allclose(theirs(torch.from_numpy(x)).detach().numpy(), ours(pyx_tensor.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_parameters_and_sharing():
    p = pyx_tensor.nn.Parameter(pyx_tensor.ones(3))
    a, b = over(pyx_tensor.save, torch.load, [p, p.detach()[1:]], weights_only=True)
    assert isinstance(a, torch.nn.Parameter) and a.requires_grad
    assert b.untyped_storage().data_ptr() == a.untyped_storage().data_ptr()
