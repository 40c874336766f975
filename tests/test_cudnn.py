"""Convolution and attention by cuDNN: what it is asked, over a stand-in that computes on the host, beside the cpu backend's results."""
import functools
import sys

import cudnn_standin
import numpy as np
import pytest

import pyx_tensor as torch
from conv_samples import CONVOLUTIONS
from cuda_devices import devices, first_device  # noqa: F401 (fixtures)
from pyx_tensor.core.registry import get_backend

F, cudnn = torch.nn.functional, torch.backends.cudnn
pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="kernels are run on the host by GNU's C++ compiler and library"),
              pytest.mark.usefixtures("library")]
TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


@pytest.fixture
def library(devices, monkeypatch):  # noqa: F811
    """cuDNN's stand-in, with no plans yet."""
    monkeypatch.setitem(sys.modules, "cudnn", cudnn_standin)
    found = get_backend("cuda").cudnn
    found.__dict__.pop("found", None)
    found.plans.clear()
    found._handles.clear()
    for told in (cudnn_standin.made, cudnn_standin.run, cudnn_standin.streams):
        told.clear()
    yield found
    cudnn_standin.refusal[0] = None
    found.__dict__.pop("found", None)


def random(*shape, seed=0, scale=1.0):
    return torch.from_numpy((np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(np.float32))


def results(function, inputs, device, dtype):
    """The result and all gradients, as float32 on the host."""
    leaves = [x.detach().to(device, getattr(torch, dtype)).requires_grad_() for x in inputs]
    y = function(*leaves)
    assert y.device.type == device and y.dtype is leaves[0].dtype
    y.backward(random(*y.shape, seed=9).to(device, y.dtype))
    return [t.detach().cpu().float() for t in (y, *(leaf.grad for leaf in leaves))]


def compare(function, inputs, dtype="float32"):
    rounded = [x.to(getattr(torch, dtype)).float() for x in inputs]
    for found, expected in zip(results(function, inputs, "cuda", dtype), results(function, rounded, "cpu", "float32")):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=TOLERANCE[dtype] * max(1, float(expected.abs().max())))


# --- convolution --------------------------------------------------------------------------------------------------------
def convolution(name):
    """A function and its arguments."""
    function, shape, kernel = CONVOLUTIONS[name]
    return functools.partial(function, F), [random(*shape), random(*kernel, seed=1, scale=0.5), random(4, seed=2)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    compare(*convolution(name), dtype)
    assert sorted(cudnn_standin.run) == ["conv_dgrad", "conv_fprop", "conv_wgrad"]


def test_second_derivatives_of_a_convolution():
    found = {}
    for device in ("cpu", "cuda"):
        x, w = random(2, 2, 5, 5).to(device).requires_grad_(), random(3, 2, 3, 3, seed=1).to(device).requires_grad_()
        to_x, to_w = torch.autograd.grad((F.conv2d(x, w, stride=2) ** 3).sum(), (x, w), create_graph=True)
        found[device] = [g.cpu() for g in torch.autograd.grad((to_x ** 2).sum() + (to_w ** 2).sum(), (x, w))]
    for a, b in zip(found["cuda"], found["cpu"]):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-2)
    assert len(cudnn_standin.run) > 6


def test_a_plan_is_built_once(library):
    x, w = random(2, 3, 6, 6).cuda(), random(4, 3, 3, 3).cuda()
    for _ in range(3):
        F.conv2d(x, w)
    assert len(cudnn_standin.made) == len(library.plans) == 1 and cudnn_standin.run == ["conv_fprop"] * 3
    F.conv2d(x, w, padding=1)
    F.conv2d(x[:1], w)
    F.conv2d(x.half(), w.half())
    F.conv_transpose2d(x, w.transpose(0, 1))
    assert len(cudnn_standin.made) == len(library.plans) == 5


def test_plans_are_limited(library, monkeypatch):
    from pyx_tensor_cupy import cudnn as module
    monkeypatch.setattr(module, "MOST_PLANS", 2)
    for n in range(3, 8):
        F.conv2d(random(1, 1, n, n).cuda(), random(1, 1, 2, 2).cuda())
    assert len(library.plans) <= 2 and cudnn_standin.run == ["conv_fprop"] * 5


def notes_of(function):
    """The numerical notes that a convolution's algorithms must not have."""
    with function:
        F.conv2d(random(1, 1, 4, 4).cuda(), random(1, 1, 2, 2).cuda())
    return cudnn_standin.made[-1][1]


