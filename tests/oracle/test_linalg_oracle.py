"""Linear algebra beside PyTorch: values, gradients, named results, keywords, and the exceptions for what can't be done."""
import warnings

import numpy as np
import pytest

import pyx_tensor
from linalg_samples import Matrices, S

torch = pytest.importorskip("torch")
DTYPES = ("float64", "complex128")
EARLY = {"eigh", "eigvalsh"}      # some of their samples go by names that PyTorch has dropped
# PyTorch's gradient reaches the triangle that isn't read; for the others it writes over a value that its backward pass needs.
OTHER_GRADIENT = {"cholesky_solve", "cholesky_inverse", "cond", "vander"}


def flat(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def run(name, maker):
    """Of each sample the results and the gradients of their weighted sum; None where a name is missing or dropped."""
    for function, tensors in S[name](maker):
        leaves = [t.requires_grad_() for t in tensors]
        try:
            results = flat(function(*leaves))
        except (AttributeError, RuntimeError):
            assert name in EARLY
            yield None
            continue
        if name not in OTHER_GRADIENT:
            sum((r * (k + 1)).abs().sum() for k, r in enumerate(results)).backward()
        yield [t.detach().resolve_conj().numpy() for t in results], [t.grad.resolve_conj().numpy() for t in leaves if t.grad is not None]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", S)
def test_values_and_gradients(name, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = list(run(name, Matrices(torch, dtype)))
    mine = list(run(name, Matrices(pyx_tensor, dtype)))
    assert len(mine) == len(theirs) and any(t is not None for t in theirs)
    for m, t in zip(mine, theirs):
        for part in range(2) if t is not None else ():
            for x, y in zip(m[part], t[part], strict=True):
                assert x.dtype == y.dtype and x.shape == y.shape
                np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8)


def both(function):
    """What a function of the library gives or raises, for both."""
    found = []
    for lib in (pyx_tensor, torch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(function(lib))
        except Exception as error:      # noqa: BLE001 (whatever it is, it's compared)
            found.append(error)
    return found


NAMED = {
    "slogdet": lambda t, A: t.linalg.slogdet(A), "inv_ex": lambda t, A: t.linalg.inv_ex(A), "solve_ex": lambda t, A: t.linalg.solve_ex(A, A),
    "cholesky_ex": lambda t, A: t.linalg.cholesky_ex(A), "qr": lambda t, A: t.linalg.qr(A), "svd": lambda t, A: t.linalg.svd(A),
    "eigh": lambda t, A: t.linalg.eigh(A), "eig": lambda t, A: t.linalg.eig(A), "lstsq": lambda t, A: t.linalg.lstsq(A, A), "lu": lambda t, A: t.linalg.lu(A),
    "lu_factor": lambda t, A: t.linalg.lu_factor(A), "lu_factor_ex": lambda t, A: t.linalg.lu_factor_ex(A), "ldl_factor": lambda t, A: t.linalg.ldl_factor(A),
    "ldl_factor_ex": lambda t, A: t.linalg.ldl_factor_ex(A), "old svd": lambda t, A: t.svd(A), "old qr": lambda t, A: t.qr(A), "geqrf": lambda t, A: t.geqrf(A),
    "triangular_solve": lambda t, A: t.triangular_solve(A, A), "lu_unpack": lambda t, A: t.lu_unpack(*t.linalg.lu_factor(A)),
    "old lu": lambda t, A: t.lu(A, get_infos=True),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_results(name):
    mine, theirs = both(lambda t: NAMED[name](t, t.tensor([[3.0, 1.0], [1.0, 2.0]])))
    assert type(mine).__name__ == type(theirs).__name__
    fields = [f for f in dir(theirs) if not f.startswith("_") and f not in ("count", "index", "n_fields", "n_sequence_fields", "n_unnamed_fields")]
    assert sorted(mine._fields) == sorted(fields)
    for field in fields:
        x, y = getattr(mine, field), getattr(theirs, field)
        assert str(x.dtype) == str(y.dtype) and tuple(x.shape) == tuple(y.shape)


KEYWORDS = {
    "det": dict(A="square"), "slogdet": dict(A="square"), "inv": dict(A="square"), "solve": dict(A="square", B="square", left=False),
    "solve_triangular": dict(input="square", B="square", upper=True), "qr": dict(A="tall", mode="complete"), "svd": dict(A="tall", full_matrices=False),
    "svdvals": dict(A="tall"), "cholesky": dict(input="square", upper=True), "eig": dict(input="square"), "eigh": dict(input="square", UPLO="U"),
    "eigvalsh": dict(input="square", UPLO="u"), "lu": dict(A="tall", pivot=True), "lu_factor": dict(A="tall"), "pinv": dict(input="tall", rcond=1e-3),
    "matrix_rank": dict(input="tall", atol=0.1, rtol=0.2), "lstsq": dict(input="tall", b="tall", rcond=1e-3, driver="gelsd"),
    "vector_norm": dict(x="tall", ord=3, dim=1, keepdim=True), "matrix_norm": dict(input="tall", ord="nuc", dim=(0, 1), keepdim=True),
    "norm": dict(input="tall", ord=1, dim=(0, 1)), "cond": dict(input="square", p=1), "vecdot": dict(x="tall", y="tall", dim=0),
    "cross": dict(input="tall", other="tall", dim=0), "matrix_power": dict(input="square", n=-1), "vander": dict(x="vector", N=3),
    "diagonal": dict(A="square", offset=1, dim1=0, dim2=1), "multi_dot": dict(tensors=["square", "square"]), "matrix_exp": dict(input="square"),
    "tensorinv": dict(input="square", ind=1), "tensorsolve": dict(input="square", other="vector2"), "inv_ex": dict(A="square", check_errors=True),
    "householder_product": dict(input="tall", tau="vector2"), "cholesky_ex": dict(input="square", upper=False, check_errors=True),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords(name):
    def call(t):
        shapes = dict(square=[[3.0, 1.0], [1.0, 2.0]], tall=[[3.0, 1.0], [1.0, 2.0], [0.5, 1.0]], vector=[1.0, 2.0, 3.0], vector2=[1.0, 0.5])
        made = {key: t.tensor(shapes[value]) if isinstance(value, str) and value in shapes else [t.tensor(shapes[v]) for v in value]
                if isinstance(value, list) else value for key, value in KEYWORDS[name].items()}
        return flat(getattr(t.linalg, name)(**made))
    mine, theirs = both(call)
    assert not isinstance(theirs, Exception), theirs
    for x, y in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.abs(x.numpy()), np.abs(y.numpy()), rtol=1e-5, atol=1e-5)


FAULTS = {
    "singular inverse": lambda t: t.linalg.inv(t.ones(3, 2, 2)), "singular system": lambda t: t.linalg.solve(t.zeros(2, 2), t.ones(2)),
    "solve_ex": lambda t: t.linalg.solve_ex(t.zeros(2, 2), t.ones(2), check_errors=True), "inv_ex": lambda t: t.linalg.inv_ex(t.zeros(2, 2), check_errors=True),
    "indefinite": lambda t: t.linalg.cholesky(-t.eye(2)), "indefinite batch": lambda t: t.linalg.cholesky_ex(t.stack([t.eye(2), -t.eye(2)]), check_errors=True),
    "nan": lambda t: t.linalg.cholesky(t.full((2, 2), float("nan"))), "nan eig": lambda t: t.linalg.eig(t.full((2, 2), float("nan"))),
    "not square": lambda t: t.linalg.det(t.ones(2, 3)), "a vector": lambda t: t.linalg.inv(t.ones(3)),
    "integers": lambda t: t.linalg.det(t.ones(2, 2, dtype=t.int64)),
    "dtypes": lambda t: t.linalg.solve(t.eye(2), t.ones(2, 1).double()), "shapes": lambda t: t.linalg.solve(t.eye(2), t.ones(3, 1)),
    "batches": lambda t: t.linalg.solve(t.eye(2).expand(3, 2, 2), t.ones(2, 2, 2)), "mode": lambda t: t.linalg.qr(t.eye(2), "full"),
    "uplo": lambda t: t.linalg.eigh(t.eye(2), "X"), "driver": lambda t: t.linalg.svd(t.eye(2), driver="gesvd"),
    "lstsq driver": lambda t: t.linalg.lstsq(t.eye(2), t.eye(2), driver="x"),
    "order": lambda t: t.linalg.matrix_norm(t.eye(2), 3), "order of a vector": lambda t: t.linalg.norm(t.ones(2), "fro"),
    "empty inf norm": lambda t: t.linalg.vector_norm(t.ones(0), float("inf")),
    "no rows": lambda t: t.linalg.matrix_norm(t.ones(0, 3), -float("inf")), "same dims": lambda t: t.linalg.matrix_norm(t.eye(2), "fro", (0, 0)),
    "cond order": lambda t: t.linalg.cond(t.eye(2), 5),
    "norm dtype": lambda t: t.linalg.norm(t.ones(2, dtype=t.float64), dtype=t.float32),
    "complex norm": lambda t: t.linalg.vector_norm(t.ones(2, dtype=t.complex64), dtype=t.float32),
    "power": lambda t: t.linalg.matrix_power(t.ones(2, 2), -1), "power of what": lambda t: t.linalg.matrix_power(t.ones(2, 3), 2),
    "pivot": lambda t: t.linalg.lu(t.eye(2), pivot=False),
    "pivots dtype": lambda t: t.linalg.lu_solve(t.eye(2), t.tensor([1, 2]), t.eye(2)), "tensorinv": lambda t: t.linalg.tensorinv(t.ones(2, 3), 1),
    "ind": lambda t: t.linalg.tensorinv(t.eye(2), 0),
    "tensorsolve": lambda t: t.linalg.tensorsolve(t.ones(2, 3), t.ones(2)), "one matrix": lambda t: t.linalg.multi_dot([t.eye(2)]),
    "vander": lambda t: t.linalg.vander(t.ones(1)),
    "cross": lambda t: t.linalg.cross(t.ones(2), t.ones(2)), "reflections": lambda t: t.linalg.householder_product(t.ones(2, 3), t.ones(2)),
    "vecdot": lambda t: t.linalg.vecdot(t.ones(2), t.ones(3)),
    "qr r": lambda t: t.linalg.qr(t.eye(2).requires_grad_(), "r")[1].sum().backward(),
    "qr complete": lambda t: t.linalg.qr(t.ones(3, 2).requires_grad_(), "complete")[1].sum().backward(),
    "phase": lambda t: t.linalg.eigh((t.ones(2, 2) + t.eye(2)).to(t.complex64).requires_grad_())[1].imag.sum().backward(),
    "zero factor": lambda t: t.cholesky_inverse(t.zeros(2, 2)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_exceptions(name):
    mine, theirs = both(FAULTS[name])
    assert isinstance(theirs, Exception) and isinstance(mine, Exception), (mine, theirs)
    if isinstance(theirs, torch.linalg.LinAlgError):
        assert isinstance(mine, pyx_tensor.linalg.LinAlgError)
    kind = next(k for k in (IndexError, TypeError, ValueError, RuntimeError) if isinstance(theirs, k))
    assert isinstance(mine, kind), (mine, theirs)
