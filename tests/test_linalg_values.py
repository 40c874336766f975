"""Linear algebra: values worked out by hand or by NumPy, and what happens at the edges."""
import math

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import linalg
from pyx_tensor.autograd import gradcheck

NAN, INF = math.nan, math.inf
DEVICES = ("cpu", "reference")
PAIR = pytest.mark.parametrize("device", DEVICES)


def T(values, device="cpu", dtype=torch.float64, **options):
    return torch.tensor(values, dtype=dtype, device=device, **options)


def close(found, wanted, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().cpu().numpy(), np.asarray(wanted), rtol=tolerance, atol=tolerance)


def sample(*shape, seed=0, device="cpu", dtype="float64"):
    random = np.random.default_rng(seed)
    values = random.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * random.standard_normal(shape)
    return torch.from_numpy(np.asarray(values, dtype)).to(device)


# --- determinants -------------------------------------------------------------------------------------------------
@PAIR
def test_determinants(device):
    a = T([[1.0, 2.0], [3.0, 4.0]], device)
    close(linalg.det(a), -2)
    close(torch.logdet(T([[2.0, 1.0], [1.0, 3.0]], device)), math.log(5))
    sign, size = linalg.slogdet(a)
    close(sign, -1)
    close(size, math.log(2))
    assert torch.logdet(a).isnan() and torch.logdet(T([[0.0]], device)) == -INF
    assert linalg.det(torch.ones(0, 0, device=device)) == 1 and linalg.det(torch.ones(2, 0, 0, device=device)).tolist() == [1, 1]
    close(linalg.det(T([[1j, 2], [3, 4]], device, torch.complex128)), -6 + 4j)
    close(linalg.slogdet(T([[1j]], device, torch.complex128))[0], 1j)


SINGULAR = [np.zeros((2, 2)), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0]), np.array([[1.0, 2.0], [2.0, 4.0]]), np.diag([1.0, 0.0, 0.0])]


@PAIR
@pytest.mark.parametrize("which", range(len(SINGULAR)))
def test_the_gradient_of_a_singular_determinant_is_the_cofactors(which, device):
    values = SINGULAR[which]
    n = len(values)
    a = T(values.tolist(), device, requires_grad=True)
    linalg.det(a).backward()
    cofactors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(values, i, 0), j, 1)) for j in range(n)] for i in range(n)]
    close(a.grad, cofactors)


def test_second_derivatives_of_a_singular_determinant():
    a = T([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    gradient, = torch.autograd.grad(linalg.det(a), a, create_graph=True)      # (d, -c; -b, a)
    second, = torch.autograd.grad(gradient[0, 0] + 3 * gradient[0, 1], a)
    close(second, [[0, 0], [-3, 1]])


def test_singular_and_regular_matrices_in_one_batch():
    a = T([[[2.0, 0.0], [0.0, 3.0]], [[1.0, 1.0], [1.0, 1.0]]], requires_grad=True)
    linalg.det(a).sum().backward()
    close(a.grad, [[[3, 0], [0, 2]], [[1, -1], [-1, 1]]])


# --- systems ------------------------------------------------------------------------------------------------------
@PAIR
def test_right_hand_sides(device):
    a, batch = T([[3.0, 1.0], [1.0, 2.0]], device), T([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 1.0]]], device)
    close(linalg.solve(a, T([9.0, 8.0], device)), [2, 3])
    close(linalg.solve(batch, T([2.0, 4.0], device)), [[1, 1], [-2, 4]])
    close(linalg.solve(batch, T([[2.0, 4.0], [3.0, 1.0]], device)), [[1, 1], [2, 1]])      # a vector for each matrix
    close(linalg.solve(a, T([[9.0, 8.0]], device), left=False), [[2, 3]])
    with pytest.raises(RuntimeError, match="left=False"):
        linalg.solve(a, T([9.0, 8.0], device), left=False)
    result, info = linalg.solve_ex(torch.stack([a, a * 0]), T([9.0, 8.0], device))
    assert info.tolist() == [0, 1] and info.dtype is torch.int32
    close(result[0], [2, 3])


