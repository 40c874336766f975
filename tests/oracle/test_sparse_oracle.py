"""Sparse tensors against PyTorch: values, layouts, gradients, errors and printing, for coalesced, uncoalesced and hybrid ones."""
import warnings

import numpy as np
import pytest

import pyx_tensor

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", message="Sparse")


def operands(lib, kind):
    """A sparse tensor, another of its shape, a dense one of its shape, and a matrix to multiply by."""
    random = np.random.default_rng(5)
    shape, dense_dims = {"matrix": ((4, 5), 0), "coalesced": ((4, 5), 0), "hybrid": ((4, 5, 3), 1), "rows": ((6, 3), 1), "cube": ((2, 3, 4), 0),
                         "empty": ((4, 5), 0), "integers": ((4, 5), 0), "complex": ((4, 5), 0)}[kind]
    split, count = len(shape) - dense_dims, 0 if kind == "empty" else 9

    def one():
        indices = np.stack([random.integers(0, n, count) for n in shape[:split]])
        values = random.standard_normal((count, *shape[split:]))
        if kind == "integers":
            values = np.rint(values * 4).astype(np.int64)
        if kind == "complex":
            values = values + 1j * values[::-1]
        s = lib.sparse_coo_tensor(lib.from_numpy(indices), lib.from_numpy(np.array(values)), shape)
        return s.coalesce() if kind == "coalesced" else s
    s, other = one(), one()
    d = lib.from_numpy(random.standard_normal(shape)).to(s.dtype)
    return s, other, d, lib.from_numpy(random.standard_normal((shape[-1], 2))).to(s.dtype)


OPERATIONS = [
    "s + other", "s - other", "s * other", "d + s", "d - s", "s + d", "s * d", "d * s", "s * 3", "2.5 * s", "s / 2", "s // 2", "s ** 2", "s ** 0", "s / s",
    "-s", "abs(s)", "s.neg()", "s.sin()", "s.sqrt()", "s.relu()", "s.sign()", "s.floor()", "s.round()", "s.exp()", "s.log1p()", "s.isnan()", "s.sgn()",
    "s.tanh()", "s.expm1()", "s.nan_to_num()", "s.coalesce()", "s.to_dense()", "s.t()", "s.transpose(0, 1)", "s.transpose(0, -1)", "s.permute(1, 0)",
    "s.unsqueeze(0)", "s.unsqueeze(-1)", "s.select(0, 1)", "s.select(-1, 2)", "s[0]", "s[0, 1]", "s[:, 1]", "s.index_select(0, lib.tensor([1, 0, 1]))",
    "s.index_select(1, lib.tensor([2, 2]))", "s.sum()", "s.sum(0)", "s.sum(-1)", "s.sum((0, 1))", "lib.sparse.sum(s)", "lib.sparse.sum(s, 0)",
    "lib.sparse.sum(s, -1)", "lib.cat([s, other])", "lib.cat([s, other], 1)", "lib.cat([s, other], -1)", "lib.stack([s, other])", "s @ m", "lib.mm(s, m)",
    "lib.sparse.mm(s, m)", "lib.matmul(s, m[:, 0])", "lib.mv(s, m[:, 0])", "s @ other.t()", "m.t() @ s.t()", "lib.hspmm(s, m)", "lib.smm(s, m)",
    "lib.sspaddmm(s[:, :2], s, m)", "lib.addmm(d[:, :2], s, m, beta=2, alpha=3)", "lib.bmm(s, lib.stack([m, m]))", "lib.sparse.softmax(s, 0)",
    "lib.sparse.softmax(s, 1)", "lib.sparse.log_softmax(s, -1)", "d.sparse_mask(s)", "d.sparse_mask(s.coalesce())", "d.to_sparse()", "d.to_sparse(1)",
    "s.to_sparse()", "s.clone()", "s.detach()", "s.double()", "s.float()", "s.to(lib.complex64)", "s.int()", "s.bool()", "lib.zeros_like(s)", "lib.norm(s)",
    "s.any()", "s.conj()", "s.is_coalesced()", "s._nnz()", "s.sparse_dim()", "s.dense_dim()", "s.type()", "s.layout == lib.sparse_coo", "s.numel()",
    "s.add(other, alpha=2)", "s.sub(other, alpha=2)", "s.clone().add_(other)", "s.clone().sub_(other)", "s.clone().mul_(2)", "s.clone().div_(2)",
    "s.clone().zero_()", "s.clone().neg_()", "s.clone().copy_(other)", "d.clone().add_(s)", "d.clone().sub_(s)", "d.clone().add_(s, alpha=2)", "s > 0", "s == s",
    "s.view(-1)", "s.max()", "s.mean()", "lib.equal(s, s)", "lib.softmax(s, 0)", "s.fill_(1)", "s.numpy()", "s.item()", "bool(s)", "s.coalesce().indices()",
    "s.coalesce().values()", "s.values()", "s.indices()", "s._values()", "s._indices()", "s.unbind()[1]", "list(s)[0]", "s.coalesce() + other.coalesce()",
    "s.coalesce() * other.coalesce()", "s.square()", "s.deg2rad()", "s.trunc()", "s.pow(3)", "s.requires_grad", "s.is_sparse", "s.shape", "s.is_leaf", "s.dtype",
]
MORE = {("s.sign()", "complex")}      # PyTorch has no such values to compare with


def outcome(lib, kind, expression):
    s, other, d, m = operands(lib, kind)
    try:
        result = eval(expression, dict(lib=lib, s=s, other=other, d=d, m=m))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return error
    if not isinstance(result, lib.Tensor):
        return str(result)
    if result.is_sparse:
        result = result.coalesce()
        return "sparse", str(result.dtype), result._nnz(), result.to_dense().resolve_conj().numpy()
    return "dense", str(result.dtype), None, result.detach().resolve_conj().numpy()


