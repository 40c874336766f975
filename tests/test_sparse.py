"""Sparse tensors of coordinates and by rows: building, arithmetic, products, what they refuse."""
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import nn
from pyx_tensor.autograd import gradcheck
from sparse_samples import DENSE, INDICES, VALUES, is_dense, is_sparse, made_from, random_sparse, sample

DEVICES = ("cpu", "reference")


# --- building -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_what_it_consists_of(device):
    s = sample(device)
    is_sparse(s, DENSE)
    assert s.shape == (2, 3) and s.ndim == 2 and s.numel() == 6 and len(s) == 2 and s.dtype is torch.float32 and s.device.type == device
    assert s._nnz() == 4 and s.sparse_dim() == 2 and s.dense_dim() == 0 and not s.is_coalesced()
    assert s._indices().tolist() == INDICES and s._values().tolist() == VALUES
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [9, 4, 5]
    for what in ("indices", "values"):
        with pytest.raises(RuntimeError, match=f"Cannot get {what} on an uncoalesced tensor"):
            getattr(s, what)()


def test_build_from_other_arguments():
    assert torch.sparse_coo_tensor([[0, 3], [1, 0]], [1, 2]).shape == (4, 2)
    empty = torch.sparse_coo_tensor((2, 3))
    assert empty._nnz() == 0 and empty.shape == (2, 3) and not empty.to_dense().any()
    assert torch.sparse_coo_tensor(size=(2, 3), dtype=torch.int32).dtype is torch.int32
    assert torch.sparse_coo_tensor(INDICES, VALUES, (2, 3), dtype=torch.float64).dtype is torch.float64
    assert sample(requires_grad=True).requires_grad
    assert sample(is_coalesced=True).is_coalesced()
    hybrid = torch.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))
    assert hybrid.sparse_dim() == 1 and hybrid.dense_dim() == 1
    is_sparse(hybrid, [[6, 8], [0, 0], [3, 4]])
    shared = torch.tensor([1.0])
    s = torch.sparse_coo_tensor([[0]], shared)
    shared.fill_(7)
    assert s.to_dense().tolist() == [7]
    for made in (torch.zeros(2, 3, layout=torch.sparse_coo), torch.empty(2, 3, layout=torch.sparse_coo), torch.zeros_like(sample()),
                 torch.zeros_like(torch.ones(2, 3), layout=torch.sparse_coo), sample().new_zeros(2, 3)):
        is_sparse(made, np.zeros((2, 3)))
    is_dense(torch.zeros_like(sample(), layout=torch.strided), np.zeros((2, 3)))


