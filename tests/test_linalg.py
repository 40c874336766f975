"""Linear algebra on its samples: first and second derivatives, backends, memory layouts, batches of nothing, `out=`."""
import numpy as np
import pytest

import pyx_tensor as torch
from linalg_samples import Matrices, S
from pyx_tensor.autograd import gradcheck, gradgradcheck

DTYPES = ("float64", "complex128")


def flat(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def close(found, wanted, tolerance=1e-9):
    found, wanted = flat(found), flat(wanted)
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted):
        assert x.dtype is y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x.detach().cpu().numpy(), y.detach().cpu().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", S)
def test_first_and_second_derivatives(name, dtype):
    for function, tensors in S[name](Matrices(torch, dtype)):
        tensors = tuple(t.requires_grad_() for t in tensors)
        assert gradcheck(function, tensors)
        assert gradgradcheck(function, tensors)


def value_and_gradients(name, maker, change=lambda t: t):
    """Of each sample the results and the gradients of a sum of all of them."""
    for function, tensors in S[name](maker):
        leaves = [t.requires_grad_() for t in tensors]
        results = flat(function(*map(change, leaves)))
        sum(r.abs().sum() for r in results).backward()
        yield [*results, *[t.grad for t in leaves]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", S)
def test_backends_agree(name, dtype):
    pairs = zip(value_and_gradients(name, Matrices(torch, dtype)), value_and_gradients(name, Matrices(torch, dtype, "reference")), strict=True)
    for mine, theirs in pairs:
        assert all(t.device.type == "reference" for t in theirs)
        close([t.cpu() for t in theirs], mine)


def scattered(t):
    """The same values in memory with gaps, in another order of dims."""
    room = torch.zeros([2 * n for n in reversed(t.shape)], dtype=t.dtype)
    return room[tuple(slice(None, None, 2) for _ in t.shape)].permute(tuple(reversed(range(t.ndim)))).copy_(t)


@pytest.mark.parametrize("name", S)
def test_memory_layout_makes_no_difference(name):
    for plain, odd in zip(value_and_gradients(name, Matrices(torch)), value_and_gradients(name, Matrices(torch), scattered), strict=True):
        close(odd, plain)


@pytest.mark.parametrize("name", S)
def test_single_precision(name):
    for dtype, wide in (("float32", "float64"), ("complex64", "complex128")):
        for (function, tensors), (same, exact) in zip(S[name](Matrices(torch, dtype)), S[name](Matrices(torch, wide)), strict=True):
            for found, wanted in zip(flat(function(*tensors)), flat(same(*exact)), strict=True):
                assert found.dtype is {torch.float64: torch.float32, torch.complex128: torch.complex64}[wanted.dtype]
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=2e-3, atol=2e-3)


# Functions of one matrix, and those that take square ones only.
SQUARE = ("det", "slogdet", "inv", "inv_ex", "cholesky", "cholesky_ex", "eig", "eigvals", "eigh", "eigvalsh", "matrix_exp", "ldl_factor", "ldl_factor_ex")
ANY = ("qr", "svd", "svdvals", "pinv", "lu", "lu_factor", "lu_factor_ex", "matrix_rank", "cond", "norm", "diagonal")


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("name", SQUARE + ANY)
def test_batches_of_nothing(name, device):
    function = getattr(torch.linalg, name)
    shapes = [(0, 3, 3), (2, 0, 0), (0, 0), (0, 0, 0)] + [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 3)] * (name in ANY)
    for shape in shapes:
        x = torch.zeros(shape, device=device, requires_grad=True)
        results = flat(function(x))
        for r in results:
            assert r.shape[:len(shape) - 2] == shape[:-2] or name in ("qr", "norm")
        sum(r.abs().sum() for r in results if r.requires_grad and r.is_floating_point() or r.is_complex())


OUT = dict(det=1, slogdet=2, inv=1, inv_ex=2, cholesky=1, cholesky_ex=2, eig=2, eigvals=1, eigh=2, eigvalsh=1, qr=2, svd=3, svdvals=1, pinv=1, lu=3,
           lu_factor=2, lu_factor_ex=3, matrix_rank=1, cond=1, norm=1, vector_norm=1, matrix_norm=1, matrix_power=1, ldl_factor=2, solve=1,
           solve_ex=2, lstsq=4, vecdot=1, cross=1)
MORE = dict(matrix_power=(2,), solve=(torch.ones(3, 2),), solve_ex=(torch.ones(3, 2),), lstsq=(torch.ones(3, 2),), vecdot=(torch.ones(3, 3),),
            cross=(torch.ones(3, 3),))


@pytest.mark.parametrize("name", OUT)
def test_out(name):
    x = torch.tensor([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
    function, more = getattr(torch.linalg, name), MORE.get(name, ())
    plain = function(x, *more)
    assert len(flat(plain)) == OUT[name]
    out = tuple(torch.empty(0, dtype=t.dtype) for t in flat(plain))
    written = function(x, *more, out=out if OUT[name] > 1 else out[0])
    assert all(w is o for w, o in zip(flat(written), out, strict=True))
    close(out, flat(plain), 0)
    assert type(written) is type(plain)
    wrong = tuple(torch.empty(0, dtype=torch.int32 if t.is_floating_point() or t.is_complex() else torch.bool) for t in flat(plain))
    with pytest.raises(RuntimeError, match="can't be cast|to have dtype"):
        function(x, *more, out=wrong if OUT[name] > 1 else wrong[0])
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        function(x.clone().requires_grad_(), *more, out=out if OUT[name] > 1 else out[0])


def test_every_name_of_the_namespace():
    names = set(torch.linalg.__all__) - {"LinAlgError"}
    assert all(callable(getattr(torch.linalg, name)) and getattr(torch.linalg, name).__doc__ for name in names)
    assert len(names) == 41
    assert "linalg" in dir(torch)


@pytest.mark.parametrize("name", SQUARE)
def test_only_square_matrices(name):
    function = getattr(torch.linalg, name)
    with pytest.raises(RuntimeError, match="square"):
        function(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        function(torch.ones(3))


@pytest.mark.parametrize("name", SQUARE + ("qr", "svd", "svdvals", "pinv", "lu", "lu_factor", "matrix_rank", "cond"))
def test_only_floating_point(name):
    for dtype in (torch.int64, torch.bool, *[torch.float16, torch.bfloat16] * (name != "matrix_exp")):
        with pytest.raises(RuntimeError):
            getattr(torch.linalg, name)(torch.ones(2, 2, dtype=dtype))
    with pytest.raises(TypeError):
        getattr(torch.linalg, name)("a matrix")
