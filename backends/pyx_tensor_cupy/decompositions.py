"""Singular values and eigenvalues of batches of matrices, by cuSOLVER. Each result ends with a number for each matrix: 0, or 1 where it has none.

The other factorisations need LAPACK's report of what failed, which CuPy doesn't give on: they are done on the host.
"""
from .entries import entry

KINDS = ("float32", "float64", "complex64", "complex128")


def _check(backend, name, a):
    if backend.dtype_name(a) not in KINDS:
        raise TypeError(f"{name} isn't defined for {backend.dtype_name(a)}")


def _solved(backend, function, a, values):
    """function(a) with its report; matrices with NaN or infinity, which solvers may not end with, give NaN. `values`: which result is the values."""
    xp = backend.xp
    wrong = ~xp.all(xp.isfinite(a), axis=(-2, -1)) if a.size else xp.zeros(a.shape[:-2], bool)
    safe = xp.where(wrong[..., None, None], xp.zeros_like(a), a) if a.size else a
    results = function(safe)
    results = results if isinstance(results, tuple) else (results,)
    marked = []
    for r in results:
        mask = xp.reshape(wrong, tuple(wrong.shape) + (1,) * (len(r.shape) - len(wrong.shape)))
        marked.append(xp.ascontiguousarray(xp.where(mask, xp.full_like(r, float("nan")), r)))
    failed = ~xp.all(xp.isfinite(marked[values]), axis=-1) if marked[values].size else wrong
    return *marked, xp.asarray(failed).astype(backend.dtypes["int32"])


@entry
def svd(self, a, full_matrices=False):
    _check(self, "svd", a)
    return _solved(self, lambda x: tuple(self.xp.linalg.svd(x, full_matrices=bool(full_matrices))), a, 1)


@entry
def svdvals(self, a):
    _check(self, "svdvals", a)
    return _solved(self, lambda x: self.xp.linalg.svd(x, compute_uv=False), a, 0)


@entry
def eigh(self, a, uplo="L"):
    _check(self, "eigh", a)
    return _solved(self, lambda x: tuple(self.xp.linalg.eigh(x, UPLO=uplo)), a, 0)


@entry
def eigvalsh(self, a, uplo="L"):
    _check(self, "eigvalsh", a)
    return _solved(self, lambda x: self.xp.linalg.eigvalsh(x, UPLO=uplo), a, 0)
