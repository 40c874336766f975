"""LAPACK's factorisations of NumPy arrays (..., m, n): the slow fallback of backends without their own.

Where NumPy has a factorisation it is NumPy's; else it is written out over whole batches, one step for each column. `info` (int32,
one for each matrix) is 0, or LAPACK's number of what went wrong: nothing is raised for it.
"""
import math

import numpy as np


def _adjoint(a):
    return a.swapaxes(-1, -2).conj()


def _flat(a):
    """A copy as one batch of matrices."""
    return np.array(a, order="C").reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def _info(a):
    return np.zeros(a.shape[:-2], np.int32)


def _quiet(function):
    def call(*args):
        with np.errstate(all="ignore"):
            return function(*args)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


# --- LU -----------------------------------------------------------------------------------------------------------
def _exchange(a, first, second):
    """Exchange rows `first` with rows `second[i]` of a[i]."""
    every = np.arange(len(a))
    a[every, first], a[every, second] = a[every, second].copy(), a[every, first].copy()


@_quiet
def lu_factor(a):
    """(LU, pivots, info) by columns, with the largest element of each as pivot."""
    lu = _flat(a)
    k = min(a.shape[-2:])
    pivots, info = np.zeros((len(lu), k), np.int32), np.zeros(len(lu), np.int32)
    for j in range(k):
        row = j + (np.abs(lu[:, j:, j].real) + np.abs(lu[:, j:, j].imag)).argmax(1)
        pivots[:, j] = row + 1
        _exchange(lu, j, row)
        pivot = lu[:, j, j]
        info[(pivot == 0) & (info == 0)] = j + 1
        lu[:, j + 1:, j] /= np.where(pivot == 0, 1, pivot)[:, None]
        lu[:, j + 1:, j + 1:] -= lu[:, j + 1:, j, None] * lu[:, None, j, j + 1:]
    return lu.reshape(a.shape), pivots.reshape(*a.shape[:-2], k), info.reshape(a.shape[:-2])


def lu_permutation(pivots, rows):
    """Places (int64) of the rows that a factorisation puts in order, from exchanges counted from 1."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).astype(np.int64) - 1
    if flat.size and not (0 <= flat.min() and flat.max() < rows):
        raise ValueError(f"pivots must lie between 1 and {rows}, got {flat.min() + 1} to {flat.max() + 1}")
    places = np.tile(np.arange(rows), (len(flat), 1))
    for j in range(flat.shape[1]):
        _exchange(places, j, flat[:, j])
    return places.reshape(*pivots.shape[:-1], rows)


@_quiet
def triangular_solve(a, b, upper=False, transpose=False, unitriangular=False):
    """X of A X = B, or of A^T X = B with `transpose`, by substitution."""
    if transpose:
        a, upper = a.swapaxes(-1, -2), not upper
    n = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
    for i in reversed(range(n)) if upper else range(n):
        if not unitriangular:
            x[..., i, :] /= a[..., i, i, None]
        rest = slice(0, i) if upper else slice(i + 1, n)
        x[..., rest, :] -= a[..., rest, i, None] * x[..., i, None, :]
    return x


@_quiet
def cholesky(a, upper=False):
    """(factor, info) by columns, from one triangle."""
    lower = _flat(_adjoint(a) if upper else a)
    info = np.zeros(len(lower), np.int32)
    for j in range(a.shape[-1]):
        pivot = lower[:, j, j].real
        info[~(pivot > 0) & (info == 0)] = j + 1
        lower[:, j, j] = np.sqrt(pivot)
        lower[:, j + 1:, j] /= lower[:, j, j, None]
        lower[:, j + 1:, j + 1:] -= lower[:, j + 1:, j, None] * lower[:, None, j + 1:, j].conj()
    lower = np.tril(lower).reshape(a.shape)
    return _adjoint(lower) if upper else lower, info.reshape(a.shape[:-2])


# --- reflections --------------------------------------------------------------------------------------------------
def geqrf(a):
    """(a, tau): R, and the reflections below it."""
    if not min(a.shape[-2:]) or not a.size:
        return np.array(a), np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    factors, tau = np.linalg.qr(a, mode="raw")
    return np.ascontiguousarray(factors.swapaxes(-1, -2)), tau


# --- decompositions -----------------------------------------------------------------------------------------------
def _or_nan(function, a, results):
    """function(a) and info; where NumPy gives up, NaN of the shapes and dtypes `results`, and 1."""
    try:
        found = function(a)
        return *(found if isinstance(found, tuple) else (found,)), _info(a)
    except np.linalg.LinAlgError:
        return *[np.full(shape, np.nan, dtype) for shape, dtype in results], _info(a) + 1


def svd(a, full_matrices=False):
    """(U, S, Vh, info)."""
    *batch, m, n = a.shape
    k = min(m, n)
    results = [((*batch, m, m if full_matrices else k), a.dtype), ((*batch, k), a.real.dtype), ((*batch, n if full_matrices else k, n), a.dtype)]
    return _or_nan(lambda x: tuple(np.linalg.svd(x, full_matrices)), a, results)


def svdvals(a):
    """(S, info)."""
    return _or_nan(lambda x: np.linalg.svd(x, compute_uv=False), a, [((*a.shape[:-2], min(a.shape[-2:])), a.real.dtype)])


def eigh(a, uplo="L"):
    """(w, V, info)."""
    return _or_nan(lambda x: tuple(np.linalg.eigh(x, uplo)), a, [(a.shape[:-1], a.real.dtype), (a.shape, a.dtype)])


def eigvalsh(a, uplo="L"):
    """(w, info)."""
    return _or_nan(lambda x: np.linalg.eigvalsh(x, uplo), a, [(a.shape[:-1], a.real.dtype)])


def _complex(a):
    return np.result_type(a.dtype, np.complex64)


def eig(a):
    """(w, V, info), complex."""
    results = [(a.shape[:-1], _complex(a)), (a.shape, _complex(a))]
    return _or_nan(lambda x: tuple(part.astype(_complex(a)) for part in np.linalg.eig(x)), a, results)


def eigvals(a):
    """(w, info), complex."""
    return _or_nan(lambda x: np.linalg.eigvals(x).astype(_complex(a)), a, [(a.shape[:-1], _complex(a))])


# --- L D L^T ------------------------------------------------------------------------------------------------------
_GROWTH = (1 + 17 ** 0.5) / 8       # J. Bunch & L. Kaufman, Some stable methods for calculating inertia (1977)


@_quiet
def ldl_factor(a, hermitian=False):
    """(LD, pivots, info) of the lower triangles, stored as LAPACK's sytf2 and hetf2 store them."""
    turn = np.conj if hermitian else np.asarray
    factors, pivots, info = np.tril(_flat(a)), np.zeros((math.prod(a.shape[:-2]), a.shape[-1]), np.int32), _info(a).reshape(-1)
    for i, matrix in enumerate(factors):
        info[i] = _bunch_kaufman(matrix, pivots[i], turn)
    upper = np.triu(_flat(a), 1)
    return (factors + upper).reshape(a.shape), pivots.reshape(a.shape[:-1]), info.reshape(a.shape[:-2])


