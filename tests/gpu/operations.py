"""Every operation's samples on the CUDA device: values and gradients beside the cpu's, and values beside PyTorch's own CUDA where that is there."""
import numpy as np
from start import STANDIN, OPTIONS, Part, torch

from op_samples import RANDOM, Maker, S, calls
from pyx_tensor.core.definitions import functions

DTYPES = {"float32": 1e-4, "float64": 1e-8, "float16": 2e-2, "bfloat16": 1e-1, "int64": 1e-5, "complex64": 1e-4}
OTHER_BITS = {"empty", "empty_like", "new_empty"}
# Factors that are unique but for signs or phases: their gradients are checked (gradients.py), their products elsewhere.
AMBIGUOUS = {"svd", "eig", "symeig", "qr", "geqrf", "lu", "svd_lowrank", "pca_lowrank", "lobpcg", "orgqr", "ormqr"}
# What definitions do otherwise than the cpu's kernels, on every backend without a kernel.
BODIES = {("stft", "float16"), ("stft", "bfloat16"), ("histc", "bfloat16"), ("addcmul", "int64"), ("logsumexp", "complex64")}


def moved(x, device):
    if hasattr(x, "detach"):
        x = x.detach().clone().to(device)
        return x.requires_grad_() if x.is_floating_point() else x
    if type(x) in (list, tuple):
        return type(x)(moved(item, device) for item in x)
    return {k: moved(v, device) for k, v in x.items()} if isinstance(x, dict) else x


def tensors(x):
    if hasattr(x, "detach"):
        return [x]
    items = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else []
    return [t for item in items for t in tensors(item)]


def on_host(x):
    x = x.detach().cpu()
    return (x.double() if x.is_floating_point() else x).numpy()


def run(function, args, kwargs, backward):
    results = tensors(function(*args, **kwargs))
    if not backward:
        return list(map(on_host, results))
    goals = [r for r in results if r.requires_grad and r.numel() and r.is_floating_point()]
    for goal in goals:
        goal.backward(torch.ones_like(goal), retain_graph=True)
    grads = [t.grad for t in tensors([args, kwargs]) if t.requires_grad and t.grad is not None]
    return [*map(on_host, results), *map(on_host, grads)]


def assert_same(found, expected, tolerance):
    assert len(found) == len(expected), f"{len(found)} results instead of {len(expected)}"
    for a, b in zip(found, expected):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{a.dtype} {a.shape} instead of {b.dtype} {b.shape}"
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, np.abs(np.nan_to_num(b, posinf=0, neginf=0)).max(initial=0)))


def differentiable(name, dtype):
    return not functions[name].op.nograd and name not in ("igamma", "igammac", "bincount") and dtype.startswith("float")


def compare(case):
    name, dtype = case
    try:
        samples = calls(name, Maker(torch, dtype))
    except (RuntimeError, TypeError, NotImplementedError):
        return
    for c in samples:
        try:
            expected = run(functions[name], moved(c.args, "cpu"), moved(c.kwargs, "cpu"), differentiable(name, dtype))
        except (RuntimeError, TypeError, NotImplementedError):
            continue      # not an operation of this dtype
        assert_same(run(functions[name], moved(c.args, "cuda"), moved(c.kwargs, "cuda"), differentiable(name, dtype)), expected, DTYPES[dtype])


def compare_with_pytorch(name):
    import torch as pytorch
    pytorch.backends.cudnn.allow_tf32 = False
    function = getattr(pytorch, name, None) or getattr(pytorch.nn.functional, name, None)
    if function is None:
        return
    for ours, theirs in zip(calls(name, Maker(torch)), calls(name, Maker(pytorch))):
        expected = run(function, moved(theirs.args, "cuda"), moved(theirs.kwargs, "cuda"), False)
        assert_same(run(functions[name], moved(ours.args, "cuda"), moved(ours.kwargs, "cuda"), False), expected, 2e-4)


part = Part("operations")
names = sorted(n for n in set(S) - RANDOM - OTHER_BITS - AMBIGUOUS if not OPTIONS.rest or n in OPTIONS.rest)
part.each([(name, dtype) for dtype in DTYPES for name in names if (name, dtype) not in BODIES], compare)
if not STANDIN:
    part.each(names, compare_with_pytorch)
part.end()