@pytest.mark.parametrize("call, message", [
    (lambda: torch.sparse_coo_tensor([[0, -1]], [1, 2]), "negative index -1 for dim 0"),
    (lambda: torch.sparse_coo_tensor([[0], [5]], [1], (2, 2)), "for dim 1, size is 2 but found index 5"),
    (lambda: torch.sparse_coo_tensor(INDICES, [1.0, 2.0], (2, 3)), "same nnz, but got nnz from indices: 4, nnz from values: 2"),
    (lambda: torch.sparse_coo_tensor(INDICES, VALUES, (2, 3, 4)), r"len\(size\) = 3, sparse_dim = 2, dense_dim = 0"),
    (lambda: torch.sparse_coo_tensor([0, 1], [1.0, 2.0]), r"sparse_dim x nnz, but got: \[2\]"),
    (lambda: torch.sparse_coo_tensor([[0]], 1.0), "at least one dim"),
    (lambda: torch.sparse_coo_tensor([[0]], [[1.0, 2.0]], (1, 3)), r"expected \[1, 3\], got \[1, 2\]"),
    (lambda: torch.sparse_coo_tensor([[1j]], [1.0]), "indices must be integers"),
    (lambda: torch.sparse_coo_tensor((2, -1)), "negative dimension"),
    (lambda: sample(is_coalesced=True, check_invariants=True), "cannot set is_coalesced to true"),
    (lambda: torch.ones(2, layout=torch.sparse_coo), "not implemented for sparse layout"),
    (lambda: torch.eye(2).to_sparse(3), r"must be in \[1,2\] range, but 3 is given"),
    (lambda: sample().to_sparse(1), "sparse_dim argument"),
    (lambda: torch.eye(2).coalesce(), "coalesce expected sparse coordinate tensor layout but got Strided"),
    (lambda: torch.eye(2).values(), "values expected sparse tensor layout but got Strided"),
])
def test_build_refuses(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("device", DEVICES)
def test_from_dense(device):
    x = torch.tensor(DENSE, device=device)
    s = x.to_sparse()
    assert s._nnz() == 3 and s.is_coalesced() and s.to_sparse() is s
    is_sparse(s, DENSE)
    rows = torch.tensor([[0.0, 0.0], [1.0, 0.0]], device=device).to_sparse(1)
    assert rows._nnz() == 1 and rows.values().tolist() == [[1, 0]]
    assert x.to_dense() is x and x.sparse_dim() == 0 and x.dense_dim() == 2 and x.to_dense(torch.float32).dtype is torch.float32
    is_sparse(torch.tensor(3.0, device=device).to_sparse(), np.array(3.0))
    is_sparse(torch.zeros(2, 0, device=device).to_sparse(), np.zeros((2, 0)))
    is_sparse(x.sparse_mask(sample(device)), [[0, 0, 18], [4, 0, 5]])
    is_sparse(s.sparse_mask(torch.tensor([[1.0, 0, 1], [0, 0, 1]], device=device).to_sparse()), [[0, 0, 9], [0, 0, 5]])


def test_types():
    assert sample().type() == "torch.sparse.FloatTensor"
    made = torch.sparse.DoubleTensor(torch.tensor(INDICES), torch.tensor(VALUES).double(), (2, 3))
    is_sparse(made, DENSE)
    assert isinstance(made, torch.sparse.DoubleTensor) and not isinstance(made, torch.DoubleTensor) and not isinstance(made, torch.sparse.FloatTensor)
    assert not isinstance(torch.ones(1), torch.sparse.FloatTensor) and isinstance(torch.ones(1), torch.FloatTensor)
    assert torch.sparse.FloatTensor(2, 3).shape == (2, 3) and not isinstance(made, torch.cuda.sparse.DoubleTensor)
    assert repr(torch.sparse_coo) == "torch.sparse_coo" and isinstance(torch.sparse_coo, torch.layout)
    assert made.type("torch.sparse.DoubleTensor") is made
    with pytest.raises(RuntimeError, match="to_sparse"):
        torch.ones(1).type("torch.sparse.FloatTensor")


def test_printing():
    assert str(sample()) == """tensor(indices=tensor([[0, 1, 1, 0],
                       [2, 0, 2, 2]]),
       values=tensor([3., 4., 5., 6.]),
       size=(2, 3), nnz=4, layout=torch.sparse_coo)"""
    assert str(torch.zeros(2, 3, layout=torch.sparse_coo, dtype=torch.float64)) == """tensor(indices=tensor([], size=(2, 0)),
       values=tensor([], size=(0,)),
       size=(2, 3), nnz=0, dtype=torch.float64, layout=torch.sparse_coo)"""
    assert str(sample(requires_grad=True)).endswith("layout=torch.sparse_coo, requires_grad=True)")
    assert "device='reference:0', size=(2, 3)" in str(sample("reference"))


def test_every_way_to_the_first_one_will_do():
    """What sparse tensors can do is imported with the first of them, however that is made."""
    for first in ("torch.zeros(2, 2, layout=torch.sparse_coo)", "pickle.loads(pickle.dumps(torch.eye(2).to_sparse()))"):
        code = f"import pickle, sys, pyx_tensor as torch; assert 'pyx_tensor.ops.sparse_tensor' not in sys.modules; s = {first}; print((s + s).shape)"
        assert "[2, 2]" in subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


# --- arithmetic ---------------------------------------------------------------------------------------------------
UNARY = {"abs": np.abs, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "ceil": np.ceil, "expm1": np.expm1, "floor": np.floor,
         "neg": np.negative, "round": np.round, "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "square": np.square, "tan": np.tan, "tanh": np.tanh,
         "trunc": np.trunc, "isnan": np.isnan, "relu": lambda x: np.maximum(x, 0), "log1p": np.log1p, "sqrt": np.sqrt, "deg2rad": np.deg2rad,
         "positive": np.positive}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, device):
    s, array = sample(device) * 0.1, DENSE * 0.1
    result = getattr(torch, name)(s)
    is_sparse(result, UNARY[name](array), 1e-5)
    is_sparse(getattr(s, name)(), UNARY[name](array), 1e-5)
    if name + "_" in dir(torch.Tensor) and result.dtype is s.dtype:
        written = s.clone()
        assert getattr(written, name + "_")() is written
        is_sparse(written, UNARY[name](array), 1e-5)
        is_sparse(s, array)


