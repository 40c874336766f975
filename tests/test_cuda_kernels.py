"""The CUDA kernels' values: the kernels run on the host (tests/cuda_on_host), by way of the backend, beside the cpu backend's results."""
import sys

import cuda_on_host
import cupy_standin
import numpy as np
import pytest

import pyx_tensor as torch
from op_samples import RANDOM, Maker, S, calls
from pyx_tensor.core import registry
from pyx_tensor.core.definitions import functions
from pyx_tensor.core.device import make_device
from pyx_tensor_cupy import launcher
from pyx_tensor_cupy.backend import CupyBackend

IN_PART = {"igamma", "igammac"}      # without a gradient for one operand
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are run on the host by GNU's C++ compiler and library")
NAMES = sorted(set(S) - RANDOM - IN_PART)
TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2}


@pytest.fixture(scope="module", autouse=True)
def device():
    """A CUDA device whose kernels run on the host."""
    assert not torch.cuda.is_available(), "these tests register a stand-in for CUDA"
    registry.register_backend("cuda", CupyBackend(cupy_standin))
    yield
    del registry._backends["cuda"]
    for name in ("cuda", "cuda:0", "cuda:1"):
        make_device(name).forget()


@pytest.fixture(params=[False, True], ids=["forwards", "backwards"])
def order(request):
    """The order of threads and blocks: where a barrier is missing, the results differ."""
    cuda_on_host.backwards[0] = request.param
    yield
    cuda_on_host.backwards[0] = False


def moved(x, requires_grad=True):
    """Arguments on the CUDA device, as leaves of their own where they can have gradients."""
    if isinstance(x, torch.Tensor):
        x = x.detach().to("cuda")
        return x.requires_grad_() if requires_grad and x.dtype.is_floating_point else x
    if isinstance(x, (list, tuple)):
        return type(x)(moved(item, requires_grad) for item in x) if type(x) in (list, tuple) else x
    return {k: moved(v, requires_grad) for k, v in x.items()} if isinstance(x, dict) else x


def leaves(x):
    if isinstance(x, torch.Tensor):
        return [x] if x.requires_grad else []
    items = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else []
    return [leaf for item in items for leaf in leaves(item)]


def on_cpu(x):
    if isinstance(x, torch.Tensor):
        x = x.detach().clone()
        return x.requires_grad_() if x.dtype.is_floating_point else x
    if isinstance(x, (list, tuple)):
        return type(x)(map(on_cpu, x)) if type(x) in (list, tuple) else x
    return {k: on_cpu(v) for k, v in x.items()} if isinstance(x, dict) else x


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for item in result for t in tensors(item)] if isinstance(result, (tuple, list)) else []


def assert_same(found, expected, tolerance):
    assert found.dtype is expected.dtype and found.shape == expected.shape
    found, expected = (t.detach().cpu().to(torch.float64).numpy() if t.dtype.is_floating_point else t.detach().cpu().numpy() for t in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def run(function, args, kwargs):
    """Results, and the gradients of all leaves for weights that differ from element to element."""
    results = tensors(function(*args, **kwargs))
    goals = [r for r in results if r.requires_grad and r.numel()]
    for goal in goals:
        weights = torch.arange(goal.numel(), dtype=torch.float32).reshape(goal.shape).remainder(5).sub(1.7).to(goal.device, goal.dtype)
        goal.backward(weights, retain_graph=True)
    return results, [leaf.grad for leaf in leaves([args, kwargs])]


def compare(function, args, kwargs, tolerance):
    expected, wanted = run(function, on_cpu(list(args)), on_cpu(kwargs))
    found, got = run(function, moved(list(args)), moved(kwargs))
    assert len(found) == len(expected) and len(got) == len(wanted)
    for a, b in zip(found, expected):
        assert_same(a, b, tolerance)
    for a, b in zip(got, wanted):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.is_cuda
            assert_same(a, b, tolerance)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"bincount"}))      # it has a gradient where its definition runs: tests/test_ops.py's matter
