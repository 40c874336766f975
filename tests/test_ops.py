"""Every operation of the table, on its samples: forms, memory layouts, gradients, errors."""
import numpy as np
import pytest

import pyx_tensor as torch
from op_samples import HERMITIAN, RANDOM, Maker, S, calls
from pyx_tensor.autograd import gradcheck, gradgradcheck
from pyx_tensor.core.definitions import functions, methods, operations, properties

PUBLIC = {}      # operation -> its first public name
for _name, _function in functions.items():
    if hasattr(_function, "op") and operations.get(_function.op.name) is _function.op:
        PUBLIC.setdefault(_function.op.name, _name)
NAMES = sorted(set(PUBLIC.values()) - RANDOM)
IN_PART = {"igamma", "igammac"}      # differentiable with respect to one operand: test_special.py
DIFFERENTIABLE = [n for n in NAMES if not functions[n].op.nograd and n not in IN_PART]
# Rounding makes finite differences useless: their gradient is 0 or 1 by definition.
FLAT = {"floor", "ceil", "trunc", "round", "sign", "nextafter", "copysign", "heaviside", "frac", "remainder", "fmod", "frexp"}
FLAT |= {"ctc_loss"}      # its gradient takes the log probabilities to be normalised, as PyTorch's does


def flat(result):
    """The tensors in a result, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for item in result for t in flat(item)] if isinstance(result, (tuple, list)) else [torch.tensor(result)]


def same(a, b):
    a, b = flat(a), flat(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert x.dtype is y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-6, atol=1e-6)


def test_every_differentiable_operation_has_samples():
    missing = [n for n in DIFFERENTIABLE if n not in S]
    assert not missing, missing


def test_every_operation_has_samples():
    elsewhere = {"geqrf", "matrix_rank", "pstrf"}      # factorisations without a gradient: tests/test_linalg_early.py
    missing = set(NAMES) - set(S) - elsewhere
    assert not missing, missing


def test_every_sample_names_an_operation():
    assert set(S) <= set(functions)


def scattered(tensor):
    """The same values in memory with gaps, in another order of dims."""
    if not isinstance(tensor, torch.Tensor) or tensor.ndim == 0:
        return [scattered(t) for t in tensor] if isinstance(tensor, list) else tensor
    room = torch.zeros([2 * n for n in reversed(tensor.shape)], dtype=tensor.dtype)
    view = room[tuple(slice(None, None, 2) for _ in tensor.shape)].permute(tuple(reversed(range(tensor.ndim))))
    return view.copy_(tensor)


LAYOUT_IS_THE_POINT = {"view", "as_strided", "as_strided_scatter", "view_as", "view_as_complex", "unflatten"}


@pytest.mark.parametrize("name", sorted(set(S) - LAYOUT_IS_THE_POINT))
def test_memory_layout_makes_no_difference(name):
    for c in calls(name, Maker(torch)):
        same(functions[name](*c.args, **c.kwargs), functions[name](*map(scattered, c.args), **{k: scattered(v) for k, v in c.kwargs.items()}))


OF_THE_SECOND = {"where", "polygamma"}      # methods of the function's second argument


@pytest.mark.parametrize("name", sorted(n for n in S if n in methods and n not in properties))
def test_method(name):
    for c in calls(name, Maker(torch)):
        first, *rest = [*c.args[1::-1], *c.args[2:]] if name in OF_THE_SECOND else c.args
        if isinstance(first, torch.Tensor):
            same(functions[name](*c.args, **c.kwargs), getattr(first, name)(*rest, **c.kwargs))


@pytest.mark.parametrize("name", sorted(n for n in S if n + "_" in functions and hasattr(functions[n], "op")))
def test_in_place_form(name):
    for c in calls(name, Maker(torch)):
        first = c.args[0]
        if not isinstance(first, torch.Tensor):
            continue
        plain = functions[name](*c.args, **c.kwargs)
        if plain.shape != first.shape or plain.dtype is not first.dtype and not torch.can_cast(plain.dtype, first.dtype):
            continue
        written, version = first.clone(), first.clone()._version
        assert functions[name + "_"](written, *c.args[1:], **c.kwargs) is written
        same(written, plain.to(first.dtype))
        assert written._version > version


HAS_NO_OUT = {"is_nonzero", "allclose", "equal"}


@pytest.mark.parametrize("name", sorted(n for n in set(S) - HAS_NO_OUT if hasattr(functions[n], "op") and not isinstance(functions[n].op, type(functions["view"].op))))
def test_out(name):
    for c in calls(name, Maker(torch)):
        plain = functions[name](*c.args, **c.kwargs)
        if isinstance(plain, torch.Tensor):
            out = torch.empty(plain.shape, dtype=plain.dtype)
            assert functions[name](*c.args, **c.kwargs, out=out) is out
            same(out, plain)
        elif functions[name].op.returns is not None and all(isinstance(t, torch.Tensor) for t in plain):
            out = tuple(torch.empty(t.shape, dtype=t.dtype) for t in plain)
            written = functions[name](*c.args, **c.kwargs, out=out)
            assert all(w is o for w, o in zip(written, out)) and type(written) is type(plain)
            same(out, plain)


def split_leaves(args):
    """The floating tensors among the arguments, and a function that puts replacements in their places."""
    leaves = []

    def find(item):
        if isinstance(item, torch.Tensor) and (item.is_floating_point() or item.is_complex()):
            leaves.append(item)
        elif isinstance(item, list):
            [find(i) for i in item]
    find(list(args))

    def put(replacements):
        left = iter(replacements)

        def fill(item):
            if isinstance(item, torch.Tensor) and (item.is_floating_point() or item.is_complex()):
                return next(left)
            return [fill(i) for i in item] if isinstance(item, list) else item
        return fill(list(args))
    return leaves, put


FIRST_ONLY = {"native_layer_norm", "native_batch_norm"}      # their statistics have no gradient, as in PyTorch


def differentiated(name, c):
    leaves, put = split_leaves(c.args)

    def function(*inputs):
        args = put(inputs)
        if name in HERMITIAN:
            args[0] = (args[0] + args[0].mH) / 2
        result = functions[name](*args, **c.kwargs)
        return tuple(t for t in flat(result[0] if name in FIRST_ONLY else result) if t.is_floating_point() or t.is_complex())
    return function, tuple(t.detach().requires_grad_() for t in leaves)


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n not in FLAT and n in S])
def test_gradient(name):
    for c in calls(name, Maker(torch, "float64")):
        function, inputs = differentiated(name, c)
        if inputs and any(t.requires_grad for t in function(*inputs)):
            assert gradcheck(function, inputs)


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n not in FLAT and n in S])
def test_second_derivative(name):
    c = calls(name, Maker(torch, "float64"))[0]
    function, inputs = differentiated(name, c)
    if inputs and any(t.requires_grad for t in function(*inputs)):
        assert gradgradcheck(function, inputs)


@pytest.mark.parametrize("name", sorted(FLAT & set(DIFFERENTIABLE)))
def test_flat_functions_have_a_gradient(name):
    c = calls(name, Maker(torch))[0]
    function, inputs = differentiated(name, c)
    for t in function(*inputs):
        assert t.requires_grad
        t.sum().backward()
    assert all(t.grad is not None and t.grad.shape == t.shape for t in inputs)


@pytest.mark.parametrize("name", sorted(n for n in S if hasattr(functions[n], "op") and functions[n].op.signature.kinds[0] in (1, 2)))
def test_a_string_is_no_tensor(name):
    c = calls(name, Maker(torch))[0]
    with pytest.raises(TypeError):
        functions[name]("not a tensor", *c.args[1:], **c.kwargs)


UNARY = [n for n in S if hasattr(functions[n], "op") and functions[n].op.signature.params == ("input",) and n not in
         ("t", "fliplr", "flipud", "adjoint", "trace", "corrcoef", "imag", "view_as_real", "view_as_complex", "is_nonzero", "argwhere", "msort", "frexp", "gcd", "logdet", "matrix_exp")]


@pytest.mark.parametrize("name", UNARY)
def test_empty_and_zero_dim(name):
    kind = "int64" if name == "bitwise_not" else "float32"
    for shape in ((0,), (3, 0), ()):
        x = torch.ones(shape, dtype=getattr(torch, kind))
        result = functions[name](x)
        assert result.shape in (x.shape, (x.numel(),))


NUMPY = dict(
    add=np.add, sub=np.subtract, mul=np.multiply, true_divide=np.true_divide, maximum=np.maximum, minimum=np.minimum, fmax=np.fmax, fmin=np.fmin,
    hypot=np.hypot, atan2=np.arctan2, copysign=np.copysign, nextafter=np.nextafter, logaddexp=np.logaddexp, logaddexp2=np.logaddexp2,
    remainder=np.remainder, fmod=np.fmod, floor_divide=np.floor_divide, eq=np.equal, ne=np.not_equal, lt=np.less, le=np.less_equal, gt=np.greater,
    ge=np.greater_equal, logical_and=np.logical_and, logical_or=np.logical_or, logical_xor=np.logical_xor, gcd=np.gcd, lcm=np.lcm, heaviside=np.heaviside,
    neg=np.negative, abs=np.abs, sign=np.sign, exp=np.exp, exp2=np.exp2, expm1=np.expm1, sin=np.sin, cos=np.cos, tan=np.tan, asinh=np.arcsinh,
    atan=np.arctan, sinh=np.sinh, cosh=np.cosh, tanh=np.tanh, floor=np.floor, ceil=np.ceil, trunc=np.trunc, square=np.square, deg2rad=np.deg2rad,
    rad2deg=np.rad2deg, sinc=np.sinc, angle=np.angle, reciprocal=np.reciprocal, log=np.log, log2=np.log2, log10=np.log10, log1p=np.log1p, sqrt=np.sqrt,
    asin=np.arcsin, acos=np.arccos, atanh=np.arctanh, acosh=np.arccosh, isnan=np.isnan, isinf=np.isinf, isfinite=np.isfinite, signbit=np.signbit,
    logical_not=np.logical_not, matmul=np.matmul, outer=np.outer, kron=np.kron, trace=np.trace, ravel=np.ravel, fliplr=np.fliplr,
    flipud=np.flipud, corrcoef=np.corrcoef, where=np.where, dot=np.dot, inner=np.inner, tril=np.tril,
    triu=np.triu, unravel_index=np.unravel_index, diagflat=np.diagflat, ldexp=np.ldexp, nonzero=np.argwhere, argwhere=np.argwhere,
    permute=np.transpose, reshape=np.reshape, take=np.take, rot90=np.rot90, tensordot=np.tensordot)


def host(item):
    if isinstance(item, torch.Tensor):
        return item.numpy()
    return [host(i) for i in item] if isinstance(item, list) else item


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_values_are_numpys(name):
    for c in calls(name, Maker(torch)):
        if c.kwargs:
            continue
        expected = NUMPY[name](*map(host, c.args))
        result = functions[name](*c.args)
        for r, e in zip(flat(result), expected if isinstance(expected, tuple) else (expected,)):
            assert tuple(r.shape) == np.shape(e)
            np.testing.assert_allclose(r.numpy(), e, rtol=2e-6, atol=2e-6)


def test_number_operands_are_refused_as_in_pytorch():
    x = torch.ones(2)
    for refused in (lambda: torch.eq(2, x), lambda: torch.maximum(x, 1.0), lambda: torch.exp(2.0), lambda: torch.pow(2, 3)):
        with pytest.raises(TypeError, match="must be Tensor, not"):
            refused()
    assert (2 > x).all() and torch.pow(2, x).sum() == 4 and torch.remainder(5, x).sum() == 0


def test_extrema_of_nothing_are_refused_as_in_pytorch():
    nothing = torch.zeros(2, 0)
    for function in (torch.amax, torch.amin, torch.argmax, torch.max, torch.min, lambda x, dim: torch.aminmax(x, dim=dim)):
        with pytest.raises(IndexError, match="non-zero size"):
            function(nothing, -1)
    for function in (torch.amax, torch.amin, torch.max, torch.min, torch.aminmax):
        with pytest.raises(RuntimeError):
            function(nothing)