@pytest.mark.parametrize("device", DEVICES)
def test_sums(device):
    s, d = sample(device), torch.tensor([[1.0, 2, 3], [4, 5, 6]], device=device)
    other = torch.sparse_coo_tensor([[0, 1], [0, 2]], [1.0, 1.0], (2, 3), device=device)
    there = np.array([[1, 0, 0], [0, 0, 1]])
    is_sparse(s + s, 2 * DENSE)
    is_sparse(s + other, DENSE + there)
    is_sparse(torch.sub(s, other, alpha=2), DENSE - 2 * there)
    assert (s.coalesce() + other.coalesce()).is_coalesced()
    is_dense(d + s, d.cpu().numpy() + DENSE)
    is_dense(d - s, d.cpu().numpy() - DENSE)
    is_dense(torch.add(d, s, alpha=2), d.cpu().numpy() + 2 * DENSE)
    is_dense(d.clone().add_(s, alpha=2), d.cpu().numpy() + 2 * DENSE)
    is_dense(d.clone().sub_(s), d.cpu().numpy() - DENSE)
    written = s.clone()
    written += other
    is_sparse(written, DENSE + there)
    written.sub_(other).mul_(2).div_(4)
    is_sparse(written, DENSE / 2)
    is_sparse(s, DENSE)
    for call in (lambda: s + d, lambda: s + 1, lambda: s - d, lambda: s.clone().add_(d)):
        with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
            call()
    with pytest.raises(RuntimeError, match="same size"):
        s + torch.zeros(3, 2, layout=torch.sparse_coo, device=device)


@pytest.mark.parametrize("device", DEVICES)
def test_products_and_quotients(device):
    s, d = sample(device), torch.tensor([[1.0, 2, 3], [4, 5, 6]], device=device)
    is_sparse(s * 2, 2 * DENSE)
    is_sparse(2 * s, 2 * DENSE)
    is_sparse(s * torch.tensor(2.0, device=device), 2 * DENSE)
    is_sparse(s * d, DENSE * d.cpu().numpy())
    is_sparse(d * s, DENSE * d.cpu().numpy())
    is_sparse(s * d[0], DENSE * d[0].cpu().numpy())
    is_sparse(s * s, DENSE ** 2)
    is_sparse(s * torch.sparse_coo_tensor([[0, 0], [1, 2]], [7.0, 2.0], (2, 3), device=device), [[0, 0, 18], [0, 0, 0]])
    is_sparse(s / 2, DENSE / 2)
    is_sparse(s // 2, DENSE // 2)
    is_sparse(torch.div(s, 2, rounding_mode="trunc"), DENSE // 2)
    is_sparse(s ** 2, DENSE ** 2)
    is_dense(d.clone().mul_(s), DENSE * d.cpu().numpy())
    assert (sample(dtype=torch.int64) * 1.5).dtype is torch.float32 and (sample(dtype=torch.int64) / 2).dtype is torch.float32
    with pytest.raises(RuntimeError, match="scalar or zero-dim"):
        s / s
    with pytest.raises(RuntimeError, match="zeroth power"):
        s ** 0
    with pytest.raises(NotImplementedError, match="to the power -1"):
        s ** -1
    for zero in (0, 0.0, torch.zeros((), device=device)):
        with pytest.raises(NotImplementedError, match="by 0"):
            s / zero
        with pytest.raises(NotImplementedError, match="by 0"):
            s.clone().div_(zero)
    with pytest.raises(RuntimeError, match="broadcast"):
        s * torch.ones(2, 2, device=device)
    with pytest.raises(RuntimeError, match="can't be cast"):
        sample(dtype=torch.int64).mul_(1.5)


def test_conversions():
    s = sample()
    assert s.double().dtype is torch.float64 and s.to(torch.int32).dtype is torch.int32 and s.bool().to_dense().tolist() == (DENSE != 0).tolist()
    is_sparse(s.to("reference"), DENSE)
    assert s.to("reference").device.type == "reference" and s.to(torch.float32) is s and s.type_as(s) is s
    twin = s.clone()
    twin.mul_(0)
    is_sparse(s, DENSE)
    s.data.mul_(2)
    is_sparse(s, 2 * DENSE)
    twin.copy_(s)
    is_sparse(twin, 2 * DENSE)
    is_sparse(twin.zero_(), np.zeros((2, 3)))
    for again in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), torch.tensor(s), torch.as_tensor(s)):
        is_sparse(again, 2 * DENSE)
    out = torch.zeros_like(s)
    assert torch.sin(s, out=out) is out
    is_sparse(out, np.sin(2 * DENSE))


