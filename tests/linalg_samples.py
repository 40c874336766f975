"""Sample calls of every function of `pyx_tensor.linalg` and its neighbours: one line each.

A line is a function of a `Matrices`, which makes tensors of one library and dtype. It returns the function's tensors and what to do
with them: the functions of the tensors that are compared and differentiated don't depend on signs, phases or the order of vectors.
"""
import numpy as np


class Matrices:
    """Makes sample matrices in the library `lib`, of the dtype called `dtype`; the same numbers for the same seed."""

    def __init__(self, lib, dtype="float64", device="cpu", seed=0):
        self.lib, self.dtype, self.device, self.random = lib, dtype, device, np.random.default_rng(seed)

    def wrap(self, array):
        return self.lib.from_numpy(np.array(array, self.dtype)).to(self.device)

    def numbers(self, *shape):
        values = self.random.standard_normal(shape)
        return values + 1j * self.random.standard_normal(shape) if self.dtype.startswith("complex") else values

    def __call__(self, *shape):
        """Well-conditioned, with distinct singular values and eigenvalues."""
        values = self.numbers(*shape)
        if len(shape) < 2 or not min(shape[-2:]):
            return self.wrap(values)
        u, _, vh = np.linalg.svd(values, full_matrices=False)
        return self.wrap(u * np.linspace(2, 1, min(shape[-2:])) @ vh)

    def triangle(self, *shape):
        """With zeros above the diagonal, which is real and about 2."""
        values = self.numbers(*shape) * 0.3
        return self.wrap(np.tril(values, -1) + (values.real + 2) * np.eye(shape[-1]))


def hermitian(x):
    """The Hermitian part of matrices."""
    return (x + x.mH) / 2


def positive(x):
    """Hermitian positive definite matrices of x."""
    return x @ x.mH + 0.5 * x.new_ones(x.shape[-1]).diag()


def projections(values, vectors):
    """Values, and of each vector v the matrix v v^H."""
    return values, vectors.mT.unsqueeze(-1) @ vectors.mT.conj().unsqueeze(-2)


def by_size(values, vectors):
    """The same for values in no order: their power sums, and sums of projections over all of them."""
    powers = [(values ** k).sum(-1) for k in (1, 2, 3)]
    weighted = (vectors * values.exp().unsqueeze(-2)) @ vectors.mH
    return (*powers, weighted)


def of_svd(U, S, Vh):
    k = S.shape[-1]
    return S, U[..., :k].mT.unsqueeze(-1) @ Vh[..., :k, :].unsqueeze(-2)


def floats(results):
    return tuple(t for t in results if t.is_floating_point() or t.is_complex())


S = {}      # name -> function(Matrices) -> list of (function, tensors)

S["det"] = lambda f: [(f.lib.linalg.det, [f(3, 3)]), (f.lib.det, [f(2, 2, 2)])]
S["slogdet"] = lambda f: [(lambda A: f.lib.linalg.slogdet(A), [f(3, 3)]), (lambda A: f.lib.slogdet(A), [f(2, 2, 2)])]
S["logdet"] = lambda f: [(lambda A: f.lib.logdet(positive(A)), [f(3, 3)])]
S["inv"] = lambda f: [(f.lib.linalg.inv, [f(3, 3)]), (f.lib.inverse, [f(2, 2, 2)]), (lambda A: f.lib.linalg.inv_ex(A)[:1], [f(3, 3)])]
S["solve"] = lambda f: [(f.lib.linalg.solve, [f(3, 3), f(3, 2)]), (f.lib.linalg.solve, [f(2, 3, 3), f(3)]),
                        (f.lib.linalg.solve, [f(2, 1, 2, 2), f(3, 2, 1)]),
                        (lambda A, B: f.lib.linalg.solve(A, B, left=False), [f(3, 3), f(2, 3)]),
                        (lambda A, B: f.lib.linalg.solve_ex(A, B)[:1], [f(2, 2), f(2, 2)])]
S["solve_triangular"] = lambda f: [
    (lambda A, B, upper=upper, left=left, unit=unit: f.lib.linalg.solve_triangular(A, B, upper=upper, left=left, unitriangular=unit),
     [f.triangle(3, 3), f(*((3, 2) if left else (2, 3)))])
    for upper in (False, True) for left in (True, False) for unit in (False, True)]
