"""A sparse matrix, the same dense, and what tests ask of results."""
import numpy as np

import pyx_tensor as torch

INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]          # the last is the first again
VALUES = [3.0, 4.0, 5.0, 6.0]
DENSE = np.array([[0, 0, 9], [4, 0, 5.0]])


def sample(device="cpu", dtype=None, **options):
    return torch.sparse_coo_tensor(INDICES, VALUES, (2, 3), device=device, dtype=dtype, **options)


def made_from(v):
    return torch.sparse_coo_tensor(INDICES, v, (2, 3))


def is_dense(result, expected, tolerance=1e-6):
    assert result.layout is torch.strided and not result.is_sparse
    np.testing.assert_allclose(result.detach().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)


def is_sparse(result, expected, tolerance=1e-6):
    assert result.layout is torch.sparse_coo and result.is_sparse and isinstance(result, torch.Tensor)
    assert tuple(result.shape) == np.shape(expected)
    is_dense(result.to_dense(), expected, tolerance)


def random_sparse(*shape, seed=0, density=0.4, sparse_dim=None, dtype=np.float64):
    random = np.random.default_rng(seed)
    array = random.standard_normal(shape) * (random.random(shape) < density)
    return torch.from_numpy(array.astype(dtype)).to_sparse(sparse_dim), array
