"""Builds the same thing in both libraries from one seed, and compares."""
import numpy as np
import torch

import pyx_tensor as pt

LIBRARIES = (pt, torch)


def both(make, seed=0):
    """``make(library)`` of both libraries, from the same seed."""
    results = []
    for library in LIBRARIES:
        library.manual_seed(seed)
        results.append(make(library))
    return results


def array(tensor):
    return tensor.detach().numpy()


def assert_close(ours, theirs, rtol=1e-5, atol=1e-6):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(array(ours), array(theirs), rtol=rtol, atol=atol, equal_nan=True)


def pair(values, requires_grad=False):
    """One array as a tensor of both libraries."""
    tensors = [library.from_numpy(np.array(values)) for library in LIBRARIES]
    if requires_grad:
        tensors = [tensor.requires_grad_() for tensor in tensors]
    return tensors


def error_of(call):
    """(class name, text) of what ``call`` raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def assert_same_error(call):
    """``call(library)`` raises in both libraries, with the same class and text up to the library's name."""
    ours, theirs = (error_of(lambda: call(library)) for library in LIBRARIES)
    assert theirs is not None, "PyTorch does not raise"
    assert ours is not None, f"expected {theirs}"
    assert ours[0] == theirs[0], (ours, theirs)
    assert ours[1].replace("pyx_tensor", "torch") == theirs[1], (ours, theirs)


def assert_same_class_of_error(call):
    """``call(library)`` raises in both libraries, with the same class; what it says may differ."""
    ours, theirs = (error_of(lambda: call(library)) for library in LIBRARIES)
    assert ours and theirs and ours[0] == theirs[0], (ours, theirs)


def backward(output):
    """Backward from a scalar that weighs every element differently."""
    total = (output * output.new_tensor(np.linspace(0.5, 1.5, output.numel()).reshape(output.shape))).sum()
    total.backward()