# --- shapes -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_shapes(device):
    s, array = random_sparse(3, 4, 5, sparse_dim=2)
    s = s.to(device)
    is_sparse(s.transpose(0, 1), array.transpose(1, 0, 2))
    is_sparse(s.permute(1, 0, 2), array.transpose(1, 0, 2))
    is_sparse(s.unsqueeze(0), array[None])
    is_sparse(s.unsqueeze(2), array[:, :, None])
    is_sparse(s.unsqueeze(-1), array[..., None])
    is_sparse(s.select(0, 1), array[1])
    is_sparse(s[:, -1], array[:, -1])
    is_sparse(s[:, :, 2], array[:, :, 2])
    is_dense(s[1, 2], array[1, 2])
    is_sparse(s.index_select(1, torch.tensor([3, 0, 3], device=device)), array[:, [3, 0, 3]])
    is_sparse(s.index_select(2, torch.tensor([3, 0], device=device)), array[:, :, [3, 0]])
    for dim in range(3):
        is_sparse(torch.cat([s, s * 2, s], dim), np.concatenate([array, 2 * array, array], dim))
        is_sparse(torch.stack([s, s * 2], dim), np.stack([array, 2 * array], dim))
    for part, expected in zip(s.unbind(0), array):
        is_sparse(part, expected)
    assert len(list(s)) == 3
    is_sparse(sample(device).t(), DENSE.T)
    is_sparse(sample(device).T, DENSE.T)
    assert not s.transpose(0, 1).is_coalesced() and torch.cat([s, s]).is_coalesced()
    for wrong in (lambda: s.transpose(0, 2), lambda: s.permute(2, 1, 0), lambda: s.t(), lambda: torch.cat([s, s.unsqueeze(0)])):
        with pytest.raises(RuntimeError):
            wrong()
    for wrong in (lambda: s.select(0, 3), lambda: s.select(3, 0), lambda: s.index_select(0, torch.tensor([3], device=device))):
        with pytest.raises(IndexError):
            wrong()


@pytest.mark.parametrize("device", DEVICES)
def test_sums_over_dims(device):
    s, array = random_sparse(3, 4, 5, sparse_dim=2)
    s = s.to(device)
    is_dense(s.sum(), array.sum(), 1e-12)
    is_dense(torch.sparse.sum(s), array.sum(), 1e-12)
    for dim in (0, 1, -1, (0, 2), (1, 2)):
        is_sparse(torch.sparse.sum(s, dim), array.sum(dim), 1e-12)
    is_dense(torch.sparse.sum(s, (0, 1)), array.sum((0, 1)), 1e-12)
    is_dense(torch.sparse.sum(s, (0, 1, 2)), array.sum(), 1e-12)
    assert torch.sparse.sum(s, dtype=torch.float32).dtype is torch.float32
    whole = sample(device, torch.int32)
    assert whole.sum().dtype is torch.int64 and whole.sum(0).dtype is torch.int64 and whole.sum().item() == 18
    assert torch.norm(s).item() == pytest.approx(np.linalg.norm(array)) and s.any().item() and not (s * 0).any().item()


@pytest.mark.parametrize("device", DEVICES)
def test_softmax(device):
    s = sample(device)
    weights = np.exp([4.0 - 5, 0])
    is_sparse(torch.sparse.softmax(s, 1), [[0, 0, 1], [weights[0] / weights.sum(), 0, weights[1] / weights.sum()]])
    assert torch.sparse.softmax(s, 0).values().tolist() == pytest.approx([1 / (1 + np.exp(-4)), 1, 1 / (1 + np.exp(4))])
    np.testing.assert_allclose(torch.sparse.log_softmax(s, 1).values().cpu().numpy(), np.log([1, *(weights / weights.sum())]), atol=1e-6)
    hybrid = torch.ones(2, 3, device=device).to_sparse(1)
    is_sparse(torch.sparse.softmax(hybrid, 1, dtype=torch.float64), np.full((2, 3), 1 / 3))
    with pytest.raises(NotImplementedError):
        torch.sparse.softmax(sample(device, torch.int64), 1)


