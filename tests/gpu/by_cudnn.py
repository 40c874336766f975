"""Convolution and attention by cuDNN: values and gradients beside those without it, and beside PyTorch's own CUDA."""
import functools
import sys

import numpy as np
from start import STANDIN, OPTIONS, Part, torch

if STANDIN:
    import cudnn_standin
    sys.modules["cudnn"] = cudnn_standin

from pyx_tensor.core.registry import get_backend
from conv_samples import CONVOLUTIONS

TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}
F = torch.nn.functional
# name: (shape of the query, number of keys, causal)
ATTENTIONS = {"square": ((2, 4, 128, 64), 128, False), "causal": ((2, 4, 100, 64), 100, True), "more keys": ((2, 4, 64, 32), 200, False),
              "wide": ((1, 2, 257, 128), 257, True), "of three dims": ((4, 96, 64), 96, True)}


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def attention(library, name):
    return lambda q, k, v: library.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=ATTENTIONS[name][2])


def convolution(library, name):
    return functools.partial(CONVOLUTIONS[name][0], library.nn.functional)


def results(library, function, inputs, dtype):
    leaves = [library.from_numpy(x).to("cuda", getattr(library, dtype)).requires_grad_() for x in inputs]
    y = function(*leaves)
    y.backward(library.from_numpy(random(*y.shape, seed=9)).to("cuda", y.dtype))
    return [t.detach().cpu().double().numpy() for t in (y, *(leaf.grad for leaf in leaves))]


def assert_same(found, expected, tolerance):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


def check(case):
    """By cuDNN, which must have taken all of it; without; and by PyTorch."""
    kind, name, dtype = case
    if kind == "convolution":
        shapes, make = (*CONVOLUTIONS[name][1:], (4,)), convolution
    else:
        shape, keys, _ = ATTENTIONS[name]
        shapes, make = (shape, *[(*shape[:-2], keys, shape[-1])] * 2), attention
    inputs = [random(*shape, seed=i) for i, shape in enumerate(shapes)]
    plans = get_backend("cuda").cudnn.plans
    plans.clear()
    found = results(torch, make(torch, name), inputs, dtype)
    refused = {key[1]: plan[:200] for key, plan in plans.items() if isinstance(plan, str)}
    assert plans and not refused, f"refused: {refused}"
    with torch.backends.cudnn.flags(enabled=False):
        assert_same(found, results(torch, make(torch, name), inputs, dtype), TOLERANCE[dtype])
    if not STANDIN:
        import torch as pytorch
        pytorch.backends.cudnn.allow_tf32 = False
        assert_same(found, results(pytorch, make(pytorch, name), inputs, dtype), TOLERANCE[dtype])


part = Part("cudnn")
with part.check("that it is there"):
    assert torch.backends.cudnn.is_available(), get_backend("cuda").cudnn.found[1]
    print(f"   cuDNN {torch.backends.cudnn.version()}", flush=True)
cases = [("convolution", name, dtype) for name in CONVOLUTIONS for dtype in TOLERANCE]
cases += [("attention", name, "float16") for name in ATTENTIONS] + [("attention", "causal", "bfloat16")]      # whose plans take seconds to make
part.each([case for case in cases if not OPTIONS.rest or case[0] in OPTIONS.rest], check)

with part.check("TF32"):
    x, w = (torch.from_numpy(random(*shape)).to("cuda") for shape in ((8, 64, 20, 20), (64, 64, 3, 3)))
    exact = F.conv2d(x.cpu().double(), w.cpu().double())
    errors = []
    for allowed in (False, True):
        with torch.backends.cudnn.flags(allow_tf32=allowed):
            errors.append(float((F.conv2d(x, w).cpu().double() - exact).abs().max() / exact.abs().max()))
    print(f"   the largest errors without and with TF32: {errors[0]:.1e}, {errors[1]:.1e}", flush=True)
    assert errors[0] < 1e-5 and errors[1] < 1e-2, errors

with part.check("the same bits"):
    with torch.backends.cudnn.flags(deterministic=True):
        grads = []
        for _ in range(2):
            w = torch.from_numpy(random(64, 64, 3, 3)).to("cuda").requires_grad_()
            F.conv2d(x, w).square().sum().backward()
            grads.append(w.grad.cpu())
    assert torch.equal(*grads)

with part.check("a graph"):
    model, given = torch.nn.Conv2d(8, 8, 3).to("cuda"), torch.zeros(2, 8, 16, 16, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        model(given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        result = model(given)
    given.copy_(torch.from_numpy(random(2, 8, 16, 16)))
    graph.replay()
    if not STANDIN:      # which records no work
        torch.testing.assert_close(result, model(given).detach(), rtol=1e-5, atol=1e-5)
part.end()
