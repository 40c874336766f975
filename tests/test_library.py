"""Operations of a user's own, on several devices."""
import itertools

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import Tensor, library
from pyx_tensor.autograd import gradcheck, gradgradcheck

DEVICES = ("cpu", "reference")
_numbers = itertools.count()


@pytest.fixture
def name():
    """A name that no operation has: what is defined stays."""
    return f"test_library::op{next(_numbers)}"


def doubles(*shape, device="cpu", requires_grad=True):
    return torch.randn(shape, dtype=torch.float64, device=device, generator=torch.Generator().manual_seed(7)).requires_grad_(requires_grad)


calls = []          # the devices whose kernels ran


def soft_clip_kernel(device):
    def kernel(a, limit, out=None):
        calls.append(device)
        if not np.isfinite(limit):
            raise ValueError(f"limit must be finite, got {limit}")
        result = np.divide(a, limit, out=out)
        result = np.tanh(result, out=out)
        return np.multiply(result, limit, out=out)
    return kernel


@library.custom_op("test_library::soft_clip", kernels={device: soft_clip_kernel(device) for device in DEVICES}, promote="float", inplace=True,
                   method=True, vjp=dict(input=lambda B, g, y, limit: B.mul(g, B.sub(1, B.square(B.div(y, limit))))))
def soft_clip(B, input: Tensor, limit: float = 1.0):
    """limit * tanh(input / limit)"""
    return B.mul(B.tanh(B.div(input, limit)), limit)


# --- definitions ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_per_device_gives_values_and_gradients(device):
    x = doubles(3, 4, device=device)
    calls.clear()
    y = soft_clip(x, 2.0)
    assert set(calls) == {device} and y.device.type == device and y.grad_fn.name() == "SoftClipBackward0"
    np.testing.assert_allclose(y.detach().cpu().numpy(), 2 * np.tanh(x.detach().cpu().numpy() / 2), rtol=1e-15)
    assert gradcheck(lambda t: soft_clip(t, 2.0), (x,))
    assert gradgradcheck(lambda t: soft_clip(t, 2.0), (x,))


def test_it_is_found_by_name_and_as_method():
    x = doubles(2)
    assert torch.ops.test_library.soft_clip is soft_clip
    assert torch.equal(x.soft_clip(limit=0.5), soft_clip(x, 0.5))
    assert soft_clip.__doc__ == "limit * tanh(input / limit)"
    with pytest.raises(AttributeError):
        torch.ops.test_library.nothing_here


@pytest.mark.parametrize("device", DEVICES)
def test_written_in_place_and_to_out(device):
    x = doubles(5, device=device)
    expected = soft_clip(x, 2.0)
    out = torch.empty(5, dtype=torch.float64, device=device)
    assert soft_clip(x.detach(), 2.0, out=out) is out and torch.equal(out, expected)
    z = x * 1
    version = z._version
    assert z.soft_clip_(2.0) is z and torch.equal(z, expected) and z._version == version + 1
    assert gradcheck(lambda t: (t * 1).soft_clip_(2.0), (x,))
    part = torch.zeros(3, 5, dtype=torch.float64, device=device)
    soft_clip(x.detach(), 2.0, out=part[1])
    assert torch.equal(part[1], expected) and not part[0].any() and not part[2].any()


