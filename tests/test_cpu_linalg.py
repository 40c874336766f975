"""LAPACK entries of the CPU backend: each factorisation is multiplied out again, solutions are put into their equation."""
import numpy as np
import pytest

from pyx_tensor_cpu import linalg

DTYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
BATCHES = [(), (3,), (2, 1), (40,), (0,)]
RECTANGLES = [(4, 4), (6, 3), (3, 6), (1, 5), (5, 1), (30, 20), (0, 3), (3, 0)]
LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "every second": lambda a: np.repeat(np.repeat(a, 2, -1), 2, -2)[..., ::2, ::2],
}

pytestmark = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype)


def regular(batch, n, dtype, seed=0):
    """Well-conditioned square matrices without symmetry."""
    return sample((*batch, n, n), dtype, seed) + 2 * n ** 0.5 * np.eye(n, dtype=dtype)


def hermitian(batch, n, dtype, seed=0):
    """Positive definite matrices."""
    a = sample((*batch, n, n), dtype, seed)
    return a @ a.swapaxes(-1, -2).conj() + n * np.eye(n, dtype=dtype)


def adjoint(a):
    return a.swapaxes(-1, -2).conj()


def close(found, wanted, dtype):
    assert type(found) is np.ndarray and found.shape == np.shape(wanted) and found.dtype == np.asarray(wanted).dtype
    tolerance = 2e-4 if dtype.name in ("float32", "complex64") else 1e-11
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * max(1, np.abs(wanted).max(initial=0)))


def succeeded(info, batch):
    assert info.dtype == np.int32 and info.shape == batch and not info.any()


def is_unitary(q, dtype):
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])), dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [1, 5, 33, 0])
def test_square_systems(dtype, batch, n, layout):
    a = LAYOUTS[layout](regular(batch, n, dtype))
    b = LAYOUTS[layout](sample((*batch, n, 3), dtype, 1))
    before = a.copy()
    x, info = linalg.solve(a, b)
    succeeded(info, batch)
    close(x, np.linalg.solve(a, b), dtype)
    inverse, info = linalg.inv(a)
    succeeded(info, batch)
    close(inverse, np.linalg.inv(a), dtype)
    close(linalg.det(a), np.linalg.det(a), dtype)
    sign, logarithm = linalg.slogdet(a)
    wanted_sign, wanted_logarithm = np.linalg.slogdet(a)
    close(sign, wanted_sign, dtype)
    close(logarithm, wanted_logarithm, dtype)
    np.testing.assert_array_equal(a, before)


def test_odd_permutations(dtype):
    for order in ([1, 0, 2], [1, 2, 0], [2, 1, 0, 3]):
        a = np.eye(len(order), dtype=dtype)[order]
        close(linalg.det(a), np.linalg.det(a), dtype)
        close(linalg.slogdet(a)[0], np.linalg.slogdet(a)[0], dtype)


def test_batches_of_systems_broadcast(dtype):
    for a_batch, b_batch in [((2, 1), (3,)), ((), (4,)), ((4,), ()), ((0,), (1,))]:
        a, b = regular(a_batch, 6, dtype), sample((*b_batch, 6, 2), dtype, 1)
        x, info = linalg.solve(a, b)
        succeeded(info, np.broadcast_shapes(a_batch, b_batch))
        close(x, np.linalg.solve(a, b), dtype)
        lu, pivots, _ = linalg.lu_factor(a)
        close(linalg.lu_solve(lu, pivots, b), np.linalg.solve(a, b), dtype)
    vector = sample((6,), dtype)
    a = regular((), 6, dtype)
    close(linalg.solve(a, vector)[0], np.linalg.solve(a, vector), dtype)


@pytest.mark.filterwarnings("error")
def test_determinants_beyond_the_range(dtype):
    a = np.eye(400, dtype=dtype) * dtype.type(10)
    assert not np.isfinite(linalg.det(a)) and linalg.det(a / dtype.type(100)) == 0
    close(linalg.slogdet(a)[1], np.asarray(400 * np.log(10), a.real.dtype), dtype)


def test_large_systems(dtype):
    a, b = regular((), 600, dtype), sample((600, 3), dtype, 1)
    x, info = linalg.solve(a, b)
    succeeded(info, ())
    close(a @ x, b, dtype)


@pytest.mark.filterwarnings("error")
def test_singular_matrices_are_reported(dtype):
    a = regular((3,), 4, dtype)
    a[1] = 0
    assert linalg.inv(a)[1].tolist() == [0, 1, 0]
    assert linalg.solve(a, a)[1].tolist() == [0, 1, 0]
    assert linalg.lu_factor(a)[2].tolist() == [0, 1, 0]
    assert linalg.det(a)[1] == 0
    sign, logarithm = linalg.slogdet(a)
    assert sign[1] == 0 and logarithm[1] == -np.inf and np.isfinite(logarithm[[0, 2]]).all()
    assert linalg.cholesky(-hermitian((), 4, dtype))[1] == 1


