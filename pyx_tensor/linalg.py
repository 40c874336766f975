"""Linear algebra as `torch.linalg` has it: for single matrices or batches of them, real or complex, with gradients.

Matrices are the last two dims of a tensor of float32, float64, complex64 or complex128; what stands before is the batch.
"""
from .ops.linalg.common import LinAlgError
from .ops.linalg.determinant import linalg_det as det
from .ops.linalg.determinant import linalg_slogdet as slogdet
from .ops.linalg.functions import linalg_cross as cross
from .ops.linalg.functions import linalg_diagonal as diagonal
from .ops.linalg.functions import linalg_matrix_exp as matrix_exp
from .ops.linalg.functions import linalg_matrix_power as matrix_power
from .ops.linalg.functions import linalg_multi_dot as multi_dot
from .ops.linalg.functions import linalg_tensorinv as tensorinv
from .ops.linalg.functions import linalg_tensorsolve as tensorsolve
from .ops.linalg.functions import linalg_vander as vander
from .ops.linalg.functions import linalg_vecdot as vecdot
from .ops.linalg.inverses import linalg_matrix_rank as matrix_rank
from .ops.linalg.inverses import linalg_pinv as pinv
from .ops.linalg.ldl import linalg_ldl_factor as ldl_factor
from .ops.linalg.ldl import linalg_ldl_factor_ex as ldl_factor_ex
from .ops.linalg.ldl import linalg_ldl_solve as ldl_solve
from .ops.linalg.least_squares import linalg_lstsq as lstsq
from .ops.linalg.lu import linalg_inv as inv
from .ops.linalg.lu import linalg_inv_ex as inv_ex
from .ops.linalg.lu import linalg_lu as lu
from .ops.linalg.lu import linalg_lu_factor as lu_factor
from .ops.linalg.lu import linalg_lu_factor_ex as lu_factor_ex
from .ops.linalg.lu import linalg_lu_solve as lu_solve
from .ops.linalg.lu import linalg_solve as solve
from .ops.linalg.lu import linalg_solve_ex as solve_ex
from .ops.linalg.norms import linalg_cond as cond
from .ops.linalg.norms import linalg_matrix_norm as matrix_norm
from .ops.linalg.norms import linalg_norm as norm
from .ops.linalg.norms import linalg_vector_norm as vector_norm
from .ops.linalg.orthogonal import linalg_householder_product as householder_product
from .ops.linalg.orthogonal import linalg_qr as qr
from .ops.linalg.products import matmul
from .ops.linalg.spectral import linalg_eig as eig
from .ops.linalg.spectral import linalg_eigh as eigh
from .ops.linalg.spectral import linalg_eigvals as eigvals
from .ops.linalg.spectral import linalg_eigvalsh as eigvalsh
from .ops.linalg.spectral import linalg_svd as svd
from .ops.linalg.spectral import linalg_svdvals as svdvals
from .ops.linalg.triangular import linalg_cholesky as cholesky
from .ops.linalg.triangular import linalg_cholesky_ex as cholesky_ex
from .ops.linalg.triangular import linalg_solve_triangular as solve_triangular

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv",
    "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm"]