@PAIR
def test_singular_matrices_are_named(device):
    a = torch.stack([torch.eye(2), torch.ones(2, 2)]).to(device)
    for refused in (lambda: linalg.inv(a), lambda: linalg.solve(a, a), lambda: linalg.inv_ex(a, check_errors=True), lambda: torch.inverse(a),
                    lambda: linalg.tensorinv(a[1], 1), lambda: linalg.matrix_power(a, -1), lambda: linalg.lu_factor(a)):
        with pytest.raises(linalg.LinAlgError, match="singular|zero") as caught:
            refused()
        assert isinstance(caught.value, RuntimeError)
    with pytest.raises(linalg.LinAlgError, match="Batch element 1"):
        linalg.inv(a)
    assert linalg.inv_ex(a).info.tolist() == [0, 2]
    assert linalg.cond(a, 1).tolist() == [1, INF]


@PAIR
def test_triangular_systems_read_one_triangle(device):
    a = T([[2.0, NAN], [1.0, 4.0]], device)
    close(linalg.solve_triangular(a, T([[2.0], [5.0]], device), upper=False), [[1], [1]])
    close(linalg.solve_triangular(a.mT, T([[3.0], [4.0]], device), upper=True), [[1], [1]])
    a = T([[NAN, NAN], [1.0, NAN]], device)
    close(linalg.solve_triangular(a, T([[2.0], [5.0]], device), upper=False, unitriangular=True), [[2], [3]])
    close(linalg.solve_triangular(a, T([[5.0, 2.0]], device), upper=False, left=False, unitriangular=True), [[3, 2]])
    with pytest.raises(TypeError, match="upper"):
        linalg.solve_triangular(a, a)


@PAIR
def test_the_gradient_stays_in_the_triangle_that_is_read(device):
    a = T([[2.0, 7.0], [1.0, 4.0]], device, requires_grad=True)
    linalg.solve_triangular(a, T([[2.0], [5.0]], device), upper=False).sum().backward()
    assert a.grad[0, 1] == 0 and (a.grad != 0).sum() == 3
    a.grad = None
    torch.cholesky_solve(T([[2.0], [5.0]], device), a).sum().backward()
    assert a.grad[0, 1] == 0 and (a.grad != 0).sum() == 3


@PAIR
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_indefinite_matrices(dtype, device):
    for hermitian in (False, True):
        a = sample(3, 6, 6, dtype=dtype, device=device)
        a = a + (a.mH if hermitian else a.mT)
        b = sample(6, 2, seed=1, dtype=dtype, device=device)
        LD, pivots = linalg.ldl_factor(a.tril(), hermitian=hermitian)
        assert not LD.triu(1).any() and pivots.dtype is torch.int32
        close(a @ linalg.ldl_solve(LD, pivots, b, hermitian=hermitian), b.cpu().numpy()[None].repeat(3, 0), 1e-9)
    block = T([[0.0, 1.0], [1.0, 0.0]], device)
    LD, pivots = linalg.ldl_factor(block)
    assert pivots.tolist() == [-2, -2]
    close(LD, [[0, 0], [1, 0]])
    assert linalg.ldl_factor_ex(torch.zeros(2, 2, device=device)).info == 1
    with pytest.raises(linalg.LinAlgError):
        linalg.ldl_factor(torch.zeros(2, 2, device=device))
    with pytest.raises(RuntimeError, match="pivots"):
        linalg.ldl_solve(LD, pivots * 5, block)