# --- matrix products ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_matrix_products(device):
    s, a = random_sparse(4, 5)
    other, b = random_sparse(5, 3, seed=1)
    s, other = s.to(device), other.to(device)
    c = np.random.default_rng(2).standard_normal((5, 3))
    d = torch.from_numpy(c).to(device)
    for product in (torch.sparse.mm, torch.mm, torch.matmul, torch.spmm, lambda x, y: x @ y):
        is_dense(product(s, d), a @ c, 1e-12)
        is_sparse(product(s, other), a @ b, 1e-12)
        is_dense(product(d.t(), s.t()), c.T @ a.T, 1e-12)
    is_dense(s @ d[:, 0], a @ c[:, 0], 1e-12)
    is_dense(torch.mv(s, d[:, 0]), a @ c[:, 0], 1e-12)
    is_dense(d[:, 0] @ s.t(), a @ c[:, 0], 1e-12)
    is_sparse(torch.hspmm(s, d), a @ c, 1e-12)
    is_sparse(torch.smm(s, d), a @ c, 1e-12)
    assert torch.hspmm(s, d).dense_dim() == 1 and torch.smm(s, d).dense_dim() == 0
    start = torch.from_numpy(a[:, :3]).to(device)
    is_dense(torch.addmm(start, s, d, beta=2, alpha=3), 2 * a[:, :3] + 3 * a @ c, 1e-12)
    is_dense(torch.sparse.addmm(start, s, d, beta=0), a @ c, 1e-12)
    is_sparse(torch.sspaddmm(start.to_sparse(), s, d, beta=2, alpha=3), 2 * a[:, :3] + 3 * a @ c, 1e-12)
    batch = torch.stack([s, s * 2])
    is_dense(torch.bmm(batch, torch.stack([d, d])), np.stack([a @ c, 2 * a @ c]), 1e-12)
    is_dense(torch.zeros(4, 5, layout=torch.sparse_coo, dtype=torch.float64, device=device) @ d, np.zeros((4, 3)))
    uncoalesced = torch.sparse_coo_tensor(INDICES, VALUES, (2, 5), dtype=torch.float64, device=device)
    is_dense(uncoalesced @ d, np.pad(DENSE, ((0, 0), (0, 2))) @ c, 1e-12)
    out = torch.empty(4, 3, dtype=torch.float64, device=device)
    assert torch.mm(s, d, out=out) is out
    is_dense(out, a @ c, 1e-12)


@pytest.mark.parametrize("call", [
    lambda s, d: torch.mm(s, d), lambda s, d: torch.mm(s, d.t().float()), lambda s, d: torch.mv(s, d[:, 0]), lambda s, d: torch.mm(s.unsqueeze(0), d),
    lambda s, d: torch.addmm(s, s, d.t()), lambda s, d: torch.bmm(d.unsqueeze(0), s.unsqueeze(0)), lambda s, d: torch.hspmm(d, s), lambda s, d: s @ d[0, 0]])
def test_products_refuse(call):
    with pytest.raises((RuntimeError, NotImplementedError)):
        call(torch.ones(2, 3, dtype=torch.float64).to_sparse(), torch.ones(2, 3, dtype=torch.float64))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ("int64", "int32", "float16", "float32", "float64", "complex64", "complex128"))
def test_products_of_every_dtype(dtype, device):
    random = np.random.default_rng(0)
    indices, values, c = random.integers(0, 6, (2, 30)), np.rint(random.standard_normal(30) * 3), np.rint(random.standard_normal((6, 4)) * 3)
    if dtype.startswith("complex"):
        values, c = values * (1 + 2j), c * (2 - 1j)
    expected = np.zeros((6, 4), values.dtype)
    for (row, column), value in zip(indices.T, values):
        expected[row] += value * c[column]
    s = torch.sparse_coo_tensor(torch.from_numpy(indices), torch.from_numpy(values), (6, 6)).to(device, getattr(torch, dtype))
    d = torch.from_numpy(c).to(device, getattr(torch, dtype))
    for matrix in (s, s.coalesce()):
        result = matrix @ d
        assert result.dtype is d.dtype
        is_dense(result, expected)
        is_dense(matrix @ d.t().contiguous().t(), expected)
        assert (matrix @ d[:, :0]).shape == (6, 0)


def test_large_products():
    """Over several threads, which share rows that rise."""
    random = np.random.default_rng(0)
    indices, values, c = random.integers(0, 500, (2, 20000)), random.standard_normal(20000), random.standard_normal((500, 16))
    s = torch.sparse_coo_tensor(torch.from_numpy(indices), torch.from_numpy(values), (500, 500))
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            is_dense(s @ torch.from_numpy(c), s.to_dense().numpy() @ c, 1e-9)
            is_dense(s.coalesce() @ torch.from_numpy(c), s.to_dense().numpy() @ c, 1e-9)
    finally:
        torch.set_num_threads(before)