def test_operations(name):
    for c in calls(name, Maker(torch)):
        compare(functions[name], c.args, c.kwargs, 1e-4)


# --- each kernel, by element type and order of threads ----------------------------------------------------------------
F = torch.nn.functional


def random(*shape, dtype="float32", seed=0, scale=1.0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape) * scale
    return torch.from_numpy(values).to(getattr(torch, dtype))


def whole(high, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng([seed, *shape]).integers(0, high, shape))


def masked(x):
    """Some elements are -infinity, and one row all of them."""
    x = x.clone()
    x[0, 1], x[1] = -torch.inf, -torch.inf
    return x


def lstm(x, h, c, w_ih, w_hh, b):
    return F.linear(x, w_ih, b), *torch.lstm_cell(x, (h, c), w_ih, w_hh, b, b)


def gru(x, h, w_ih, w_hh, b):
    return torch.gru_cell(x, h, w_ih, w_hh, b, b)


ACTIVATIONS = {
    "relu": torch.relu, "silu": F.silu, "mish": F.mish, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "logsigmoid": F.logsigmoid,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "elu": lambda x: F.elu(x, 1.3), "softplus": lambda x: F.softplus(x, 2.0, 3.0),
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "sigmoid_backward": torch.sigmoid, "tanh_backward": torch.tanh}

# Kernels that it launches -> (function, function(dtype) giving its arguments).
CASES = {
    **{name if name.endswith("backward") else f"{name} {name}_backward" if name in ("relu", "silu", "gelu", "gelu_tanh") else name:
       (function, lambda dtype: [random(7, 61, dtype=dtype, scale=3)]) for name, function in ACTIVATIONS.items()},
    "softmax_rows softmax_backward_rows": (lambda x: F.softmax(x, -1), lambda dtype: [random(5, 300, dtype=dtype)]),
    "softmax_lines softmax_backward_lines": (lambda x: F.softmax(x, 1), lambda dtype: [random(3, 7, 40, dtype=dtype)]),
    "log_softmax_rows log_softmax_backward_rows": (lambda x: F.log_softmax(x, 2), lambda dtype: [random(3, 4, 33, dtype=dtype)]),
    "log_softmax_lines log_softmax_backward_lines": (lambda x: F.log_softmax(x, 0), lambda dtype: [random(9, 35, dtype=dtype)]),
    "nll_rows nll_backward": (lambda x, t, w: F.nll_loss(x, t, w, ignore_index=3), lambda dtype: [random(70, 9, dtype=dtype), whole(9, 70), random(9, dtype=dtype).abs()]),
    "nll_rows cross_entropy_backward": (lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="none"), F.cross_entropy(x, t, reduction="sum", ignore_index=2)),
                                        lambda dtype: [random(70, 9, dtype=dtype), whole(9, 70)]),
    "layer_norm layer_norm_input layer_norm_parameters": (lambda x, w, b: F.layer_norm(x, (5, 20), w, b),
                                                          lambda dtype: [random(150, 5, 20, dtype=dtype), random(5, 20, dtype=dtype), random(5, 20, dtype=dtype, seed=1)]),
    "channel_moments channel_statistics channel_normalise channel_sums channel_backward": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda dtype: [random(6, 3, 20, 20, dtype=dtype) + 3, random(3, dtype=dtype), random(3, dtype=dtype, seed=1)]),
    "channel_normalise channel_backward": (
        lambda x, m, v, w: F.batch_norm(x, m.detach(), v.detach().abs() + 1, w, None), lambda dtype: [random(6, 3, 7, dtype=dtype), *(random(3, dtype=dtype, seed=i) for i in range(3))]),
    "im2col col2im": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, dilation=(1, 2), groups=2),
                      lambda dtype: [random(2, 4, 9, 11, dtype=dtype), random(6, 2, 3, 2, dtype=dtype, scale=0.3), random(6, dtype=dtype)]),
    "col2im im2col": (lambda x, w: F.conv_transpose3d(x, w, stride=2, padding=1, output_padding=1),
                      lambda dtype: [random(2, 3, 3, 2, 4, dtype=dtype), random(3, 2, 3, 3, 2, dtype=dtype, scale=0.3)]),
    "index_add": (lambda x, i, s: (x.index_add(1, i, s), torch.gather(x, 1, i.expand(3, -1))), lambda dtype: [random(3, 5, 4, dtype=dtype)[..., 0], whole(5, 40), random(3, 40, dtype=dtype)]),
    "lstm_gates lstm_gates_backward": (lstm, lambda dtype: [random(4, 5, dtype=dtype), *(random(4, 6, dtype=dtype, seed=i) for i in range(2)),
                                                            random(24, 5, dtype=dtype, scale=0.3), random(24, 6, dtype=dtype, scale=0.3), random(24, dtype=dtype)]),
    "gru_gates gru_gates_backward": (gru, lambda dtype: [random(4, 5, dtype=dtype), random(4, 6, dtype=dtype), random(18, 5, dtype=dtype, scale=0.3),
                                                         random(18, 6, dtype=dtype, scale=0.3), random(18, dtype=dtype)]),
}
# Launched by tests of their own below.
OTHERS = {"index_add_sorted", "masked_scale", "update_statistics", "addcmul", "addcdiv"}