S["cholesky"] = lambda f: [(lambda A: f.lib.linalg.cholesky(positive(A)), [f(3, 3)]), (lambda A: f.lib.linalg.cholesky(positive(A), upper=True), [f(2, 2, 2)]),
                           (lambda A: f.lib.linalg.cholesky_ex(positive(A))[:1], [f(2, 2)]), (lambda A: f.lib.cholesky(positive(A), True), [f(2, 2)])]
S["cholesky_solve"] = lambda f: [(f.lib.cholesky_solve, [f(3, 2), f.triangle(3, 3)]),
                                 (lambda B, L: f.lib.cholesky_solve(B, L.mT, True), [f(2, 3, 2), f.triangle(2, 3, 3)])]
S["cholesky_inverse"] = lambda f: [(f.lib.cholesky_inverse, [f.triangle(3, 3)]), (lambda L: f.lib.cholesky_inverse(L.mH, True), [f.triangle(2, 2, 2)])]
S["lu"] = lambda f: [(lambda A: f.lib.linalg.lu(A)[1:], [f(*shape)]) for shape in ((3, 3), (2, 4), (4, 2), (2, 2, 3))]
S["lu_factor"] = lambda f: [(lambda A: floats(f.lib.linalg.lu_factor(A)), [f(*shape)]) for shape in ((3, 3), (2, 4), (4, 2))] + [
    (lambda A: floats(f.lib.linalg.lu_factor_ex(A)), [f(2, 2)]), (lambda A: floats(f.lib.lu(A, get_infos=True)), [f(2, 2)])]
S["lu_unpack"] = lambda f: [(lambda A: f.lib.lu_unpack(*f.lib.linalg.lu_factor(A))[1:], [f(3, 2)])]
S["lu_solve"] = lambda f: [
    (lambda A, B, left=left, adjoint=adjoint: f.lib.linalg.lu_solve(*f.lib.linalg.lu_factor(A), B, left=left, adjoint=adjoint),
     [f(3, 3), f(*((3, 2) if left else (2, 3)))])
    for left in (True, False) for adjoint in (False, True)] + [(lambda A, B: f.lib.lu_solve(B, *f.lib.lu(A)), [f(2, 2, 2), f(2, 2, 1)])]
S["qr"] = lambda f: [(lambda A: f.lib.linalg.qr(A), [f(*shape)]) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))] + [
    (lambda A: f.lib.linalg.qr(A, "complete"), [f(2, 3)]), (lambda A: f.lib.qr(A), [f(3, 2)])]
S["householder_product"] = lambda f: [(f.lib.linalg.householder_product, [f(3, 2), f(2)]), (f.lib.orgqr, [f(2, 3, 3), f(2, 2)])]
S["ormqr"] = lambda f: [
    (lambda a, tau, c, left=left, transpose=transpose: f.lib.ormqr(a, tau, c, left, transpose), [f(3, 2), f(2), f(*((3, 2) if left else (2, 3)))])
    for left in (True, False) for transpose in (False, True)]
S["svd"] = lambda f: [(lambda A, full=full: of_svd(*f.lib.linalg.svd(A, full)), [f(*shape)])
                      for shape in ((3, 3), (4, 2), (2, 3), (2, 2, 3)) for full in (True, False)] + [
    (lambda A: of_svd(*(lambda U, S, V: (U, S, V.mH))(*f.lib.svd(A))), [f(3, 2)])]
S["svdvals"] = lambda f: [(f.lib.linalg.svdvals, [f(3, 2)]), (lambda A: f.lib.svd(A, compute_uv=False)[1], [f(2, 2, 3)])]
S["eigh"] = lambda f: [(lambda A, uplo=uplo: projections(*f.lib.linalg.eigh(hermitian(A), uplo)), [f(3, 3)]) for uplo in "LU"] + [
    (lambda A: projections(*f.lib.symeig(hermitian(A), eigenvectors=True)), [f(2, 2, 2)])]
S["eigvalsh"] = lambda f: [(lambda A: f.lib.linalg.eigvalsh(hermitian(A)), [f(3, 3)]), (lambda A: f.lib.symeig(hermitian(A))[0], [f(2, 2, 2)])]
S["eig"] = lambda f: [(lambda A: by_size(*f.lib.linalg.eig(A)), [f(3, 3)]), (lambda A: by_size(*f.lib.linalg.eig(A)), [f(2, 2, 2)])]
S["eigvals"] = lambda f: [(lambda A: (f.lib.linalg.eigvals(A) ** 2).sum(-1), [f(3, 3)])]
S["pinv"] = lambda f: [(f.lib.linalg.pinv, [f(*shape)]) for shape in ((3, 3), (4, 2), (2, 3, 2))] + [
    (lambda A: f.lib.linalg.pinv(hermitian(A), hermitian=True), [f(3, 3)]), (f.lib.pinverse, [f(2, 3)]),
    (lambda a, b: f.lib.linalg.pinv(a @ b, rtol=1e-3), [f(4, 2), f(2, 3)])]