def test_places_that_were_moved_outside_are_found():
    for row in (0, 1):
        s = sample()
        s._indices()[row, 0] = 99
        for call in (lambda: s @ torch.ones(3, 2), lambda: torch.ones(2, 3).add_(s)):
            with pytest.raises((RuntimeError, IndexError)):
                call()


def test_spdiags():
    d = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    is_sparse(torch.sparse.spdiags(d, torch.tensor([0, 1]), (3, 3)), [[1, 5, 0], [0, 2, 6], [0, 0, 3]])
    is_sparse(torch.sparse.spdiags(d, torch.tensor([-1, 2]), (3, 4)), [[0, 0, 6, 0], [1, 0, 0, 0], [0, 2, 0, 0]])
    with pytest.raises(RuntimeError, match="duplicate"):
        torch.sparse.spdiags(d, torch.tensor([1, 1]), (3, 3))


# --- matrices by rows ---------------------------------------------------------------------------------------------
def by_rows(device="cpu", dtype=None, **options):
    return torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [9.0, 4.0, 5.0], (2, 3), device=device, dtype=dtype, **options)


def is_by_rows(result, expected):
    assert result.layout is torch.sparse_csr and result.is_sparse_csr and not result.is_sparse
    is_dense(result.to_dense(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_matrices_by_rows(device):
    c, d = by_rows(device), torch.tensor([[0.0, 1], [2, 3], [4, 5]], device=device)
    is_by_rows(c, DENSE)
    assert c.crow_indices().tolist() == [0, 1, 3] and c.col_indices().tolist() == [2, 0, 2] and c.values().tolist() == [9, 4, 5] and c._nnz() == 3
    is_sparse(c.to_sparse(), DENSE)
    for made in (torch.tensor(DENSE, device=device).to_sparse_csr(), sample(device).to_sparse_csr(), sample(device).to_sparse(layout=torch.sparse_csr), c.to_sparse_csr(),
                 torch.sparse_csr_tensor([0, 1, 3], [2, 2, 0], [9.0, 5.0, 4.0], device=device), c.clone(), c.detach(), copy.deepcopy(c),
                 pickle.loads(pickle.dumps(c)), c.to(torch.float64)):
        is_by_rows(made, DENSE)
    is_by_rows(torch.zeros(2, 3, layout=torch.sparse_csr, device=device), np.zeros((2, 3)))
    is_by_rows(torch.zeros_like(c), np.zeros((2, 3)))
    for result, expected in ((c * 2, 2 * DENSE), (-c, -DENSE), (c + c, 2 * DENSE), (c * c, DENSE ** 2), (c.sin(), np.sin(DENSE)), (c.clone().mul_(2), 2 * DENSE),
                             (c * torch.ones(2, 3, device=device), DENSE), (torch.ones(2, 3, device=device).sparse_mask(c), DENSE != 0), (c @ c.t(), DENSE @ DENSE.T)):
        is_by_rows(result, expected)
    for result in (c @ d, torch.sparse.mm(c, d), torch.mm(c, d)):
        is_dense(result, DENSE @ d.cpu().numpy())
    is_dense(c @ d[:, 0], DENSE @ d[:, 0].cpu().numpy())
    is_dense(d.t() @ c.t(), (DENSE @ d.cpu().numpy()).T)
    is_dense(torch.addmm(torch.ones(2, 2, device=device), c, d), 1 + DENSE @ d.cpu().numpy())
    is_dense(c + torch.ones(2, 3, device=device), 1 + DENSE)
    is_dense(c.sum(), 18)
    assert str(by_rows()) == """tensor(crow_indices=tensor([0, 1, 3]),
       col_indices=tensor([2, 0, 2]),
       values=tensor([9., 4., 5.]), size=(2, 3), nnz=3,
       layout=torch.sparse_csr)"""


@pytest.mark.parametrize("device", DEVICES)
def test_products_by_rows(device):
    c, d = by_rows(device), torch.tensor([[0.0, 1], [2, 3], [4, 5]], device=device)
    is_by_rows(torch.sparse.sampled_addmm(c, torch.ones(2, 4, device=device), torch.ones(4, 3, device=device), beta=2, alpha=0.5), [[0, 0, 20], [10, 0, 12]])
    is_dense(torch.sparse.mm(c, d, "mean"), [[36, 45], [10, 14.5]])
    is_dense(torch.sparse.mm(c, d, "amax"), [[36, 45], [20, 25]])
    is_dense(torch.sparse.mm(c, d, "amin"), [[36, 45], [0, 4]])


def test_gradients_by_rows():
    v = torch.tensor([9.0, 4, 5], dtype=torch.float64, requires_grad=True)
    d = torch.tensor([[0.5, 1], [2, 3], [4, 5]], dtype=torch.float64, requires_grad=True)
    for function in (lambda c, d: c @ d, lambda c, d: torch.sparse.mm(c, d, "mean"), lambda c, d: c.to_dense() ** 2 + d.sum(),
                     lambda c, d: torch.sparse.sampled_addmm(c, d[:2], d.t()).to_dense(), lambda c, d: (c * c).values() + d.sum()):
        assert gradcheck(lambda v, d: function(torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)), d), (v, d))
    leaf = by_rows(requires_grad=True)
    (leaf @ torch.ones(3, 2)).sum().backward()
    is_dense(leaf.grad, np.full((2, 3), 2))
    leaf = by_rows(requires_grad=True)
    (leaf * 2).to_dense().sum().backward()
    is_by_rows(leaf.grad, [[0, 0, 2], [2, 0, 2]])
    leaf.to_dense().sum().backward()
    is_by_rows(leaf.grad, [[0, 0, 3], [3, 0, 3]])
    (leaf @ torch.ones(3, 2)).sum().backward()
    is_dense(leaf.grad, [[2, 2, 5], [5, 2, 5]])