def test_every_kernel_is_tested():
    import re
    found = set()
    for file in launcher.files():
        text = launcher.source(file)
        found |= {name for name in re.findall(r"^KERNEL (\w+)\(", text, re.M)} | set(re.findall(r"^(?:UNARY|GRADIENT|RULE)\((\w+),", text, re.M))
        found |= {f"{name}_{form}" for name in re.findall(r"^FORWARD\((\w+)\)", text, re.M) for form in ("rows", "lines")}
        found |= {f"{name}_backward_{form}" for name in re.findall(r"^BACKWARD\((\w+),", text, re.M) for form in ("rows", "lines")}
    assert found == {name for names in CASES for name in names.split()} | OTHERS | set(OPTIMIZERS)


@pytest.mark.parametrize("dtype", launcher.FLOATING)
@pytest.mark.parametrize("names", CASES)
def test_kernels(names, dtype, order):
    function, arguments = CASES[names]
    cuda_on_host.launched.clear()
    arguments = arguments(dtype)
    if dtype in ("float32", "float64"):
        compare(function, arguments, {}, TOLERANCE[dtype])
    else:      # the right answer is float32's: the cpu rounds between steps where a kernel doesn't
        expected, wanted = run(function, [a.detach().float().requires_grad_() if a.dtype.is_floating_point else a for a in arguments], {})
        leaves_ = moved(arguments)
        found, got = run(function, leaves_, {})
        wide = run(function, moved([a.float() if a.dtype.is_floating_point else a for a in arguments]), {})
        for a, b, c in zip(*([*results, *[g for g in grads if g is not None]] for results, grads in ((found, got), (expected, wanted), wide))):
            assert a.dtype is getattr(torch, dtype)
            scale = max(float(b.abs().max()), 1.0)
            assert_same(a.float() / scale, b / scale, TOLERANCE[dtype] * 2)
            assert_same(c / scale, b / scale, TOLERANCE["float32"])
    assert set(names.split()) <= set(cuda_on_host.launched)


def test_softmax_of_one_number():
    for function in (F.softmax, F.log_softmax):
        compare(lambda x: function(x, 0), [torch.tensor(3.0)], {}, 0)


def test_softmax_of_infinities(order):
    for function in (F.softmax, F.log_softmax):
        for dim in (0, 1):
            compare(lambda x: function(x, dim), [masked(random(4, 40))], {}, 1e-5)
    inf = torch.tensor([[torch.inf, 1.0], [torch.nan, 1.0]])
    assert F.softmax(inf.cuda(), 1).isnan().all()


