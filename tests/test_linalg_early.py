"""Early PyTorch's linear algebra, with the arguments and results of its time."""
import math

import numpy as np
import pytest

import pyx_tensor as torch

A = [[4.0, 2.0], [2.0, 5.0]]
U = [[2.0, 1.0], [0.0, 2.0]]      # A = U^T U


def T(values, **options):
    return torch.tensor(values, dtype=torch.float64, **options)


def close(found, wanted, tolerance=1e-12):
    np.testing.assert_allclose(found.numpy(), np.asarray(wanted), rtol=tolerance, atol=tolerance)


def test_gesv_takes_the_right_hand_side_first():
    X, LU = torch.gesv(T([[8.0], [9.0]]), T(A))
    close(X, [[11 / 8], [5 / 4]])
    close(LU, [[4, 2], [0.5, 4]])
    close(torch.solve(T([[8.0], [9.0]]), T(A)).solution, X)
    close(T([[8.0], [9.0]]).gesv(T(A))[0], X)
    close(torch.gesv(B=T([[8.0], [9.0]]), A=T(A))[0], X)
    with pytest.raises(RuntimeError, match="singular"):
        torch.gesv(T([[1.0], [1.0]]), T([[1.0, 1.0], [1.0, 1.0]]))


def test_gels_of_a_tall_matrix():
    # the line through (0, 1), (1, 2), (2, 6): slope 5/2, at 0 1/2, residuals 1/2, -1, 1/2
    X, QR = torch.gels(T([[1.0], [2.0], [6.0]]), T([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))
    close(X[:2], [[0.5], [2.5]])
    assert X.shape == (3, 1) and math.isclose(float(X[2]) ** 2, 1.5)
    assert QR.shape == (3, 2)
    close(torch.lstsq(T([[1.0], [2.0], [6.0]]), T([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]))[0], X)


def test_gels_of_a_wide_matrix_gives_the_least_norm():
    X, _ = torch.gels(T([[6.0]]), T([[1.0, 2.0, 1.0]]))
    close(X, [[1.0], [2.0], [1.0]])
    with pytest.raises(RuntimeError, match="rank"):
        torch.gels(T([[1.0], [1.0]]), T([[1.0, 1.0], [1.0, 1.0]]))


def test_potrf_is_upper_unless_told():
    close(torch.potrf(T(A)), U)
    close(torch.potrf(T(A), upper=False), np.transpose(U))
    close(T(A).potrf(False), np.transpose(U))
    close(torch.cholesky(T(A)), np.transpose(U))
    with pytest.raises(RuntimeError, match="positive-definite"):
        torch.potrf(T([[1.0, 2.0], [2.0, 1.0]]))


def test_potri_and_potrs():
    close(torch.potri(T(U)), np.linalg.inv(A))
    close(torch.potri(T(np.transpose(U).tolist()), upper=False), np.linalg.inv(A))
    close(torch.potrs(T([[8.0], [9.0]]), T(U)), [[11 / 8], [5 / 4]])
    close(torch.potrs(T([[8.0], [9.0]]), T(np.transpose(U).tolist()), False), [[11 / 8], [5 / 4]])


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


def test_trtrs():
    X, M = torch.trtrs(T([[4.0], [6.0]]), T([[2.0, 1.0], [9.0, 3.0]]))
    close(X, [[1], [2]])
    close(M, [[2, 1], [9, 3]])
    close(torch.trtrs(T([[2.0], [7.0]]), T([[2.0, 1.0], [9.0, 3.0]]), upper=True, transpose=True)[0], [[1], [2]])
    close(torch.trtrs(T([[2.0], [15.0]]), T([[2.0, 1.0], [9.0, 3.0]]), upper=False)[0], [[1], [2]])
    close(torch.trtrs(T([[3.0], [2.0]]), T([[7.0, 1.0], [9.0, 7.0]]), unitriangular=True)[0], [[1], [2]])


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


def test_symeig_reads_the_upper_triangle():
    values, vectors = torch.symeig(T([[2.0, 1.0], [99.0, 2.0]]))
    close(values, [1, 3])
    assert vectors.numel() == 0
    values, vectors = torch.symeig(T([[2.0, 1.0], [99.0, 2.0]]), eigenvectors=True)
    close((vectors * values) @ vectors.t(), [[2, 1], [1, 2]])
    close(torch.symeig(T([[2.0, 99.0], [1.0, 2.0]]), upper=False).eigenvalues, [1, 3])


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


def test_geqrf_orgqr_ormqr():
    a = T([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])
    factors, tau = torch.geqrf(a)
    Q, R = torch.orgqr(factors, tau), factors[:2].triu()
    close(Q @ R, a.numpy())
    close(Q.t() @ Q, np.eye(2))
    whole, _ = torch.linalg.qr(a, "complete")
    other = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
    close(torch.ormqr(factors, tau, other), (whole @ other).numpy())
    close(torch.ormqr(factors, tau, other, transpose=True), (whole.t() @ other).numpy())
    close(torch.ormqr(factors, tau, other, left=False), (other @ whole).numpy())
    close(torch.ormqr(factors, tau, other, False, True), (other @ whole.t()).numpy())


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


def test_svd_gives_v_and_not_its_transpose():
    a = T([[3.0, 0.0], [4.0, 5.0], [0.0, 0.0]])
    U, S, V = torch.svd(a)
    assert U.shape == (3, 2) and V.shape == (2, 2)
    close(U @ S.diag() @ V.t(), a.numpy())
    close(S, [math.sqrt(45), math.sqrt(5)])
    U, S, V = torch.svd(a, some=False)
    assert U.shape == (3, 3)
    U, S, V = torch.svd(a, compute_uv=False)
    assert not U.any() and not V.any() and U.shape == (3, 3)


def test_qr():
    Q, R = torch.qr(T([[3.0, 1.0], [4.0, 2.0]]))
    close(Q @ R, [[3, 1], [4, 2]])
    assert torch.qr(T([[3.0], [4.0]]), some=False)[0].shape == (2, 2)


def test_ger():
    close(torch.ger(T([1.0, 2.0]), T([3.0, 4.0, 5.0])), [[3, 4, 5], [6, 8, 10]])


@pytest.mark.parametrize("name, modern", dict(
    gesv="torch.linalg.solve", gels="torch.linalg.lstsq", btrifact="torch.linalg.lu_factor", btrisolve="torch.linalg.lu_solve",
    potrf="torch.linalg.cholesky", potri="torch.cholesky_inverse", potrs="torch.cholesky_solve", trtrs="torch.linalg.solve_triangular",
    symeig="torch.linalg.eigh", eig="torch.linalg.eig", svd="torch.linalg.svd", qr="torch.linalg.qr", pinverse="torch.linalg.pinv",
    matrix_rank="torch.linalg.matrix_rank", cholesky="torch.linalg.cholesky", lu="torch.linalg.lu_factor").items())
def test_docstrings_name_the_modern_function(name, modern):
    assert modern in getattr(torch, name).__doc__