@pytest.mark.parametrize("call", [
    lambda: torch.sparse_csr_tensor([0, 1], [2, 0, 2], [9.0, 4, 5], (2, 3)), lambda: torch.sparse_csr_tensor([0, 1, 4], [2, 0, 2], [9.0, 4, 5], (2, 3)),
    lambda: torch.sparse_csr_tensor([0, 2, 1, 3], [2, 0, 2], [9.0, 4, 5], (3, 3)), lambda: torch.sparse_csr_tensor([0, 1, 3], [2, 0, 7], [9.0, 4, 5], (2, 3)),
    lambda: torch.sparse_csr_tensor([0, 1, 3], [2, 0], [9.0, 4, 5], (2, 3)), lambda: by_rows().coalesce(), lambda: by_rows().indices(), lambda: by_rows().exp(),
    lambda: torch.eye(2).crow_indices(), lambda: torch.eye(2).to_sparse().col_indices(), lambda: torch.ones(2).to_sparse_csr(),
    lambda: torch.sparse.mm(by_rows(), torch.ones(3, 2), "prod"), lambda: torch.sparse.mm(torch.eye(2).to_sparse(), torch.eye(2), "mean"),
    lambda: torch.sparse.sampled_addmm(torch.eye(2).to_sparse(), torch.eye(2), torch.eye(2)), lambda: torch.cat([by_rows(), by_rows()])])
def test_refused_by_rows(call):
    with pytest.raises((RuntimeError, NotImplementedError)):
        call()


# --- what can't be done -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call, name", [
    (lambda s: s.exp(), "exp"), (lambda s: s > 0, "gt"), (lambda s: s == s, "eq"), (lambda s: s.view(6), "view"), (lambda s: s.mean(), "mean"),
    (lambda s: s.max(), "max"), (lambda s: torch.softmax(s, 1), "softmax"), (lambda s: s.sigmoid(), "sigmoid"), (lambda s: s.fill_(1), "fill_"),
    (lambda s: s.resize_(3), "resize_"), (lambda s: s[0:1], "index"), (lambda s: s.__setitem__(0, 1), "index_put_"), (lambda s: s.exp_(), "exp_"),
    (lambda s: torch.exp(torch.ones(2, 3), out=s), "out="), (lambda s: torch.cat([torch.ones(2, 3), s]), "cat"), (lambda s: s.reshape(6), "reshape"),
    (lambda s: torch.einsum("ij->ji", s), "."), (lambda s: torch.where(torch.ones(2, 3) > 0, s, s), "."), (lambda s: s.contiguous(), "contiguous"),
    (lambda s: torch.nn.functional.linear(torch.ones(1, 3), s), "."), (lambda s: torch.ones_like(s), "ones_like"), (lambda s: s.cumsum(0), "cumsum"),
    (lambda s: torch.ones(2, 3).masked_fill_(s, 1), "masked_fill"), (lambda s: s.storage(), "storage"), (lambda s: torch.equal(s, s), "equal")])
