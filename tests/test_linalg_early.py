"""Early PyTorch's linear algebra, with the arguments and results of its time."""
import math

import numpy as np
import pytest

import pyx_tensor as torch

A = [[4.0, 2.0], [2.0, 5.0]]
U = [[2.0, 1.0], [0.0, 2.0]]      # A = U^T U
TALL = [[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]
SHAPES = [pytest.param(array, id=name) for name, array in dict(tall=TALL, square=[[3.0, 1.0], [4.0, 2.0]], wide=np.transpose(TALL).tolist()).items()]


def T(values):
    return torch.tensor(values, dtype=torch.float64)


def close(found, wanted, tolerance=1e-12):
    assert tuple(found.shape) == np.shape(wanted)
    np.testing.assert_allclose(found.numpy(), np.asarray(wanted), rtol=tolerance, atol=tolerance)


@pytest.mark.rows("S343")
def test_gesv_takes_the_right_hand_side_first():
    X, LU = torch.gesv(T([[8.0], [9.0]]), T(A))
    close(X, [[11 / 8], [5 / 4]])
    close(LU, [[4, 2], [0.5, 4]])
    close(torch.solve(T([[8.0], [9.0]]), T(A)).solution, X)
    close(T([[8.0], [9.0]]).gesv(T(A))[0], X)
    close(torch.gesv(B=T([[8.0], [9.0]]), A=T(A))[0], X)
    with pytest.raises(RuntimeError, match="singular"):
        torch.gesv(T([[1.0], [1.0]]), T([[1.0, 1.0], [1.0, 1.0]]))


@pytest.mark.rows("S339")
def test_gels_of_a_tall_matrix():
    # the line through (0, 1), (1, 2), (2, 6): slope 5/2, at 0 1/2, residuals 1/2, -1, 1/2
    X, QR = torch.gels(T([[1.0], [2.0], [6.0]]), T([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))
    close(X[:2], [[0.5], [2.5]])
    assert X.shape == (3, 1) and math.isclose(float(X[2]) ** 2, 1.5)
    assert QR.shape == (3, 2)
    close(torch.lstsq(T([[1.0], [2.0], [6.0]]), T([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))[0], X)


@pytest.mark.rows("S340")
def test_gels_of_a_wide_matrix_gives_the_least_norm():
    X, _ = torch.gels(T([[6.0]]), T([[1.0, 2.0, 1.0]]))
    close(X, [[1.0], [2.0], [1.0]])
    with pytest.raises(RuntimeError, match="rank"):
        torch.gels(T([[1.0], [1.0]]), T([[1.0, 1.0], [1.0, 1.0]]))


@pytest.mark.rows("S349")
def test_potrf_is_upper_unless_told():
    close(torch.potrf(T(A)), U)
    close(torch.potrf(T(A), upper=False), np.transpose(U))
    close(T(A).potrf(False), np.transpose(U))
    close(torch.cholesky(T(A)), np.transpose(U))
    with pytest.raises(RuntimeError, match="positive-definite"):
        torch.potrf(T([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.rows("S350", "S351")
def test_potri_and_potrs():
    close(torch.potri(T(U)), np.linalg.inv(A))
    close(torch.potri(T(np.transpose(U).tolist()), upper=False), np.linalg.inv(A))
    close(torch.potrs(T([[8.0], [9.0]]), T(U)), [[11 / 8], [5 / 4]])
    close(torch.potrs(T([[8.0], [9.0]]), T(np.transpose(U).tolist()), False), [[11 / 8], [5 / 4]])


@pytest.mark.rows("S352")
def test_pstrf():
    values = np.array([[1.0, 2.0, 0.5], [2.0, 9.0, 3.0], [0.5, 3.0, 4.0]])
    u, piv = torch.pstrf(T(values.tolist()))
    assert piv.dtype is torch.int32 and piv.tolist() == [1, 2, 0]
    order = piv.long().numpy()
    close(u.t() @ u, values[order][:, order])
    assert (np.diff(np.diag(u.numpy())) < 0).all() and not np.tril(u.numpy(), -1).any()
    close(torch.pstrf(T(values.tolist()), upper=False)[0], u.t())
    low, piv = torch.pstrf(T([[1.0, 1.0], [1.0, 1.0]]))
    close(low, [[1, 1], [0, 0]])
    complex_u, piv = torch.pstrf(torch.tensor([[2, 1j], [-1j, 3]], dtype=torch.complex128))
    assert piv.tolist() == [1, 0]
    close(complex_u.mH @ complex_u, [[3, -1j], [1j, 2]])


@pytest.mark.rows("S356")
def test_trtrs():
    X, M = torch.trtrs(T([[4.0], [6.0]]), T([[2.0, 1.0], [9.0, 3.0]]))
    close(X, [[1], [2]])
    close(M, [[2, 1], [9, 3]])
    b, triangle = T([[2.0], [7.0]]), T(U)
    assert torch.trtrs(b, triangle)[1].data_ptr() != triangle.data_ptr() and triangle.tolist() == U
    close(torch.trtrs(T([[2.0], [7.0]]), T([[2.0, 1.0], [9.0, 3.0]]), upper=True, transpose=True)[0], [[1], [2]])
    close(torch.trtrs(T([[2.0], [15.0]]), T([[2.0, 1.0], [9.0, 3.0]]), upper=False)[0], [[1], [2]])
    close(torch.trtrs(T([[3.0], [2.0]]), T([[7.0, 1.0], [9.0, 7.0]]), unitriangular=True)[0], [[1], [2]])


@pytest.mark.rows("S335", "S336")
def test_btrifact_and_btrisolve():
    batch = T([A, [[0.0, 1.0], [2.0, 0.0]]])
    LU, pivots = torch.btrifact(batch)
    assert pivots.dtype is torch.int32 and pivots.tolist() == [[1, 2], [2, 2]]
    close(LU, [[[4, 2], [0.5, 4]], [[2, 0], [0, 1]]])
    close(torch.btrisolve(T([[8.0, 9.0], [3.0, 4.0]]), LU, pivots), [[11 / 8, 5 / 4], [2, 3]])
    close(torch.btrisolve(T([[[8.0], [9.0]], [[3.0], [4.0]]]), LU, pivots), [[[11 / 8], [5 / 4]], [[2], [3]]])
    info = torch.ones(5, dtype=torch.int32)
    singular = T([A, [[1.0, 1.0], [1.0, 1.0]]])
    torch.btrifact(singular, info=info)
    assert info.tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="element 1"):
        torch.btrifact(singular)
    assert torch.btrifact_with_info(singular)[2].tolist() == [0, 2]
    P, L, R = torch.btriunpack(LU, pivots)
    close(P @ L @ R, batch.numpy())


@pytest.mark.rows("S355")
def test_symeig_reads_the_upper_triangle():
    values, vectors = torch.symeig(T([[2.0, 1.0], [99.0, 2.0]]))
    close(values, [1, 3])
    assert vectors.numel() == 0
    values, vectors = torch.symeig(T([[2.0, 1.0], [99.0, 2.0]]), eigenvectors=True)
    close((vectors * values) @ vectors.t(), [[2, 1], [1, 2]])
    close(torch.symeig(T([[2.0, 99.0], [1.0, 2.0]]), upper=False).eigenvalues, [1, 3])


@pytest.mark.rows("S338")
def test_eig_gives_pairs_of_columns():
    a = np.array([[0.0, 1.0, 0.0], [-4.0, 0.0, 0.0], [0.0, 0.0, 3.0]])      # eigenvalues ±2i and 3
    e, v = torch.eig(T(a.tolist()), eigenvectors=True)
    assert e.shape == (3, 2) and v.shape == (3, 3)
    values, v = e.numpy() @ [1, 1j], v.numpy()
    first = int(np.argmax(values.imag))
    np.testing.assert_allclose(values[first:first + 2], [2j, -2j], atol=1e-12)
    pair = v[:, first] + 1j * v[:, first + 1]
    np.testing.assert_allclose(a @ pair, 2j * pair, atol=1e-12)
    real = int(np.argmax(values.real))
    np.testing.assert_allclose(a @ v[:, real], 3 * v[:, real], atol=1e-12)
    e, v = torch.eig(T(a.tolist()))
    assert v.numel() == 0 and sorted(e[:, 0].tolist()) == [0, 0, 3]


@pytest.mark.rows("S341", "S347", "S348")
@pytest.mark.parametrize("array", SHAPES)
def test_geqrf_orgqr_ormqr(array):
    factors, tau = torch.geqrf(T(array))
    k = min(np.shape(array))
    assert factors.shape == np.shape(array) and tau.shape == (k,)
    if factors.shape[0] >= factors.shape[1]:
        Q = torch.orgqr(factors, tau)
        close(Q @ factors[:k].triu(), array)
        close(Q.t() @ Q, np.eye(k))
    whole = torch.ormqr(factors, tau, T(np.eye(len(array))))
    close(whole @ factors.triu(), array)
    other = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])[:len(array), :len(array)]
    close(torch.ormqr(factors, tau, other), whole @ other)
    close(torch.ormqr(factors, tau, other, transpose=True), whole.t() @ other)
    close(torch.ormqr(factors, tau, other, left=False), other @ whole)
    close(torch.ormqr(factors, tau, other, False, True), other @ whole.t())


def test_lu_and_its_relatives():
    LU, pivots = torch.lu(T(A))
    assert type(torch.lu(T(A))) is tuple and torch.lu(T(A), get_infos=True).info.tolist() == 0
    close(torch.lu_solve(T([[8.0], [9.0]]), LU, pivots), [[11 / 8], [5 / 4]])
    close(T(A).lu()[0], LU)
    with pytest.raises(RuntimeError, match="pivoting"):
        torch.lu(T(A), pivot=False)


def test_matrix_rank_and_symmetric():
    assert torch.matrix_rank(T([[1.0, 2.0], [2.0, 4.0]])) == 1 and torch.matrix_rank(T(A), symmetric=True) == 2
    assert torch.matrix_rank(T([[1.0, 0.0], [0.0, 0.01]]), 0.1) == 1


@pytest.mark.rows("S354")
@pytest.mark.parametrize("array", SHAPES)
def test_svd_gives_v_and_not_its_transpose(array):
    rows, columns = np.shape(array)
    k = min(rows, columns)
    U, S, V = torch.svd(T(array))
    assert U.shape == (rows, k) and V.shape == (columns, k)
    close(U @ S.diag() @ V.t(), array)
    close(S, np.linalg.svd(array)[1])
    U, S, V = torch.svd(T(array), some=False)
    close(U.t() @ U, np.eye(rows))
    close(V.t() @ V, np.eye(columns))
    close(U[:, :k] @ S.diag() @ V[:, :k].t(), array)
    U, S, V = torch.svd(T(array), compute_uv=False)
    assert not U.any() and not V.any() and U.shape == (rows, rows)


@pytest.mark.rows("S353")
@pytest.mark.parametrize("array", SHAPES)
def test_qr(array):
    rows, columns = np.shape(array)
    for k, (Q, R) in ((min(rows, columns), torch.qr(T(array))), (rows, torch.qr(T(array), some=False))):
        assert Q.shape == (rows, k) and R.shape == (k, columns)
        close(Q @ R, array)
        close(Q.t() @ Q, np.eye(k))
        assert torch.equal(R, R.triu())


@pytest.mark.rows("S338", "S339", "S340", "S341", "S343", "S349", "S350", "S351", "S352", "S353", "S354", "S355", "S356")
@pytest.mark.parametrize("call", [
    lambda **k: torch.eig(T(A), True, **k), lambda **k: torch.gels(T([[1.0], [2.0], [6.0]]), T(TALL), **k), lambda **k: torch.gels(T([[6.0], [1.0]]), T(TALL).t(), **k),
    lambda **k: torch.geqrf(T(TALL), **k), lambda **k: torch.gesv(T([[8.0], [9.0]]), T(A), **k), lambda **k: torch.potrf(T(A), **k), lambda **k: torch.potri(T(U), **k),
    lambda **k: torch.potrs(T([[8.0], [9.0]]), T(U), **k), lambda **k: torch.pstrf(T(A), **k), lambda **k: torch.qr(T(TALL), **k), lambda **k: torch.svd(T(TALL), **k),
    lambda **k: torch.symeig(T(A), True, **k), lambda **k: torch.trtrs(T([[4.0], [6.0]]), T(U), **k)])
def test_out_is_filled(call):
    """And what is given as out= is what comes back."""
    results = call()
    several = isinstance(results, tuple)
    results = results if several else (results,)
    outs = tuple(torch.empty(0, dtype=r.dtype) for r in results)
    returned = call(out=outs if several else outs[0])
    assert all(a is b for a, b in zip(returned if several else (returned,), outs, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(results, outs))


@pytest.mark.parametrize("name, modern", dict(
    gesv="torch.linalg.solve", gels="torch.linalg.lstsq", btrifact="torch.linalg.lu_factor", btrisolve="torch.linalg.lu_solve",
    potrf="torch.linalg.cholesky", potri="torch.cholesky_inverse", potrs="torch.cholesky_solve", trtrs="torch.linalg.solve_triangular",
    symeig="torch.linalg.eigh", eig="torch.linalg.eig", svd="torch.linalg.svd", qr="torch.linalg.qr", pinverse="torch.linalg.pinv",
    matrix_rank="torch.linalg.matrix_rank", cholesky="torch.linalg.cholesky", lu="torch.linalg.lu_factor").items())
def test_docstrings_name_the_modern_function(name, modern):
    assert modern in getattr(torch, name).__doc__