def test_a_saved_input_that_was_overwritten_is_noticed(name):
    @library.custom_op(name, kernels={"cpu": np.square}, vjp=dict(input=lambda B, g, input: B.mul(g, B.mul(input, 2))))
    def own_square(B, input: Tensor):
        return B.mul(input, input)

    x = doubles(3)
    z = x * 1
    y = own_square(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_promotion():
    assert soft_clip(torch.tensor([1, 2])).dtype is torch.float32
    assert soft_clip(torch.tensor([1.0, 2.0], dtype=torch.float64)).dtype is torch.float64


@pytest.mark.parametrize("device", DEVICES)
def test_the_body_serves_devices_without_a_kernel(name, device):
    @library.custom_op(name, kernels={"cpu": lambda a, b: np.hypot(a, b)},
                       vjp={("input", "other"): lambda B, g, y, input, other, needs: (
                           B.div(B.mul(g, input), y) if needs[0] else None, B.div(B.mul(g, other), y) if needs[1] else None)})
    def length(B, input: Tensor, other: Tensor):
        return B.sqrt(B.add(B.square(input), B.square(other)))

    x, y = doubles(2, 3, device=device), doubles(3, device=device)
    np.testing.assert_allclose(length(x, y).detach().cpu().numpy(), np.hypot(x.detach().cpu().numpy(), y.detach().cpu().numpy()), rtol=1e-15)
    assert gradcheck(length, (x, y)) and gradgradcheck(length, (x, y))
    hypotenuse = length(x, 2.1)                     # a number takes part as in any operation
    assert hypotenuse.dtype is torch.float64
    np.testing.assert_allclose(hypotenuse.detach().cpu().numpy(), np.hypot(x.detach().cpu().numpy(), 2.1), rtol=1e-15)
    total = length(x, y.detach()).sum()
    total.backward()
    assert x.grad is not None and y.grad is None


@pytest.mark.parametrize("device", DEVICES)
def test_without_a_vjp_the_body_is_recorded(name, device):
    @library.custom_op(name, kernels={"cpu": lambda a: a * np.exp(a)})
    def xexp(B, input: Tensor):
        return B.mul(input, B.exp(input))

    x = doubles(4, device=device)
    assert gradcheck(xexp, (x,)) and gradgradcheck(xexp, (x,))
    with torch.no_grad():
        np.testing.assert_allclose(xexp(x).cpu().numpy(), xexp(x.requires_grad_()).detach().cpu().numpy(), rtol=1e-15)


@pytest.mark.parametrize("device", DEVICES)
def test_several_outputs(name, device):
    def kernel(a):
        order = np.argsort(a, axis=-1)
        return np.take_along_axis(a, order, -1), order

    @library.custom_op(name, primitive=True, kernels=dict.fromkeys(DEVICES, kernel), returns=("values", "order"), nondiff=("order",),
                       vjp=dict(input=lambda B, g, y: B.scatter(B.zeros_like(g[0]), -1, y[1], g[0])))
    def ranked(B, input: Tensor):
        """Sorted values and where they come from."""

    x = doubles(2, 5, device=device)
    result = ranked(x)
    assert result.order.dtype is torch.int64 and not result.order.requires_grad
    assert torch.equal(result.values, x.sort(-1)[0]) and torch.equal(result.order, x.sort(-1)[1])
    assert gradcheck(lambda t: ranked(t).values, (x,)) and gradgradcheck(lambda t: ranked(t).values, (x,))


@pytest.mark.parametrize("device", DEVICES)
def test_hidden_outputs_are_for_the_vjp_alone(name, device):
    def kernel(a):
        e = np.exp(a)
        return np.log1p(e), e / (1 + e)

    @library.custom_op(name, primitive=True, kernels=dict.fromkeys(DEVICES, kernel), aux=("slope",),
                       vjp=dict(input=lambda B, g, slope: B.mul(g, slope)))
    def softplus(B, input: Tensor):
        """log(1 + exp(input))"""

    x = doubles(6, device=device)
    assert torch.allclose(softplus(x), torch.nn.functional.softplus(x))
    assert gradcheck(softplus, (x,))


def test_a_compiled_kernel(name):
    kernel = torch.device("cpu").backend.tanh
    assert type(kernel).__name__ != "method"         # a Cython function, not Python's

    @library.custom_op(name, kernels={"cpu": kernel}, vjp=dict(input=lambda B, g, y: B.mul(g, B.sub(1, B.square(y)))))
    def own_tanh(B, input: Tensor):
        raise AssertionError("the kernel serves the cpu")

    x = doubles(4)
    assert torch.equal(own_tanh(x), x.tanh()) and gradcheck(own_tanh, (x,)) and gradgradcheck(own_tanh, (x,))


@pytest.mark.parametrize("device", DEVICES)
def test_two_operands_written_in_place(name, device):
    def kernel(a, b, *, out=None):
        return np.add(a, 2 * b, out=out)

    @library.custom_op(name, kernels=dict.fromkeys(DEVICES, kernel), inplace=True, vjp=dict(
        input=lambda B, g: g, other=lambda B, g: B.mul(g, 2)))
    def add_twice(B, input: Tensor, other: Tensor):
        raise AssertionError("both devices have a kernel")

    in_place = getattr(torch.ops.test_library, name.partition("::")[2] + "_")
    x, y = torch.ones(3, device=device), torch.ones(3, device=device)
    assert in_place(x, y) is x and x.tolist() == [3.0] * 3
    out = torch.empty(3, device=device)
    assert add_twice(x, y, out=out) is out and out.tolist() == [5.0] * 3
    a, b = doubles(2, 3, device=device), doubles(3, device=device)
    assert gradcheck(lambda a, b: in_place(a * 1, b), (a, b))
    with pytest.raises(RuntimeError):                  # the result's shape is not the target's
        in_place(torch.ones(3, device=device), torch.ones(2, 3, device=device))


@pytest.mark.parametrize("device", DEVICES)
def test_lists_of_tensors(name, device):
    @library.custom_op(name, kernels={"cpu": lambda arrays: np.concatenate(arrays)}, vjp=dict(
        tensors=lambda B, g, tensors_shape: list(B.split(g, [s[0] for s in tensors_shape]))))
    def joined(B, tensors: list[Tensor]):
        return B.cat(tensors)

    a, b = doubles(2, device=device), doubles(3, device=device)
    assert joined([a, b]).shape == (5,)
    assert gradcheck(lambda a, b: joined([a, b]), (a, b)) and gradgradcheck(lambda a, b: joined([a, b]), (a, b))


def test_a_primitive_names_the_device_that_lacks_a_kernel(name):
    @library.custom_op(name, primitive=True, nograd=True, kernels={"cpu": np.sign})
    def signs(B, input: Tensor):
        """Signs."""

    assert torch.equal(signs(torch.tensor([-2.0, 0.0, 3.0])), torch.tensor([-1.0, 0.0, 1.0]))
    with pytest.raises(NotImplementedError, match="'reference'.*no kernel"):
        signs(torch.ones(2, device="reference"))
    library.register_kernel(signs, "reference", np.sign)
    assert signs(-torch.ones(2, device="reference")).tolist() == [-1.0, -1.0]


def test_a_kernel_for_a_device_to_come(name):
    from pyx_tensor.core.array_module import ArrayModuleBackend
    device = f"toy{next(_numbers)}"

    @library.custom_op(name, kernels={device: lambda a: a + 2}, nograd=True)
    def later(B, input: Tensor):
        return B.add(input, 1)

    torch.register_backend(device, ArrayModuleBackend(device, np, strided=True, views=True, mutable=True, out=True))
    assert later(torch.zeros(1)).item() == 1.0
    assert later(torch.zeros(1, device=device)).item() == 2.0


def test_numpy_scalars_and_results_that_share_memory(name):
    results = {"scalar": np.sin, "same": lambda a: a, "view": lambda a: a[:1]}

    @library.custom_op(name, kernels={"cpu": lambda a, mode: results[mode](a)}, nograd=True)
    def odd(B, input: Tensor, mode: str):
        return input

    assert odd(torch.tensor(0.5), "scalar").shape == ()
    x = torch.ones(3)
    for mode in ("same", "view"):
        y = odd(x, mode)
        y.add_(1)
        assert torch.equal(x, torch.ones(3)) and y[0] == 2


def test_subclasses_see_the_operation():
    seen = []

    class Tagged(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(2).as_subclass(Tagged) if hasattr(torch.Tensor, "as_subclass") else Tagged([1.0, 1.0])
    assert type(soft_clip(x, 2.0)) is Tagged and soft_clip in seen


def test_a_body_that_returns_its_argument_leaves_it_alone(name):
    @library.custom_op(name, vjp=dict(input=lambda B, g: B.mul(g, 3)))
    def triple_gradient(B, input: Tensor):
        return input

    x = doubles(2)
    y = triple_gradient(x)
    assert x.is_leaf and y is not x
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# --- what is refused -----------------------------------------------------------------------------------------------
def body(B, input: Tensor, limit=1.0):
    return B.mul(input, limit)


@pytest.mark.parametrize(("options", "message"), [
    (dict(kernels={"cpu": 3}), "kernel for 'cpu' must be a function, not int"),
    (dict(kernels={"cpu": lambda a: a}), "kernel for 'cpu' must take 2 arguments"),
    (dict(kernels={"c p u": lambda a, b: a}), "must be a device type"),
    (dict(vjp=dict(limit=lambda B, g: g)), "vjp for 'limit', which isn't annotated as a tensor"),
    (dict(vjp=dict(inputs=lambda B, g: g)), "vjp for 'inputs', which is no parameter; these are: input, limit"),
    (dict(vjp=dict(input=lambda B, grad: grad)), "not 'grad'"),
    (dict(vjp=dict(input=lambda g: g)), "first parameter is B"),
    (dict(vjp=dict(input=lambda B, g: g), nograd=True), "exclude each other"),
    (dict(promote="double"), "promote must be one of"),
    (dict(nondiff=("index",)), "nondiff names 'index'"),
    (dict(primitive=True), "without a body it needs kernels"),
    (dict(primitive=True, kernels={"cpu": lambda a, b: a}), "needs a vjp, or nograd=True"),
    (dict(aux=("mask",)), "there is none"),
    (dict(mutates_args=()), "takes no option 'mutates_args'"),
])
def test_a_wrong_definition_says_what_is_wrong(name, options, message):
    with pytest.raises(ValueError, match="can't be defined") as error:
        library.custom_op(name, body, **options)
    assert message in str(error.value)
    library.custom_op(name, body)       # nothing of it was kept


def test_all_faults_are_listed(name):
    with pytest.raises(ValueError) as error:
        library.custom_op(name, body, kernels={"cpu": 3, "reference": None}, promote="x", vjp=dict(a=lambda B, g: g))
    assert str(error.value).count("\n  - ") == 4


def test_duplicates_and_bad_names_are_refused(name):
    first = library.custom_op(name, body, kernels={"cpu": lambda a, b: a * b})
    with pytest.raises(ValueError, match="defined already"):
        library.custom_op(name, body)
    with pytest.raises(ValueError, match="'cpu' already"):
        library.register_kernel(name, "cpu", lambda a, b: a)
    assert torch.ops.test_library.__dict__[name.partition("::")[2]] is first
    for bad in ("name", "a::b::c", "a::", "a b::c", 3):
        with pytest.raises(ValueError, match="namespace::name"):
            library.custom_op(bad, body)
    for taken in ("nn::mine", "add::mine"):
        with pytest.raises(ValueError, match="package's own"):
            library.custom_op(taken, body)
    with pytest.raises(ValueError, match="Tensor has an attribute 'add' already"):
        library.custom_op("test_library::add", body, method=True)
    with pytest.raises(ValueError, match="no custom operation 'test_library::nothing'"):
        library.register_kernel("test_library::nothing", "cpu", body)
    with pytest.raises(ValueError, match="no parameter is annotated as a tensor"):
        library.custom_op("test_library::nothing", lambda B, x: x)


def test_wrong_calls_and_results(name):
    with pytest.raises(ValueError, match="limit must be finite, got inf"):         # the kernel's own error, not another
        soft_clip(torch.ones(2), float("inf"))
    with pytest.raises(TypeError, match="test_library::soft_clip\\(\\) missing 1 required positional argument: \"input\""):
        soft_clip()
    for device in DEVICES:
        with pytest.raises(TypeError, match="'limit' is a tensor, but"):
            soft_clip(torch.ones(2, device=device), torch.ones(2, device=device))

    @library.custom_op(name, kernels={"cpu": lambda a, kind: {"list": [1.0], "number": 1.0, "pair": (a * 1, a * 1), "none": None}[kind]}, nograd=True)
    def wrong(B, input: Tensor, kind: str):
        return {"list": [1.0], "number": 1.0, "pair": (input, input), "none": None}[kind]

    for device, kind in itertools.product(DEVICES, ("list", "number", "pair", "none")):
        with pytest.raises((TypeError, ValueError), match="test_library::op"):
            wrong(torch.ones(2, device=device), kind)


# --- PyTorch's kind ------------------------------------------------------------------------------------------------
@library.custom_op("test_library::scaled_sin", mutates_args=())
def scaled_sin(x: Tensor, scale: float = 1.0) -> Tensor:
    return library.from_array(np.sin(x.numpy()) * scale, x.device)


def _keep(ctx, inputs, output):
    x, ctx.scale = inputs
    ctx.save_for_backward(x)


@scaled_sin.register_kernel("reference")
def _(x, scale):
    calls.append("scaled_sin on reference")
    return library.from_array(np.sin(x.array) * scale, x.device)


scaled_sin.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None), setup_context=_keep)