def _size(x):
    return np.abs(x.real) + np.abs(x.imag)


def _bunch_kaufman(a, pivots, turn):
    """Factor the lower triangle of one matrix in place; the info."""
    n, k, info = len(a), 0, 0
    while k < n:
        row, two = _choose_pivot(a, k)
        last = k + two
        if not max(_size(a[k, k]), _size(a[k + 1:, k]).max(initial=0)) > 0:
            info, row, last = info or k + 1, k, k
        if row != last:
            _exchange_symmetric(a, last, row, turn)
            if two:
                a[last, k], a[row, k] = a[row, k], a[last, k]
        block, below = a[k:last + 1, k:last + 1], a[last + 1:, k:last + 1]
        full = np.tril(block) + turn(np.tril(block, -1)).T
        if np.any(full):
            scaled = np.linalg.solve(full.T, below.T).T if two else below / full[0, 0]
            a[last + 1:, last + 1:] -= np.tril(scaled @ turn(below).T)
            a[last + 1:, k:last + 1] = scaled
        pivots[k:last + 1] = -(row + 1) if two else row + 1
        k = last + 1
    return info


def _choose_pivot(a, k):
    """The row to exchange, and whether a block of two rows is taken."""
    n = len(a)
    own, column = _size(a[k, k]), _size(a[k + 1:, k])
    if k == n - 1 or not column.max() > 0 or own >= _GROWTH * column.max():
        return k, False
    row, largest = k + 1 + int(column.argmax()), column.max()
    others = max(_size(a[row, k:row]).max(initial=0), _size(a[row + 1:, row]).max(initial=0))
    if own >= _GROWTH * largest * (largest / others):
        return k, False
    return row, not _size(a[row, row]) >= _GROWTH * others


def _exchange_symmetric(a, first, second, turn):
    """Exchange rows and columns first < second of a matrix whose lower triangle is stored, from column `first` on."""
    a[second + 1:, [first, second]] = a[second + 1:, [second, first]]
    between = slice(first + 1, second)
    a[between, first], a[second, between] = turn(a[second, between]).copy(), turn(a[between, first]).copy()
    a[second, first] = turn(a[second, first])
    a[first, first], a[second, second] = a[second, second], a[first, first]


@_quiet
def ldl_solve(ld, pivots, b, hermitian=False):
    """X of A X = B from ldl_factor's results."""
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    turn = np.conj if hermitian else np.asarray
    count = math.prod(batch)
    lds = np.broadcast_to(ld, (*batch, *ld.shape[-2:])).reshape(count, *ld.shape[-2:])
    exchanges = np.broadcast_to(pivots, (*batch, pivots.shape[-1])).reshape(count, pivots.shape[-1])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), order="C")
    n = ld.shape[-1]
    if exchanges.size and not (1 <= np.abs(exchanges).min() and np.abs(exchanges).max() <= n):
        raise ValueError(f"ldl_solve: pivots must lie between 1 and {n} in absolute value")
    for one, steps, right in zip(lds, exchanges, x.reshape(count, *b.shape[-2:])):
        _ldl_substitute(one, _blocks(steps), right, turn)
    return x


def _blocks(pivots):
    """(first row, last row, row that was exchanged with the last) of each block of D."""
    found, k = [], 0
    while k < len(pivots):
        last = min(k + bool(pivots[k] < 0), len(pivots) - 1)
        found.append((k, last, abs(int(pivots[k])) - 1))
        k = last + 1
    return found


def _ldl_substitute(a, blocks, x, turn):
    for k, last, row in blocks:
        x[[last, row]] = x[[row, last]]
        x[last + 1:] -= a[last + 1:, k:last + 1] @ x[k:last + 1]
    for k, last, _ in blocks:
        block = a[k:last + 1, k:last + 1]
        full = np.tril(block) + turn(np.tril(block, -1)).T
        x[k:last + 1] = np.linalg.solve(full, x[k:last + 1]) if last > k else x[k:last + 1] / full
    for k, last, row in reversed(blocks):
        x[k:last + 1] -= turn(a[last + 1:, k:last + 1]).T @ x[last + 1:]
        x[[last, row]] = x[[row, last]]


ENTRIES = (lu_factor, lu_permutation, triangular_solve, cholesky, geqrf, svd, svdvals, eigh, eigvalsh, eig, eigvals, ldl_factor, ldl_solve)