def test_nan_comes_out_as_nan(dtype):
    a = regular((), 4, dtype)
    a[0, 0] = np.nan
    inverse, info = linalg.inv(a)
    assert info == 0 and np.isnan(inverse).any()
    assert np.isnan(linalg.det(a))
    with pytest.raises(ValueError, match="NaN"):
        linalg.eig(a)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("m, n", RECTANGLES)
def test_lu(dtype, batch, m, n):
    a = sample((*batch, m, n), dtype)
    lu, pivots, info = linalg.lu_factor(a)
    succeeded(info, batch)
    k = min(m, n)
    assert pivots.dtype == np.int32 and pivots.shape == (*batch, k)
    lower, upper = np.tril(lu, -1)[..., :k] + np.eye(m, k, dtype=dtype), np.triu(lu)[..., :k, :]
    product = lower @ upper
    for index in np.ndindex(batch):
        for row in range(k - 1, -1, -1):
            other = pivots[index][row] - 1
            product[index][[row, other]] = product[index][[other, row]]
    close(product, a, dtype)


def test_pivots_out_of_range_are_refused(dtype):
    for bad in (0, 4):
        with pytest.raises(ValueError, match="pivots"):
            linalg.lu_solve(np.eye(3, dtype=dtype), np.array([1, 2, bad], np.int32), np.ones((3, 1), dtype))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [1, 6, 40, 0])