@pytest.mark.parametrize("kind", ("matrix", "coalesced", "hybrid", "rows", "cube", "empty", "integers", "complex"))
@pytest.mark.parametrize("expression", OPERATIONS)
def test_operation(kind, expression):
    mine, theirs = outcome(pyx_tensor, kind, expression), outcome(torch, kind, expression)
    if isinstance(theirs, Exception):
        if not isinstance(mine, Exception):       # then it has to be right, which what PyTorch does to the dense tensor tells
            if (expression, kind) in MORE:
                return
            s, other, d, m = (t.to_dense() if t.is_sparse else t for t in operands(torch, kind))
            theirs = eval(expression.replace("lib.sparse.", "lib."), dict(lib=torch, s=s, other=other, d=d, m=m))
            np.testing.assert_allclose(mine[3], theirs.resolve_conj().numpy(), rtol=1e-6, atol=1e-9)
        return
    assert not isinstance(mine, Exception), f"{mine!r} instead of {theirs}"
    assert mine[:2] == theirs[:2] if isinstance(theirs, tuple) else mine == theirs
    if isinstance(theirs, tuple):
        assert mine[2] == theirs[2] or expression == "s * other"      # PyTorch keeps zeros where one of two uncoalesced ones has no value
        np.testing.assert_allclose(mine[3], theirs[3], rtol=1e-6, atol=1e-9)


GRADIENTS = [
    "lib.sparse.mm(s, m)", "s @ m", "s.to_dense() ** 2", "lib.sparse.sum(s) ** 2", "lib.sparse.sum(s, 0).to_dense() ** 2", "s.sum() ** 2",
    "s.coalesce().values() ** 2", "(d + s) ** 2", "(s * 2).to_dense() ** 2", "(s + s).to_dense() ** 2", "lib.sparse.softmax(s, 1).to_dense() ** 2",
    "s.t().to_dense() ** 2", "lib.sparse.mm(s, s.t()).to_dense() ** 2", "d.sparse_mask(s.detach()).to_dense() ** 2 + s.to_dense()",
    "s.to_dense(masked_grad=False) ** 2",
]


@pytest.mark.parametrize("kind", ("matrix", "coalesced"))
@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients(kind, expression):
    grads = []
    for lib in (pyx_tensor, torch):
        s, other, d, m = operands(lib, kind)
        s, d, m = s.detach().requires_grad_(), d.requires_grad_(), m.requires_grad_()
        eval(expression, dict(lib=lib, s=s, other=other, d=d, m=m)).sum().backward()
        v = s._values().clone().requires_grad_()
        eval(expression, dict(lib=lib, s=lib.sparse_coo_tensor(s._indices(), v, s.shape), d=d, m=m)).sum().backward()
        grads.append((s.grad, v.grad, d.grad, m.grad))
    for mine, theirs in zip(*grads):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            assert mine.is_sparse == theirs.is_sparse or "masked_grad" in expression      # which PyTorch makes sparse again
            np.testing.assert_allclose(*(t.to_dense().numpy() for t in (mine, theirs)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ("matrix", "coalesced", "hybrid", "rows", "cube", "empty", "integers", "complex"))
def test_printing(kind):
    for change in (lambda s: s, lambda s: s.coalesce(), lambda s: s.detach().requires_grad_(s.is_floating_point()), lambda s: s.to(s.dtype)[0],
                   lambda s: s.float() if s.is_floating_point() else s.bool()):
        assert str(change(operands(pyx_tensor, kind)[0])) == str(change(operands(torch, kind)[0]))


@pytest.mark.parametrize("optimizer, options", [("SGD", {}), ("SGD", dict(momentum=0.9, dampening=0.1)), ("SGD", dict(momentum=0.9, nesterov=True)), ("SGD", dict(weight_decay=0.1)),
                                                ("Adagrad", dict(lr_decay=0.1)), ("Adagrad", dict(weight_decay=0.1)), ("SparseAdam", {}),
                                                ("SparseAdam", dict(maximize=True)), ("Adam", {}), ("AdamW", {}), ("RMSprop", {})])
def test_optimizers(optimizer, options):
    results = []
    for lib in (pyx_tensor, torch):
        weight = lib.from_numpy(np.random.default_rng(0).standard_normal((5, 2))).requires_grad_()
        steps = getattr(lib.optim, optimizer)([weight], lr=0.1, **options)
        try:
            for picked in ([1, 1, 2], [3, 0], [1, 4]):
                steps.zero_grad()
                (lib.nn.functional.embedding(lib.tensor(picked), weight, padding_idx=4, sparse=True) ** 2).sum().backward()
                steps.step()
            results.append(weight.detach().numpy())
        except RuntimeError as error:
            results.append(str(error))
    if isinstance(results[1], str):
        assert results[0] == results[1]
    else:
        np.testing.assert_allclose(*results, rtol=1e-9)


@pytest.mark.parametrize("kind", ("matrix", "coalesced", "hybrid", "empty", "complex"))
def test_files(kind, tmp_path):
    """Files go both ways."""
    s, t = operands(pyx_tensor, kind)[0], operands(torch, kind)[0]
    pyx_tensor.save({"s": s}, tmp_path / "ours.pt")
    torch.save({"s": t}, tmp_path / "theirs.pt")
    there, here = torch.load(tmp_path / "ours.pt")["s"], pyx_tensor.load(tmp_path / "theirs.pt")["s"]
    assert str(there) == str(t) and str(here) == str(s) and there.is_coalesced() == t.is_coalesced() == here.is_coalesced()