def test_flags_choose_among_algorithms():
    assert notes_of(cudnn.flags()) == {"DOWN_CONVERT_INPUTS"}
    assert notes_of(cudnn.flags(allow_tf32=False)) == {"DOWN_CONVERT_INPUTS", "TENSOR_CORE"}
    assert notes_of(cudnn.flags(deterministic=True)) == {"DOWN_CONVERT_INPUTS", "NONDETERMINISTIC"}
    torch.use_deterministic_algorithms(True)
    try:
        F.conv2d(random(1, 1, 4, 5).cuda(), random(1, 1, 2, 2).cuda())
        assert "NONDETERMINISTIC" in cudnn_standin.made[-1][1]
    finally:
        torch.use_deterministic_algorithms(False)
    with cudnn.flags(allow_tf32=False):      # which isn't about half types
        F.conv2d(random(1, 1, 4, 4).cuda().half(), random(1, 1, 2, 2).cuda().half())
        assert cudnn_standin.made[-1][1] == {"DOWN_CONVERT_INPUTS"}


@pytest.mark.parametrize("refusal", [cudnn_standin.cudnnGraphNotSupportedError("no engine"), RuntimeError("an attribute that the library doesn't know")],
                         ids=["not supported", "too old"])
def test_what_is_refused_is_lowered_and_remembered(library, refusal):
    cudnn_standin.refusal[0] = refusal
    for _ in range(2):
        compare(*convolution("2-d"))
    compare(F.scaled_dot_product_attention, [random(2, 3, 5, 8, seed=i) for i in range(3)], "float16")
    assert not cudnn_standin.run and [operation for operation, *_ in cudnn_standin.made] == ["conv_fprop", "conv_dgrad", "conv_wgrad", "sdpa"]
    assert all(str(refusal) in plan for plan in library.plans.values())


def test_where_cudnn_is_not_used():
    function, inputs = convolution("2-d")
    with cudnn.flags(enabled=False):
        compare(function, inputs)
    leaves = [x.double().cuda() for x in inputs]
    torch.testing.assert_close(function(*leaves).cpu(), function(*(x.double() for x in inputs)))
    assert F.conv2d(torch.zeros(0, 3, 5, 5, device="cuda"), inputs[1].cuda()).shape == (0, 4, 3, 3)
    assert not cudnn_standin.made and not cudnn_standin.run


def test_where_there_is_no_room_to_work_in(library, monkeypatch):
    def full(backend, shape, dtype, beside):
        raise torch.OutOfMemoryError("CUDA out of memory")
    monkeypatch.setattr("pyx_tensor_cupy.cudnn.new", full)
    compare(*convolution("2-d"))
    assert not cudnn_standin.run and not any(isinstance(plan, str) for plan in library.plans.values())


@pytest.mark.parametrize("layout", [lambda x: torch.cat([x.flatten()[:1], x.flatten()])[1:].reshape(x.shape), lambda x: x.mT.contiguous().mT,
                                    lambda x: x[:1].expand(x.shape), lambda x: x.to(memory_format=torch.channels_last), lambda x: x.flip(0)[:, :, ::2]],
                         ids=["an address that isn't aligned", "columns first", "expanded", "channels last", "every second"])
def test_layouts(layout):
    x, w = layout(random(2, 3, 7, 6).cuda()), random(4, 3, 3, 3).cuda()
    torch.testing.assert_close(F.conv2d(x, w).cpu(), F.conv2d(x.cpu(), w.cpu()), rtol=1e-4, atol=1e-4)
    assert cudnn_standin.run == ["conv_fprop"]


def test_each_device_has_a_handle_and_each_call_its_stream(library):
    side = torch.cuda.Stream()
    for index in (0, 1):
        x, w = random(1, 1, 4, 4).cuda(index), random(1, 1, 2, 2).cuda(index)
        F.conv2d(x, w)
        with torch.cuda.device(index), torch.cuda.stream(side):
            F.conv2d(x, w)
    assert len(cudnn_standin.made) == len(library._handles) == 2 and [handle.device for handle, _ in cudnn_standin.streams] == [0, 0, 1, 1]
    assert [stream for _, stream in cudnn_standin.streams] == [0, side.cuda_stream, 0, side.cuda_stream]


def test_no_plan_is_built_while_a_graph_is_captured(library):
    x, w = random(1, 1, 4, 4).cuda(), random(1, 1, 2, 2).cuda()
    expected = F.conv2d(x, w)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        again = F.conv2d(x, w)
        unknown = F.conv2d(x, w, padding=1)
    assert torch.equal(again, expected) and torch.equal(unknown[..., 1:-1, 1:-1], expected) and cudnn_standin.run == ["conv_fprop"] * 2
    assert len(library.plans) == 1


# --- attention ----------------------------------------------------------------------------------------------------------
def attention(causal=False, scale=None):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shapes", [[(2, 3, 5, 8)] * 3, [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 16)], [(2, 3, 7, 8), (2, 3, 5, 8), (2, 3, 5, 8)], [(4, 5, 8)] * 3,
                                    [(5, 8)] * 3, [(2, 2, 3, 5, 8)] * 3, [(2, 3, 1, 8)] * 3], ids=str)