@pytest.mark.parametrize("dtype", launcher.FLOATING)
def test_additions_in_a_fixed_order(dtype, order):
    torch.use_deterministic_algorithms(True)
    try:
        cuda_on_host.launched.clear()
        places, source, target = whole(6, 200), random(3, 200, 2, dtype=dtype), random(3, 6, 2, dtype=dtype)
        found = target.cuda().index_add(1, places.cuda(), source.cuda(), alpha=0.5)
        wide = torch.float64 if dtype == "float64" else torch.float32
        expected = target.to(wide).index_add(1, places, source.to(wide), alpha=0.5)
        assert_same(found.to(wide), expected, TOLERANCE[dtype] * 5)
        assert_same(target[0, :, 0].cuda().scatter_add(0, places.cuda(), source[0, :, 0].cuda()).to(wide),
                    target[0, :, 0].to(wide).scatter_add(0, places, source[0, :, 0].to(wide)), TOLERANCE[dtype] * 5)
        weight = random(6, 3, dtype=dtype).cuda().requires_grad_()
        F.embedding(places.cuda().reshape(10, 20), weight).sum().backward()
        assert weight.grad.tolist() == [[float(n)] * 3 for n in torch.bincount(places, minlength=6)]
        assert "index_add_sorted" in cuda_on_host.launched and "index_add" not in cuda_on_host.launched
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", launcher.FLOATING)
def test_sums_of_products(dtype):
    for name in ("addcmul", "addcdiv"):
        cuda_on_host.launched.clear()
        x = [random(3, 40, dtype=dtype), random(40, dtype=dtype, seed=1).abs() + 1, random(3, 1, dtype=dtype, seed=2).abs() + 1]
        assert_same(getattr(torch, name)(*[a.cuda() for a in x], value=0.5), getattr(torch, name)(*x, value=0.5), TOLERANCE[dtype])
        y = x[0].cuda()
        getattr(y, name + "_")(x[1].cuda(), x[2].cuda(), value=2)
        assert_same(y, getattr(torch, name)(*x, value=2), TOLERANCE[dtype])
        assert cuda_on_host.launched == [name] * 2


@pytest.mark.parametrize("dtype", launcher.FLOATING)
def test_dropout(dtype):
    x = random(40, 5, dtype=dtype)
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(3)
        leaf = x.clone().to(device).requires_grad_()
        y = F.dropout(leaf, 0.3)
        y.sum().backward()
        results.append((y.cpu(), leaf.grad.cpu()))
    for a, b in zip(*results):
        assert_same(a, b, TOLERANCE[dtype])
    assert "masked_scale" in cuda_on_host.launched


def optimized(device, make, dtype, steps=3, layout=None):
    params = [random(n, 3, dtype=dtype, seed=n).to(device) for n in (1, 2, 700, 1500)] + [random(4, dtype=dtype).to(device) for _ in range(60)]
    if layout is not None:
        params[0] = layout(params[0])
    params = [p.detach().requires_grad_() for p in params]
    optimizer = make(params)
    for k in range(steps):
        for n, p in enumerate(params):
            p.grad = (p.detach() * 0.1 + n * 0.01 + k).to(p.dtype)
        optimizer.step()
    return params, optimizer


OPTIMIZERS = {
    "sgd": [lambda p: torch.optim.SGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
            lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, dampening=0.2, maximize=True)],
    "adam": [lambda p: torch.optim.Adam(p, 0.1), lambda p: torch.optim.Adam(p, 0.1, amsgrad=True, weight_decay=0.1),
             lambda p: torch.optim.AdamW(p, 0.1, maximize=True)],
    "adam_scalars": [lambda p: torch.optim.Adam(p, 0.1, capturable=True)],
    "rmsprop": [lambda p: torch.optim.RMSprop(p, 0.1), lambda p: torch.optim.RMSprop(p, 0.1, momentum=0.9, centered=True, weight_decay=0.1)],
    "adagrad": [lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1)], "adadelta": [lambda p: torch.optim.Adadelta(p, 0.5)],
    "adamax": [lambda p: torch.optim.Adamax(p, 0.1)], "nadam": [lambda p: torch.optim.NAdam(p, 0.1), lambda p: torch.optim.NAdam(p, 0.1, decoupled_weight_decay=True, weight_decay=0.1)],
    "radam": [lambda p: torch.optim.RAdam(p, 0.1)], "asgd": [lambda p: torch.optim.ASGD(p, 0.1, t0=1)], "rprop": [lambda p: torch.optim.Rprop(p, 0.1)]}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("kernel", OPTIMIZERS)