# --- factors ------------------------------------------------------------------------------------------------------
@PAIR
def test_cholesky(device):
    a = T([[4.0, NAN], [2.0, 5.0]], device)
    close(linalg.cholesky(a), [[2, 0], [1, 2]])
    close(linalg.cholesky(a.mT, upper=True), [[2, 1], [0, 2]])
    close(linalg.cholesky(T([[2, 0], [1j, 2]], device, torch.complex128)) ** 2, [[2, 0], [-0.5, 1.5]])
    L, info = linalg.cholesky_ex(T([[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]], device))
    assert info.tolist() == [2, 0]
    with pytest.raises(linalg.LinAlgError, match="order 2"):
        linalg.cholesky(T([[1.0, 2.0], [2.0, 1.0]], device))
    with pytest.raises(linalg.LinAlgError):
        linalg.cholesky(T([[NAN, 0.0], [0.0, 1.0]], device))
    with pytest.raises(linalg.LinAlgError, match="diagonal element 2"):
        torch.cholesky_inverse(T([[1.0, 0.0], [1.0, 0.0]], device))


@PAIR
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_factors_multiply_to_the_matrix(shape, device):
    for dtype in ("float64", "complex128"):
        a = sample(*shape, dtype=dtype, device=device)
        wanted = a.cpu().numpy()
        P, L, U = linalg.lu(a)
        close(P @ L @ U, wanted)
        assert not L.triu(1).any() and not U.tril(-1).any()
        P, L, U = torch.lu_unpack(*linalg.lu_factor(a))
        close(P @ L @ U, wanted)
        for mode in ("reduced", "complete"):
            Q, R = linalg.qr(a, mode)
            close(Q @ R, wanted)
        assert linalg.qr(a, "r")[0].numel() == 0
        for full in (False, True):
            U, S, Vh = linalg.svd(a, full)
            k = S.shape[-1]
            close((U[..., :k] * S.unsqueeze(-2)) @ Vh[..., :k, :], wanted)
            close(U.mH @ U, np.broadcast_to(np.eye(U.shape[-1]), (*shape[:-2], U.shape[-1], U.shape[-1])))
        close(linalg.svdvals(a), np.linalg.svd(wanted, compute_uv=False))


@PAIR
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvalues(dtype, device):
    a = sample(2, 4, 4, dtype=dtype, device=device)
    L, V = linalg.eig(a)
    assert L.dtype is V.dtype is torch.complex128
    close(a.to(torch.complex128) @ V, (V * L.unsqueeze(-2)).cpu().numpy())
    close(linalg.vector_norm(V, 2, -2), np.ones((2, 4)))
    close(linalg.eigvals(a).sum(-1), a.cpu().numpy().trace(axis1=-2, axis2=-1))
    h = a + a.mH
    for letter in "LU":
        half = h.tril() if letter == "L" else h.triu()
        L, V = linalg.eigh(half, letter.lower())
        close((V * L.unsqueeze(-2)) @ V.mH, h.cpu().numpy())
        close(linalg.eigvalsh(half, letter), np.linalg.eigvalsh(h.cpu().numpy()))
    with pytest.raises(RuntimeError, match="UPLO"):
        linalg.eigh(h, "lower")


@PAIR
def test_repeated_values_have_gradients_without_vectors(device):
    a = torch.eye(3, dtype=torch.float64, device=device, requires_grad=True)
    linalg.matrix_norm(a, "nuc").backward()
    close(a.grad, np.eye(3))
    for function in (linalg.eigvalsh, lambda x: linalg.eigh(x)[0], lambda x: linalg.svd(x)[1], linalg.svdvals):
        a.grad = None
        function(a).sum().backward()
        close(a.grad, np.eye(3))


def test_losses_that_depend_on_the_phase_are_refused():
    a = sample(3, 3, dtype="complex128")
    for function in (lambda x: linalg.svd(x)[0].imag, lambda x: linalg.eigh(x + x.mH)[1].imag, lambda x: linalg.eig(x)[1].imag):
        with pytest.raises(RuntimeError, match="phi"):
            function(a.clone().requires_grad_()).sum().backward()