@pytest.mark.parametrize("device", DEVICES)
def test_pytorch_style(device):
    x = doubles(3, device=device)
    calls.clear()
    y = torch.ops.test_library.scaled_sin(x, scale=3.0)
    assert calls == ["scaled_sin on reference"] * (device == "reference")
    assert torch.allclose(y, 3 * x.sin()) and y.device.type == device
    assert gradcheck(scaled_sin, (x, 2.0)) and gradgradcheck(scaled_sin, (x, 2.0))
    assert torch.equal(torch.ops.test_library.scaled_sin.default(x), scaled_sin(x))


def test_pytorch_style_without_a_gradient(name):
    op = library.custom_op(name, lambda x: x.detach() * 2, mutates_args=(), device_types="cpu")
    y = op(doubles(2))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    with pytest.raises(NotImplementedError, match="no forward for device 'reference'.*cpu"):
        op(torch.ones(2, device="reference"))
    library.register_autograd(name, lambda ctx, g: g * 2)
    x = doubles(2)
    op(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_pytorch_style_several_outputs(name):
    @library.custom_op(name, mutates_args=())
    def sin_cos(x: Tensor, *, factor: float = 2.0) -> tuple[Tensor, Tensor]:
        return x.sin() * factor, x.cos()

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.factor = keyword_only_inputs["factor"]

    def backward(ctx, g_sin, g_cos):
        x, = ctx.saved_tensors
        return g_sin * x.cos() * ctx.factor - g_cos * x.sin()

    sin_cos.register_autograd(backward, setup_context=setup)
    x = doubles(3)
    assert gradcheck(lambda t: sin_cos(t, factor=3.0), (x,)) and gradgradcheck(lambda t: sin_cos(t), (x,))


def test_pytorch_style_mutation(name):
    @library.custom_op(name, mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.numpy()[...] = value

    x = torch.zeros(3)
    version = x._version
    assert fill(x, 2.0) is None and x.tolist() == [2.0] * 3 and x._version > version
    with pytest.raises(NotImplementedError, match="isn't differentiable"):
        fill(doubles(2), 1.0)
    with pytest.raises(RuntimeError, match="non-functional"):
        fill.register_autograd(lambda ctx, g: g)


def test_pytorch_style_refusals(name):
    with pytest.raises(ValueError, match="mutates_args names 'y', which is no parameter; these are: x"):
        library.custom_op(name, lambda x: x, mutates_args=("y",))
    with pytest.raises(ValueError, match="takes no option 'vjp'"):
        library.custom_op(name, lambda x: x, vjp={})
    with pytest.raises(NotImplementedError, match="unknown"):
        library.custom_op(name, lambda x: x, mutates_args="unknown")
    same = library.custom_op(name, lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="must not be an argument or a view"):
        same(torch.ones(2))
    double = library.custom_op(name + "_double", lambda x: x * 2, mutates_args=())
    double.register_vmap(lambda info, in_dims, x: 0)
    assert torch.vmap(double)(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="its gradient is its vjp|whose gradient is its vjp"):
        library.register_autograd(soft_clip, lambda ctx, g: g)
    listed = library.custom_op(name + "_list", lambda xs: xs[0] * 2, mutates_args=())
    with pytest.raises(NotImplementedError, match="list of tensors"):
        listed([doubles(2)])

    @library.custom_op(name + "_keyword", mutates_args=())
    def keyword(x, *, weight):
        return x * weight

    assert keyword(doubles(2).detach(), weight=torch.ones(2)).shape == (2,)
    with pytest.raises(NotImplementedError, match="'weight' gets no gradient"):
        keyword(doubles(2), weight=doubles(2))


def test_from_array():
    a = np.arange(3.0)
    for device in DEVICES:
        t = library.from_array(a, device)
        assert t.device.type == device and t.dtype is torch.float64
        t.add_(1)
    assert a.tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(TypeError, match="expected an array of device 'cpu', got list"):
        library.from_array([1.0], "cpu")


# --- kernels that go wrong ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel, exception, message", [
    (lambda a: int("x"), ValueError, "invalid literal"), (lambda a: a + None, TypeError, "unsupported operand"), (lambda a: None, TypeError, "not NoneType"),
    (lambda a: 5, TypeError, "not int"), (lambda a: a.astype(object), TypeError, "object")])