def test_optimizers(kernel, dtype, order):
    for make in OPTIMIZERS[kernel]:
        cuda_on_host.launched.clear()
        expected, _ = optimized("cpu", make, dtype)
        found, optimizer = optimized("cuda", make, dtype)
        for a, b in zip(found, expected):
            assert_same(a, b, TOLERANCE[dtype] * 2)
        assert cuda_on_host.launched.count(kernel) == 3 * 2      # 64 tensors are two launches
        steps = [state["step"] for state in optimizer.state.values() if "step" in state]
        assert all(float(step) == 3 and torch.as_tensor(step).is_cuda == (kernel == "adam_scalars") for step in steps)


def test_optimizers_write_to_tensors_with_gaps():
    make = OPTIMIZERS["adam"][0]
    layout = lambda p: p.new_zeros(1, 6)[:, ::2].copy_(p)
    for a, b in zip(optimized("cuda", make, "float32", layout=layout)[0], optimized("cpu", make, "float32", layout=layout)[0]):
        assert_same(a, b, 1e-5)


def test_running_statistics(order):
    results = []
    for device in ("cpu", "cuda"):
        norm = torch.nn.BatchNorm1d(3).to(device)
        for seed in range(3):
            norm(random(8, 3, 5, seed=seed).to(device))
        results.append(norm)
    assert_same(results[1].running_mean, results[0].running_mean, 1e-5)
    assert_same(results[1].running_var, results[0].running_var, 1e-5)
    assert "update_statistics" in cuda_on_host.launched


def test_statistics_far_from_zero(order):
    x = random(30, 4, 9, dtype="float64") + 1e4
    found = F.batch_norm(x.float().cuda(), None, None, training=True)
    assert_same(found.double(), F.batch_norm(x, None, None, training=True), 5e-3)
    assert_same(F.layer_norm(x.float().cuda(), (9,)).double(), F.layer_norm(x, (9,)), 5e-3)


@pytest.mark.parametrize("function", [lambda x: F.softmax(x, 0), lambda x: F.layer_norm(x, (3,)), lambda x: F.gelu(x), lambda x: F.conv1d(x[None], torch.ones(2, 0, 1).to(x.device)),
                                      torch.relu])
def test_nothing_is_computed_of_nothing(function):
    x = torch.zeros(0, 3)
    compare(function, [x], {}, 0)


def test_wrong_targets_and_indices():
    x = torch.zeros(2, 3, device="cuda")
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.cross_entropy(x, torch.tensor([0, 3], device="cuda"))
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        x.index_add(0, torch.tensor([2], device="cuda"), x[:1])
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([5], device="cuda"), x)


# --- products: what cuBLAS is told --------------------------------------------------------------------------------------
LAYOUTS = [lambda x: x, lambda x: x.mT.contiguous().mT, lambda x: torch.cat([x, x], -1)[..., :x.shape[-1]], lambda x: torch.cat([x, x], -1)[..., ::2],
           lambda x: x.expand(3, *x.shape) if x.ndim == 2 else x]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32"])