def test_derivatives_of_qr_that_do_not_exist():
    a = sample(4, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="complete"):
        linalg.qr(a, "complete")[0].sum().backward()
    with pytest.raises(RuntimeError, match="mode='r'"):
        linalg.qr(a, "r")[1].sum().backward()


@pytest.mark.parametrize("device", DEVICES)
def test_nan_and_infinity(device):
    bad = T([[1.0, 2.0], [NAN, 4.0]], device)
    for raises in (linalg.svd, linalg.svdvals, linalg.eig, linalg.eigvals, linalg.eigh, linalg.pinv, linalg.matrix_rank):
        for a in (bad, bad.nan_to_num(INF)):
            try:
                result = raises(a)
            except RuntimeError as error:
                assert "finite" in str(error) or "converge" in str(error) or "infs or NaNs" in str(error)
            else:                       # a LAPACK that gets through says NaN
                result = result if isinstance(result, tuple) else (result,)
                assert any(not r.isfinite().all() for r in result) or raises is linalg.matrix_rank
    for passes in (linalg.det, linalg.inv, linalg.matrix_exp, lambda a: linalg.qr(a)[0], lambda a: linalg.lu(a)[2], linalg.norm):
        assert not passes(bad).isfinite().all()


# --- what is made of them -----------------------------------------------------------------------------------------
@PAIR
def test_pseudoinverse_and_rank(device):
    a = T([[1.0, 2.0], [2.0, 4.0]], device)
    close(linalg.pinv(a), np.array([[1, 2], [2, 4]]) / 25)
    close(linalg.pinv(a, hermitian=True), np.array([[1, 2], [2, 4]]) / 25)
    assert linalg.matrix_rank(a) == 1 and linalg.matrix_rank(a, hermitian=True) == 1 and linalg.matrix_rank(a).dtype is torch.int64
    d = torch.diag_embed(T([[1.0, 0.1, 0.01], [1.0, 1.0, 1.0]], device))
    assert linalg.matrix_rank(d, atol=0.05).tolist() == [2, 3] and linalg.matrix_rank(d, 0.5).tolist() == [1, 3]
    assert linalg.matrix_rank(d, rtol=T([0.5, 0.5], device)).tolist() == [1, 3] and linalg.matrix_rank(d, atol=T([0.001, 2.0], device)).tolist() == [3, 0]
    close(linalg.pinv(d, atol=0.05)[0].diagonal(), [1, 10, 0])
    close(linalg.pinv(d, rtol=T([0.5, 0.5], device))[0].diagonal(), [1, 0, 0])
    close(torch.pinverse(d[0], 0.05).diagonal(), [1, 10, 0])
    assert linalg.matrix_rank(torch.ones(2, 3, 0, device=device)).tolist() == [0, 0]
    assert linalg.pinv(torch.ones(2, 3, 0, device=device)).shape == (2, 0, 3)


@PAIR
def test_least_squares(device):
    a, b = sample(5, 3, device=device), sample(5, 2, seed=1, device=device)
    wanted, residuals, rank, values = np.linalg.lstsq(a.cpu().numpy(), b.cpu().numpy(), rcond=None)
    for driver in (None, "gels", "gelsy", "gelsd", "gelss"):
        found = linalg.lstsq(a, b, driver=driver)
        close(found.solution, wanted)
        if driver in ("gelsd", "gelss"):
            close(found.residuals, residuals)
            close(found.singular_values, values)
        assert found.rank.numel() == 0 if driver == "gels" else found.rank == 3
    low = T([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], device)
    found = linalg.lstsq(low, T([1.0, 2.0, 3.0], device), driver="gelsd")
    close(found.solution, [1, 1])
    assert found.rank == 1 and found.residuals.numel() == 0
    with pytest.raises(linalg.LinAlgError, match="full rank"):
        linalg.lstsq(low, low, driver="gels")
    assert linalg.lstsq(T([[1.0, 0.0], [0.0, 1e-3]], device), T([1.0, 1.0], device), rcond=0.01).solution.tolist() == [1, 0]


