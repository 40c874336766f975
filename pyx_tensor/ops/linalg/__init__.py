"""Linear algebra: products of matrices, factorisations, and what follows from them.

Few operations reach a backend: `_lu_factor`, `_cholesky`, `_triangular_solve`, `_qr`, `_geqrf`, `_svd`, `_eigh`, `_eig`, `_ldl_factor` and what a
library does faster than they do together. The rest is written in terms of these, so that it runs wherever they do.
"""
from . import (  # noqa: F401  (each enters its operations)
    products, triangular, lu, determinant, orthogonal, spectral, norms, inverses, least_squares, functions, ldl, lowrank, lobpcg, early)
