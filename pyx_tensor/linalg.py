"""Linear algebra as `torch.linalg` has it: for single matrices or batches of them, real or complex, with gradients.

Matrices are the last two dims of a tensor of float32, float64, complex64 or complex128; what stands before is the batch.
"""
from .core.record import namespace as _ops
from .ops.linalg.common import LinAlgError  # noqa: F401

_NAMES = (
    "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex",
    "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matrix_exp", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm")

globals().update({name: getattr(_ops, f"linalg_{name}") for name in _NAMES})
matmul = _ops.matmul

__all__ = ["LinAlgError", "matmul", *_NAMES]