def test_attention(shapes, causal, dtype):
    compare(attention(causal, 0.4), [random(*shape, seed=i) for i, shape in enumerate(shapes)], dtype)
    assert cudnn_standin.run == ["sdpa", "sdpa_backward"]
    assert cudnn_standin.made[0][2] == dict(causal=0 if causal else None)


def test_heads_inside_of_rows():
    q = random(2, 5, 3, 8).half().cuda().requires_grad_()
    y = attention()(*[q.transpose(1, 2)] * 3)
    assert y.transpose(1, 2).is_contiguous() and not y.is_contiguous()
    y.sum().backward()      # a gradient that is expanded
    assert cudnn_standin.run == ["sdpa", "sdpa_backward"]
    host = q.detach().cpu().float().requires_grad_()
    attention()(*[host.transpose(1, 2)] * 3).sum().backward()
    torch.testing.assert_close(q.grad.cpu().float(), host.grad, rtol=2e-2, atol=2e-2)


def test_deterministic_gradients_of_attention():
    q = random(2, 3, 5, 8).half().cuda().requires_grad_()
    for flag in (False, True):
        with cudnn.flags(deterministic=flag):
            attention()(q, q, q).sum().backward()
        assert cudnn_standin.made[-1][2] == dict(deterministic=flag)


def test_attention_that_is_left_to_the_definition():
    inputs = [random(2, 3, 5, 8, seed=i) for i in range(3)]
    compare(attention(), inputs)      # float32
    mask = torch.zeros(5, 5)
    compare(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask.to(q.device, q.dtype)), inputs, "float16")
    with cudnn.flags(enabled=False):
        compare(attention(), inputs, "float16")
    assert not cudnn_standin.made


def test_gradients_where_only_the_output_came_from_cudnn():
    q = random(2, 3, 5, 8).half().cuda().requires_grad_()
    y = attention()(q, q, q)
    with cudnn.flags(enabled=False):
        y.sum().backward()
    assert cudnn_standin.run == ["sdpa"]
    host = q.detach().cpu().float().requires_grad_()
    attention()(host, host, host).sum().backward()
    torch.testing.assert_close(q.grad.cpu().float(), host.grad, rtol=2e-2, atol=2e-2)


def test_second_derivatives_of_attention():
    found = {}
    for device, dtype in (("cpu", torch.float32), ("cuda", torch.float16)):
        q = random(1, 1, 4, 8).half().to(device, dtype).requires_grad_()
        to_q, = torch.autograd.grad(attention()(q, q, q).sum(), q, create_graph=True)
        found[device] = torch.autograd.grad((to_q ** 2).sum(), q)[0].cpu().float()
    torch.testing.assert_close(found["cuda"], found["cpu"], rtol=5e-2, atol=5e-2)


def test_a_write_to_the_output_shows():
    q = random(2, 3, 5, 8).half().cuda().requires_grad_()
    y = attention()(q, q, q)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# --- the public module ----------------------------------------------------------------------------------------------------
def test_what_the_module_says():
    assert cudnn.is_available() and cudnn.version() == cudnn_standin.VERSION
    x = torch.zeros(2, device="cuda")
    assert cudnn.is_acceptable(x) and cudnn.is_acceptable(x.half()) and not cudnn.is_acceptable(x.double()) and not cudnn.is_acceptable(torch.zeros(2))
    with cudnn.flags(enabled=False):
        assert cudnn.is_available() and not cudnn.is_acceptable(x)


@pytest.mark.parametrize("missing", ["package", "library", "device"])
def test_where_there_is_no_cudnn(library, monkeypatch, missing):
    def fail():
        raise RuntimeError("cudnnHandle Create failed")
    if missing == "device":
        monkeypatch.setattr(cudnn_standin, "create_handle", fail)
    elif missing == "package":
        monkeypatch.setitem(sys.modules, "cudnn", None)
    else:
        monkeypatch.delitem(sys.modules, "cudnn")
        monkeypatch.setattr(sys, "meta_path", [type("Finder", (), {"find_spec": staticmethod(without_library)})])
    assert not cudnn.is_available() and cudnn.version() is None
    assert library.found[1] == {"package": "ModuleNotFoundError: import of cudnn halted; None in sys.modules", "device": "RuntimeError: cudnnHandle Create failed",
                                "library": "OSError: libcudnn.so.9: cannot open shared object file"}[missing]
    compare(*convolution("2-d"))
    assert not cudnn_standin.made


def without_library(name, *_):
    """What the package's import raises where it finds no library, in versions before 1.15."""
    if name == "cudnn":
        raise OSError("libcudnn.so.9: cannot open shared object file")