def test_cholesky(dtype, batch, n):
    a = hermitian(batch, n, dtype)
    b = sample((*batch, n, 2), dtype, 1)
    lower, info = linalg.cholesky(np.tril(a))
    succeeded(info, batch)
    close(lower @ adjoint(lower), a, dtype)
    assert not np.triu(lower, 1).any()
    upper, info = linalg.cholesky(np.triu(a), True)
    succeeded(info, batch)
    close(adjoint(upper) @ upper, a, dtype)
    assert not np.tril(upper, -1).any()
    for factor, is_upper in ((lower, False), (upper, True)):
        close(linalg.cholesky_solve(b, factor, is_upper), np.linalg.solve(a, b), dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular(dtype, batch, upper, transpose, unit):
    n = 7
    a, b = regular(batch, n, dtype) / n, sample((*batch, n, 3), dtype, 1)
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        triangle = triangle - triangle * np.eye(n, dtype=dtype) + np.eye(n, dtype=dtype)
    if transpose:
        triangle = triangle.swapaxes(-1, -2)
    close(linalg.triangular_solve(a, b, upper, transpose, unit), np.linalg.solve(triangle, b), dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("m, n", RECTANGLES)
def test_qr(dtype, batch, m, n):
    a = sample((*batch, m, n), dtype)
    for mode, columns in (("reduced", min(m, n)), ("complete", m)):
        q, r = linalg.qr(a, mode)
        assert q.shape == (*batch, m, columns) and r.shape == (*batch, columns, n)
        is_unitary(q, dtype)
        close(q @ r, a, dtype)
        assert not np.tril(r, -1).any()
    close(linalg.qr(a, "r")[1], linalg.qr(a)[1], dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("m, n", RECTANGLES)
def test_svd(dtype, batch, m, n):
    a = sample((*batch, m, n), dtype)
    k = min(m, n)
    for full in (False, True):
        u, s, vh, info = linalg.svd(a, full)
        succeeded(info, batch)
        assert u.shape == (*batch, m, m if full else k) and vh.shape == (*batch, n if full else k, n) and s.shape == (*batch, k)
        is_unitary(u, dtype)
        is_unitary(adjoint(vh), dtype)
        close((u[..., :k] * s[..., None, :].astype(dtype)) @ vh[..., :k, :], a, dtype)
        assert (np.diff(s) <= 0).all() and s.dtype == a.real.dtype
    values, info = linalg.svdvals(a)
    succeeded(info, batch)
    close(values, s, dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [1, 6, 40, 0])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(dtype, batch, n, uplo):
    a = sample((*batch, n, n), dtype)
    a = a + adjoint(a)
    w, v, info = linalg.eigh(np.tril(a) if uplo == "L" else np.triu(a), uplo)
    succeeded(info, batch)
    is_unitary(v, dtype)
    close((v * w[..., None, :].astype(dtype)) @ adjoint(v), a, dtype)
    assert (np.diff(w) >= 0).all() and w.dtype == a.real.dtype
    close(linalg.eigvalsh(a, uplo)[0], w, dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [1, 2, 7, 20, 0])
def test_eig(dtype, batch, n):
    a = sample((*batch, n, n), dtype)
    w, v, info = linalg.eig(a)
    succeeded(info, batch)
    complex_type = np.result_type(dtype, np.complex64)
    assert w.dtype == v.dtype == complex_type
    close(a.astype(complex_type) @ v, v * w[..., None, :], dtype)
    close(np.linalg.norm(v, axis=-2), np.ones((*batch, n), a.real.dtype), dtype)
    close(np.sort(linalg.eigvals(a)[0].real), np.sort(w.real), dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("m, n", RECTANGLES)
@pytest.mark.parametrize("driver", ["gelsd", "gelsy"])
def test_least_squares(dtype, batch, m, n, driver):
    a, b = sample((*batch, m, n), dtype), sample((*batch, m, 2), dtype, 1)
    x, rank, values, info = linalg.lstsq(a, b, None, driver)
    succeeded(info, batch)
    close(x, np.linalg.pinv(a) @ b, dtype)
    assert (rank == min(m, n)).all() and rank.shape == batch
    if driver == "gelsd" and min(m, n):
        close(values, linalg.svdvals(a)[0], dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("m, n", RECTANGLES)
def test_reflections(dtype, batch, m, n):
    a, k = sample((*batch, m, n), dtype), min(m, n)
    factors, tau = linalg.geqrf(a)
    assert tau.shape == (*batch, k) and tau.dtype == dtype
    square, _ = linalg.qr(a, "complete")
    close(linalg.householder_product(factors[..., :k], tau), square[..., :k], dtype)
    c = sample((*batch, m, m), dtype, 1)
    for left in (True, False):
        for transpose in (True, False):
            q = adjoint(square) if transpose else square
            close(linalg.ormqr(factors, tau, c, left, transpose), q @ c if left else c @ q, dtype)


def test_reflections_that_do_not_fit_are_refused(dtype):
    a, tau = np.ones((3, 2), dtype), np.ones(2, dtype)
    for bad in (lambda: linalg.householder_product(a, np.ones(3, dtype)), lambda: linalg.householder_product(a.T, tau),
                lambda: linalg.householder_product(a, np.ones((2, 2), dtype)), lambda: linalg.ormqr(a, tau, np.ones((2, 3), dtype)),
                lambda: linalg.ormqr(a, np.ones(3, dtype), np.ones((3, 3), dtype)), lambda: linalg.ormqr(a, tau, np.ones((1, 3, 3), dtype))):
        with pytest.raises(ValueError, match="fit"):
            bad()


@pytest.mark.parametrize("adjoint_too", [False, True])
def test_systems_from_factors(dtype, adjoint_too):
    a, b = regular((3,), 5, dtype), sample((5, 2), dtype, 1)
    lu, pivots, _ = linalg.lu_factor(a)
    close(linalg.lu_solve(lu, pivots, b, adjoint_too), np.linalg.solve(adjoint(a) if adjoint_too else a, b), dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [1, 2, 7, 0])
@pytest.mark.parametrize("conjugate", [False, True])
def test_indefinite_systems(dtype, batch, n, conjugate):
    a = sample((*batch, n, n), dtype)
    a = a + (adjoint(a) if conjugate else a.swapaxes(-1, -2))
    b = sample((*batch, n, 2), dtype, 1)
    ld, pivots, info = linalg.ldl_factor(np.tril(a), conjugate)
    succeeded(info, batch)
    assert pivots.dtype == np.int32 and pivots.shape == (*batch, n)
    close(a @ linalg.ldl_solve(ld, pivots, b, conjugate), b, dtype)


def test_pivots_of_blocks_are_checked(dtype):
    ld, b = np.eye(3, dtype=dtype), np.ones((3, 1), dtype)
    for bad in ([1, 2, 4], [0, 1, 2], [1, -4, -4], [1, 2, -3], [-2, 2, 3]):
        with pytest.raises(ValueError, match="pivots"):
            linalg.ldl_solve(ld, np.array(bad, np.int32), b)


def test_a_pivot_that_is_nan_is_not_positive(dtype):
    a = hermitian((3,), 4, dtype)
    a[1, 2, 2] = np.nan
    for upper in (False, True):
        assert linalg.cholesky(a, upper)[1].tolist() == [0, 3, 0]


def test_least_squares_of_low_rank(dtype):
    a = sample((8, 2), dtype) @ sample((2, 5), dtype, 1)
    b = sample((8, 1), dtype, 2)
    for driver in ("gelsd", "gelsy"):
        x, rank, _, _ = linalg.lstsq(a, b, 1e-4, driver)
        assert rank == 2
        close(x, np.linalg.pinv(a, rcond=1e-4) @ b, dtype)


def test_bad_arguments(dtype):
    square, wide = np.ones((3, 3), dtype), np.ones((3, 4), dtype)
    for op in (linalg.inv, linalg.det, linalg.cholesky, linalg.eigh, linalg.eig):
        with pytest.raises(ValueError, match="square"):
            op(wide)
        with pytest.raises(TypeError, match="int64"):
            op(np.ones((3, 3), np.int64))
    for op in (linalg.solve, linalg.triangular_solve):
        with pytest.raises(ValueError):
            op(square, np.ones((4, 1), dtype))
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(square, "raw")
    with pytest.raises(ValueError, match="driver"):
        linalg.lstsq(square, square, None, "gels")
    with pytest.raises(ValueError, match="uplo"):
        linalg.eigh(square, "X")
    with pytest.raises(ValueError, match="broadcast"):
        linalg.solve(np.ones((2, 3, 3), dtype), np.ones((3, 3, 1), dtype))