@PAIR
def test_norms_against_numpy(device):
    for dtype in ("float64", "complex128"):
        a = sample(3, 4, dtype=dtype, device=device)
        x = a.cpu().numpy()
        for order in ("fro", "nuc", 1, -1, 2, -2, INF, -INF):
            close(linalg.matrix_norm(a, order), np.linalg.norm(x, order))
            close(linalg.norm(a, order), np.linalg.norm(x, order))
            close(linalg.matrix_norm(a.mT, order, (-1, -2), True), [[np.linalg.norm(x, order)]])
            close(linalg.cond(a[:, :3], order), np.linalg.cond(x[:, :3], order), 1e-9)
        for order in (0, 0.5, 1, 2, 3, -1, INF, -INF):
            close(linalg.vector_norm(a, order, 1), np.linalg.norm(x, order, 1))
            close(linalg.norm(a[0], order), np.linalg.norm(x[0], order))
        close(linalg.norm(a), np.linalg.norm(x))
    single = torch.tensor([3.0, 4.0], device=device)
    assert linalg.norm(single, dtype=torch.float64).dtype is torch.float64 and linalg.vector_norm(single) == 5
    assert linalg.vector_norm(torch.ones(0, device=device)) == 0
    assert linalg.matrix_norm(torch.ones(0, 3, device=device), 1).item() == 0


@PAIR
def test_matrix_exponential(device):
    close(linalg.matrix_exp(T([[0.0, -math.pi], [math.pi, 0.0]], device)), [[-1, 0], [0, -1]])
    close(linalg.matrix_exp(T([[[1.0, 0.0], [0.0, 20.0]], [[0.0, 1.0], [0.0, 0.0]]], device)), [[[math.e, 0], [0, math.exp(20)]], [[1, 1], [0, 1]]], 1e-11)
    close(linalg.matrix_exp(T([[1j * math.pi]], device, torch.complex128)), [[-1]])
    a = sample(5, 5, device=device) * 3
    values, vectors = np.linalg.eig(a.cpu().numpy())
    close(linalg.matrix_exp(a), (vectors * np.exp(values)) @ np.linalg.inv(vectors), 1e-8)
    assert linalg.matrix_exp(torch.zeros(2, 0, 0, device=device)).shape == (2, 0, 0)
    assert linalg.matrix_exp(T([[INF, 0.0], [0.0, 1.0]], device)).isnan().any()
    assert linalg.matrix_exp(torch.eye(2, dtype=torch.float16)).dtype is torch.float16


def test_powers():
    a = T([[2.0, 0.0], [1.0, 1.0]])
    for n in (-3, -1, 0, 1, 2, 5):
        close(linalg.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n))
        close(a.matrix_power(n), np.linalg.matrix_power(a.numpy(), n))
    assert torch.matrix_power(torch.tensor([[2, 1], [0, 1]]), 3).tolist() == [[8, 7], [0, 1]]
    with pytest.raises(TypeError, match="int"):
        linalg.matrix_power(a, 0.5)


def test_tensor_equations():
    a = sample(6, 6).reshape(2, 3, 6)
    x = a.numpy()
    close(linalg.tensorinv(a), np.linalg.tensorinv(x))
    close(linalg.tensorsolve(a, sample(2, 3, seed=1)), np.linalg.tensorsolve(x, sample(2, 3, seed=1).numpy()))
    b = a.movedim(2, 1)
    close(linalg.tensorsolve(b, sample(2, 3, seed=1), dims=(1,)), np.linalg.tensorsolve(x, sample(2, 3, seed=1).numpy()))