def test_unavailable(call, name):
    with pytest.raises((NotImplementedError, RuntimeError), match=name):
        call(sample())


@pytest.mark.parametrize("call, name", [
    (lambda s: torch.erf([s, s]), "input"), (lambda s: torch.matmul(s, 2), "other"), (lambda s: torch.bmm(s, 2), "mat2"), (lambda s: torch.add(2, s), "input"),
    (lambda s: torch.any([s]), "input"), (lambda s: torch.cat(s), "tensors"), (lambda s: torch.stack(s), "tensors"), (lambda s: torch.sin([s]), "input"),
    (lambda s: s.copy_(2), "other"), (lambda s: torch.hspmm(s, 2), "mat2"), (lambda s: torch.smm(s, [1]), "mat2"), (lambda s: torch.spmm(2, s), "input")])
def test_operands_that_are_no_tensors(call, name):
    with pytest.raises(TypeError, match=f"argument '{name}' must be"):
        call(sample())


def test_host_access_is_refused():
    s = sample()
    for call, error in ((lambda: s.numpy(), TypeError), (lambda: np.asarray(s), TypeError), (lambda: s.item(), RuntimeError), (lambda: bool(s), RuntimeError),
                        (lambda: s.tolist(), NotImplementedError), (lambda: s.data_ptr(), RuntimeError), (lambda: memoryview(s), BufferError),
                        (lambda: s.stride(), RuntimeError), (lambda: s.nbytes, RuntimeError), (lambda: torch.ones(2, 3).copy_(s), RuntimeError),
                        (lambda: s.copy_(torch.ones(2, 3)), RuntimeError)):
        with pytest.raises(error):
            call()
    one = torch.sparse_coo_tensor([[0]], [2.0])
    assert one.item() == 2 and bool(one) and float(one) == 2
    assert torch.is_tensor(s) and torch.numel(s) == 6 and hash(s) and s.is_floating_point()


def test_no_other_class_takes_the_contents_over():
    s, dense = sample(), torch.ones(2, 3)
    for call in (lambda: nn.Parameter(s), lambda: torch.Tensor(s), lambda: dense.set_(s), lambda: setattr(dense, "data", s)):
        with pytest.raises((NotImplementedError, RuntimeError), match="sparse"):
            call()
    assert dense.sum() == 6


def test_writes_in_the_graph():
    v = torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)
    s = made_from(v) * 2
    s.mul_(3).add_(s)
    s.to_dense().sum().backward()
    assert v.grad.tolist() == [12] * 4
    s = made_from(v) * 2
    s.retain_grad()
    s.to_dense().sum().backward()
    is_sparse(s.grad, [[0, 0, 1], [1, 0, 1]])


def test_in_place_functions_reach_torch_function():
    """As in PyTorch, classes with a `__torch_function__` see writes and `out=` too."""
    calls = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append((func.__name__, sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(2).as_subclass(Logged)
    x.add_(1)
    x *= 2
    torch.exp(x, out=torch.empty(2))
    assert calls == [("add_", []), ("mul_", []), ("exp", ["out"])]
    assert type(x) is Logged and x.tolist() == [4, 4]


def test_files():
    """Written as PyTorch writes them; a file whose places lie outside of the shape is refused."""
    import io
    s = {"s": sample(), "c": sample().coalesce(), "h": random_sparse(3, 4, sparse_dim=1)[0]}
    file = io.BytesIO()
    torch.save(s, file)
    for name, again in torch.load(io.BytesIO(file.getvalue())).items():
        is_sparse(again, s[name].to_dense().numpy())
        assert again.is_coalesced() == s[name].is_coalesced() and again._nnz() == s[name]._nnz() and again.dtype is s[name].dtype
    moved = sample()
    moved.array.shape = (1, 1)
    file = io.BytesIO()
    torch.save(moved, file)
    with pytest.raises(RuntimeError, match="found index 1"):
        torch.load(io.BytesIO(file.getvalue()))


def test_the_switch_of_checks():
    switch = torch.sparse.check_sparse_tensor_invariants
    assert not switch.is_enabled()
    with switch():
        assert switch.is_enabled()
        with switch(False):
            assert not switch.is_enabled()
    assert switch()(switch.is_enabled)() and not switch.is_enabled()
    switch.enable()
    assert switch.is_enabled()
    switch.disable()