@pytest.mark.parametrize("left", range(len(LAYOUTS)))
@pytest.mark.parametrize("right", range(len(LAYOUTS)))
def test_products(left, right, dtype):
    complex_, whole_ = dtype.startswith("complex"), dtype.startswith("int")
    make = lambda *shape: (random(*shape, scale=4 if whole_ else 1) + (1j * random(*shape, seed=1) if complex_ else 0)).to(getattr(torch, dtype))
    for a, b in (((4, 5), (5, 6)), ((3, 4, 5), (3, 5, 6)), ((2, 1, 4, 5), (3, 5, 6)), ((3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)), ((1, 5), (5, 1)), ((4, 1), (1, 6))):
        a, b = make(*a), make(*b)
        if left == 4 and b.ndim == 3 or left != 4:
            x, y = LAYOUTS[left](a.cuda()), LAYOUTS[right](b.cuda())
            try:
                shape = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            except RuntimeError:
                continue
            expected = torch.matmul(x.cpu().to(torch.complex128 if complex_ else torch.float64), y.cpu().to(torch.complex128 if complex_ else torch.float64))
            found = torch.matmul(x, y)
            assert found.shape == expected.shape == (*shape, a.shape[-2], b.shape[-1]) and found.dtype is getattr(torch, dtype)
            np.testing.assert_allclose(found.cpu().to(expected.dtype).numpy(), expected.numpy(), **({"rtol": 0.03, "atol": 0.1} if dtype == "bfloat16" else
                                                                                                {"rtol": 5e-3, "atol": 1e-2} if dtype == "float16" else {"rtol": 1e-4, "atol": 1e-5}))


def test_products_of_vectors_and_nothing():
    for a, b in (((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((2, 4, 5), (5,)), ((5,), (2, 5, 3)), ((0, 5), (5, 3)), ((4, 0), (0, 3)), ((2, 0, 5), (5, 3))):
        compare(torch.matmul, [random(*a), random(*b, seed=2)], {}, 1e-5)


def test_permissions_of_products():
    x = random(4, 4).cuda()
    asked = cupy_standin.products
    asked.clear()
    x @ x
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    x @ x
    x.double() @ x.double()
    torch.set_float32_matmul_precision("highest")
    assert torch.backends.cuda.matmul.allow_tf32 is False
    x @ x
    assert asked == [68, 77, 70, 68]
    cupy_standin.asked.clear()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    try:
        x.bfloat16() @ x.bfloat16()
        assert [entry for entry in cupy_standin.asked if entry[0] == "math"] == [("math", 16), ("math", 0)]
    finally:
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
    with pytest.raises(AttributeError, match="Unknown attribute allow_tf64"):
        torch.backends.cuda.matmul.allow_tf64 = True


# --- the host's execution of kernels finds what it is for -------------------------------------------------------------
def host_kernel(code):
    return cuda_on_host.RawModule(code=code).get_function("k")


def test_a_missing_barrier_shows():
    code = 'extern "C" __global__ void k(int* out) {{ __shared__ int s[64]; s[threadIdx.x] = threadIdx.x + 1; {} out[threadIdx.x] = s[63 - threadIdx.x]; }}'
    for barrier, right in (("__syncthreads();", True), ("", False)):
        cupy_standin._current[0] = 0
        out = cupy_standin.zeros(64, dtype=np.int32)
        host_kernel(code.format(barrier))((1,), (64,), (out,))
        assert (np.asarray(out).tolist() == list(range(64, 0, -1))) is right


def test_threads_that_wait_forever_are_reported():
    kernel = host_kernel('extern "C" __global__ void k(int n) { for (int i = 0; i < (threadIdx.x == 0 ? n : 0); i++) { int x = 0; x = __shfl_down_sync(~0u, x, 1); } if (threadIdx.x) __syncthreads(); else for (;;) { __shfl_down_sync(~0u, 0, 1); } }')
    with pytest.raises(RuntimeError, match="threads wait for others that never come"):
        kernel((1,), (64,), (np.int32(1),))


def test_arguments_are_checked():
    kernel = host_kernel('extern "C" __global__ void k(long long n) {}')
    for arguments, message in (((np.int32(1),), "argument 0 has the wrong size"), ((), "wrong number of arguments"), ):
        with pytest.raises(RuntimeError, match=message):
            kernel((1,), (32,), arguments)
    with pytest.raises(RuntimeError, match="isn't one that CUDA takes"):
        kernel((1,), (2048,), (np.int64(1),))
    with pytest.raises(TypeError, match="not int"):
        kernel((1,), (32,), (1,))