def test_products_of_vectors():
    assert linalg.vecdot(torch.tensor([1j, 2]), torch.tensor([1j, 2])) == 5
    assert linalg.cross(torch.tensor([[1.0, 0, 0]]), torch.tensor([[0.0, 1, 0], [0, 0, 1]])).tolist() == [[0, 0, 1], [0, -1, 0]]
    assert linalg.vander(torch.tensor([2, 3])).tolist() == [[1, 2], [1, 3]] and torch.vander(torch.tensor([2, 3]), 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert linalg.multi_dot([T([1.0, 2.0]), T([[1.0, 0.0], [0.0, 3.0]]), T([1.0, 1.0])]) == 7
    assert linalg.diagonal(torch.arange(4).reshape(2, 2)).tolist() == [0, 3] and linalg.matmul is torch.matmul


@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 6, 7)])
def test_low_rank(shape):
    a = sample(*shape[:-1], 2) @ sample(*shape[:-2], 2, shape[-1], seed=1)
    U, S, V = torch.svd_lowrank(a, q=4)
    close((U * S.unsqueeze(-2)) @ V.mT, a.numpy(), 1e-9)
    U, S, V = torch.svd_lowrank(a, 4, 2, a / 2)
    close((U * S.unsqueeze(-2)) @ V.mT, a.numpy() / 2, 1e-9)
    U, S, V = torch.pca_lowrank(a, q=3)
    close((U * S.unsqueeze(-2)) @ V.mT, a.numpy() - a.numpy().mean(-2, keepdims=True), 1e-9)
    with pytest.raises(ValueError, match="q"):
        torch.pca_lowrank(a, q=99)


def test_first_derivatives_of_low_rank_decompositions():
    a = (sample(5, 2) @ sample(2, 4, seed=1)).requires_grad_()

    def product(x):
        torch.manual_seed(0)
        U, S, V = torch.svd_lowrank(x, q=2)
        return (U * S) @ V.mT
    close(product(a), a.detach().numpy(), 1e-9)
    assert gradcheck(product, (a,))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_few_eigenvalues(dtype, largest):
    torch.manual_seed(0)
    a = sample(2, 12, 12, dtype=dtype)
    a = a @ a.mH
    wanted = np.linalg.eigvalsh(a.numpy())[:, ::-1 if largest else 1][:, :2]
    E, X = torch.lobpcg(a, k=2, largest=largest)
    close(E, wanted, 1e-9)
    close(a @ X, (X * E.unsqueeze(-2)).numpy(), 1e-5)
    E, X = torch.lobpcg(a[0], X=sample(12, 3, dtype=dtype), iK=torch.linalg.inv(a[0]), largest=largest, niter=-1)
    assert E.shape == (3,)
    close(E[:2], wanted[0], 1e-9)
    metric = sample(12, 12, seed=2, dtype=dtype)
    metric = metric @ metric.mH + torch.eye(12)
    E, X = torch.lobpcg(a[0], 2, B=metric, largest=largest)
    close(a[0] @ X, (metric @ X * E).numpy(), 1e-5)
    close(X.mH @ metric @ X, np.eye(2), 1e-9)
    with pytest.raises(ValueError, match="3 x"):
        torch.lobpcg(a, k=5)


def test_the_gradient_of_a_few_eigenvalues():
    a = sample(6, 6)

    def largest(x):
        return torch.lobpcg(x + x.mT, k=2)[0]
    assert gradcheck(largest, (a.requires_grad_(),))


@PAIR
def test_integers_of_a_dim_of_size_one_keep_their_dtype(device):
    two, ones = torch.tensor([2], dtype=torch.int16, device=device), torch.ones(3, 1, dtype=torch.int16, device=device)
    found = torch.inner(two, ones)
    assert found.dtype is torch.int16 and found.tolist() == [2, 2, 2]
    spread = torch.tensordot(ones, torch.ones(4, 2, dtype=torch.int16, device=device), 1)
    assert spread.dtype is torch.int16 and spread.tolist() == [[4, 4]] * 3