def test_what_a_kernel_raises_or_gives_is_never_replaced_by_the_body(name, kernel, exception, message):
    @library.custom_op(name, kernels={"cpu": kernel}, vjp=dict(input=lambda B, g: g))
    def op(B, input: Tensor):
        return B.mul(input, 2)

    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        with pytest.raises(exception, match=message):
            op(x)
    with pytest.raises(exception, match=message):
        op(torch.ones(2), out=torch.empty(2))
    assert op(torch.ones(2, device="reference")).tolist() == [2, 2]


@pytest.mark.parametrize("change", [
    lambda a: a.astype(a.dtype.newbyteorder(">")), lambda a: (a * 1)[::-1][::-1].astype(">f4")[:], lambda a: a[::-1].copy()[::-1], np.matrix, np.ma.array,
    lambda a: np.frombuffer(b"-" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)])
def test_arrays_of_any_kind_become_tensors_as_all_others(name, change):
    @library.custom_op(name, kernels={"cpu": change}, nograd=True)
    def op(B, input: Tensor):
        return B.clone(input)

    x = torch.arange(6.).view(2, 3)
    y = op(x)
    assert type(y.array) is np.ndarray and y.array.flags.aligned and y.dtype is torch.float32 and y.stride() == (3, 1)
    assert torch.equal(y + 1, x + 1) and torch.equal(y.as_strided((6,), (1,)), x.view(6))


@pytest.mark.parametrize("array", [np.arange(3.)[::-1], np.arange(3, dtype=">i4"), np.zeros(2, [("a", "i1"), ("b", "f8")])["b"]])
def test_from_array_takes_what_from_numpy_takes(array):
    for device in DEVICES:
        with pytest.raises(ValueError, match="given numpy array"):
            library.from_array(array, device)