S["lstsq"] = lambda f: [(lambda A, B, driver=driver: floats(f.lib.linalg.lstsq(A, B, driver=driver)[:2]), [f(*shape), f(*shape[:-1], 2)])
                        for driver, shape in (("gelsd", (3, 2)), ("gelsy", (2, 3)), ("gels", (2, 2, 2)))] + [
    (lambda A, B: f.lib.linalg.lstsq(A, B).solution, [f(2, 3), f(2)])]
S["vector_norm"] = lambda f: [(lambda x, p=p: f.lib.linalg.vector_norm(x, p), [f(4)]) for p in (2, 1, 0.5, 3, float("inf"), -float("inf"))] + [
    (lambda x: f.lib.linalg.vector_norm(x, 2, (0, 2), True), [f(2, 3, 2)])]
ORDERS = ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
S["matrix_norm"] = lambda f: [(lambda A, p=p: f.lib.linalg.matrix_norm(A, p), [f(3, 2)]) for p in ORDERS] + [
    (lambda A, p=p: f.lib.linalg.matrix_norm(A, p, (2, 0), True), [f(2, 2, 3)]) for p in ORDERS] + [
    (f.lib.nuclear_norm, [f(2, 3)]), (lambda x: f.lib.frobenius_norm(x, (0, 1)), [f(3, 2)])]
S["norm"] = lambda f: [(f.lib.linalg.norm, [f(2, 3, 2)]), (lambda A: f.lib.linalg.norm(A, "nuc"), [f(2, 3)]),
                       (lambda A: f.lib.linalg.norm(A, 1, (0, 1)), [f(2, 3, 2)]), (lambda A: f.lib.linalg.norm(A, 3, 1), [f(2, 3)]),
                       (lambda A: f.lib.norm(A, "nuc"), [f(2, 3)])]
S["cond"] = lambda f: [(lambda A, p=p: f.lib.linalg.cond(A, p), [f(3, 3)]) for p in (None, *ORDERS)]
S["matrix_power"] = lambda f: [(lambda A, n=n: f.lib.linalg.matrix_power(A, n), [f(2, 2)]) for n in (-2, 0, 1, 3)]
S["matrix_exp"] = lambda f: [(f.lib.linalg.matrix_exp, [f(3, 3)]), (f.lib.matrix_exp, [f(2, 2, 2) * 4])]
S["tensorinv"] = lambda f: [(lambda A: f.lib.linalg.tensorinv(A.reshape(2, 2, 4), 2), [f(4, 4)])]
S["tensorsolve"] = lambda f: [(lambda A, b: f.lib.linalg.tensorsolve(A.reshape(2, 2, 4), b), [f(4, 4), f(2, 2)]),
                              (lambda A, b: f.lib.linalg.tensorsolve(A.reshape(2, 4, 2), b, (1,)), [f(4, 4), f(2, 2)])]
S["vecdot"] = lambda f: [(f.lib.linalg.vecdot, [f(2, 3), f(3)]), (lambda x, y: f.lib.linalg.vecdot(x, y, dim=0), [f(2, 3), f(2, 3)])]
S["cross"] = lambda f: [(f.lib.linalg.cross, [f(2, 3), f(1, 3)])]
S["vander"] = lambda f: [(f.lib.linalg.vander, [f(3)]), (lambda x: f.lib.linalg.vander(x, N=4), [f(2, 3)]),
                         (f.lib.vander, [f(3)]), (lambda x: f.lib.vander(x, 2, True), [f(3)])]
S["multi_dot"] = lambda f: [(lambda a, b, c: f.lib.linalg.multi_dot([a, b, c]), [f(2, 3), f(3, 4), f(4)]),
                            (lambda a, b: f.lib.linalg.multi_dot((a, b)), [f(3), f(3)])]
S["diagonal"] = lambda f: [(lambda A: f.lib.linalg.diagonal(A, offset=1), [f(2, 2, 3)])]
S["triangular_solve"] = lambda f: [
    (lambda b, A, transpose=transpose, unit=unit: f.lib.triangular_solve(b, A.mT, True, transpose, unit)[0], [f(3, 2), f.triangle(2, 3, 3)])
    for transpose in (False, True) for unit in (False, True)]
