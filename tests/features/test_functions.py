"""The functions of the newcomer's lists, one row a value: creation, joining, pointwise, reduction, comparison, others, products.

Expected values are worked out by hand or by NumPy. `out=` takes a tensor that is filled, resized if needed, and returned.
"""
import math

import numpy as np
import pytest

import pyx_tensor as torch

X = [[1.0, -2.0, 3.5], [-0.5, 0.25, -4.0]]
A = np.array(X, np.float32)
nan, inf = math.nan, math.inf


def x():
    return torch.tensor(X)


def close(result, expected, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(result.detach() if isinstance(result, torch.Tensor) else result), expected, tolerance, tolerance)


# --- creation (S200 - S211) ----------------------------------------------------------------------------------------
CREATED = [
    (lambda **k: torch.eye(2, **k), [[1, 0], [0, 1]]), (lambda **k: torch.eye(2, 3, **k), [[1, 0, 0], [0, 1, 0]]),
    (lambda **k: torch.linspace(0, 1, steps=5, **k), [0, 0.25, 0.5, 0.75, 1]), (lambda **k: torch.linspace(3, 9, steps=1, **k), [3]),
    (lambda **k: torch.logspace(0, 2, steps=3, **k), [1, 10, 100]), (lambda **k: torch.ones(2, 2, **k), [[1, 1], [1, 1]]),
    (lambda **k: torch.zeros(1, 2, **k), [[0, 0]]), (lambda **k: torch.arange(1, 7, 2, **k), [1, 3, 5]),
    (lambda **k: torch.arange(0, 1.01, 0.25, **k), [0, 0.25, 0.5, 0.75, 1]), (lambda **k: torch.range(1, 4, 1.5, **k), [1, 2.5, 4]),
    (lambda **k: torch.range(0, 3, **k), [0, 1, 2, 3]),
]


@pytest.mark.parametrize("case", range(len(CREATED)))
def test_creation(case):
    make, expected = CREATED[case]
    close(make(), expected)
    out = torch.empty(7)
    assert make(out=out) is out
    close(out, expected)


def test_early_defaults_of_creation():
    assert torch.linspace(0, 99).tolist() == list(range(100)) and torch.logspace(0, 1).shape == (100,)


def test_random_creation():
    torch.manual_seed(3)
    uniform, normal = torch.rand(5000), torch.randn(5000)
    assert 0 <= uniform.min() and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
    assert abs(normal.mean()) < 0.05 and abs(normal.var() - 1) < 0.06
    order = torch.randperm(50)
    assert order.dtype is torch.int64 and sorted(order.tolist()) == list(range(50))
    out = torch.empty(0)
    assert torch.rand(2, 3, out=out) is out and out.shape == (2, 3)


# --- indexing, joining, mutating (S212 - S227) ---------------------------------------------------------------------
def test_cat():
    a, b = torch.ones(1, 2), torch.zeros(2, 2)
    assert torch.cat((a, b), 0).tolist() == [[1, 1], [0, 0], [0, 0]] and torch.cat((a, b), -2).shape == (3, 2)
    assert torch.cat(inputs=(a, a), dimension=1).tolist() == [[1, 1, 1, 1]]
    out = torch.empty(0)
    assert torch.cat((a, a), out=out) is out and out.shape == (2, 2)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        torch.cat((a, b), 1)


def test_parts():
    a = torch.arange(5)
    assert [p.tolist() for p in torch.chunk(a, 2)] == [[0, 1, 2], [3, 4]] and len(torch.chunk(a, 9)) == 5
    assert [p.tolist() for p in torch.split(a, 2)] == [[0, 1], [2, 3], [4]] and torch.split(a, 2)[1].data_ptr() == a[2:].data_ptr()
    assert [p.tolist() for p in torch.unbind(torch.tensor([[1, 2], [3, 4]]), 1)] == [[1, 3], [2, 4]]


def test_taking_elements():
    a = torch.tensor([[1, 2], [3, 4]])
    assert torch.gather(a, 1, torch.tensor([[0, 0], [1, 0]])).tolist() == [[1, 1], [4, 3]]
    assert torch.gather(a, 0, torch.tensor([[1, 0]])).tolist() == [[3, 2]]
    with pytest.raises(RuntimeError):
        torch.gather(a, 1, torch.tensor([[2, 0], [0, 0]]))
    picked = torch.index_select(a, 1, torch.tensor([1, 1]))
    assert picked.tolist() == [[2, 2], [4, 4]] and picked.data_ptr() != a.data_ptr()
    assert torch.masked_select(a, a > 1).tolist() == [2, 3, 4] and torch.masked_select(a, torch.tensor([True, False])).tolist() == [1, 3]
    assert torch.masked_select(a, torch.ByteTensor([[0, 2], [1, 0]])).tolist() == [2, 3]
    assert torch.nonzero(torch.tensor([[0, 5], [6, 0]])).tolist() == [[0, 1], [1, 0]]
    assert torch.index_select(a, 0, torch.tensor([0]), out=torch.empty(0, dtype=torch.int64)).tolist() == [[1, 2]]


def test_dims():
    a = torch.zeros(2, 1, 3, 1)
    assert torch.squeeze(a).shape == (2, 3) and torch.squeeze(a, 1).shape == (2, 3, 1) and torch.squeeze(a, 0).shape == a.shape
    assert torch.unsqueeze(x(), 0).shape == (1, 2, 3) and torch.unsqueeze(x(), -1).shape == (2, 3, 1)
    with pytest.raises(IndexError):
        torch.unsqueeze(x(), 4)
    b = x()
    torch.transpose(b, 0, 1)[2, 1] = 9
    assert b[1, 2] == 9 and torch.t(b).shape == (3, 2)
    with pytest.raises(RuntimeError):
        torch.t(a)
    assert torch.stack((b, b), 1).shape == (2, 2, 3)
    with pytest.raises(RuntimeError):
        torch.stack((b, b[0]))


@pytest.mark.parametrize("call, shape", [
    (lambda a, **k: torch.squeeze(a, **k), (2, 3)), (lambda a, **k: torch.unsqueeze(a, 0, **k), (1, 2, 1, 3)),
    (lambda a, **k: torch.transpose(a, 0, 2, **k), (3, 1, 2)), (lambda a, **k: torch.t(a[:, 0], **k), (3, 2))])
def test_out_of_views(call, shape):
    a, out = torch.arange(6.0).view(2, 1, 3), torch.empty(0)
    assert call(a, out=out) is out and out.shape == shape and torch.equal(out, call(a)) and out.data_ptr() != a.data_ptr()


# --- random numbers (S228 - S237) ----------------------------------------------------------------------------------
def test_seeds_and_states():
    assert isinstance(torch.manual_seed(5000), torch._C.Generator) and torch.initial_seed() == 5000
    w, b = torch.randn(4, 1) * 5, torch.randn(1) * 5
    assert [f"{v:.2f}" for v in w.view(-1)] == ["6.13", "3.89", "0.86", "8.20"] and f"{b.item():.2f}" == "-1.62"
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.ndim == 1
    first = torch.randn(3)
    assert not torch.equal(state, torch.get_rng_state())
    torch.set_rng_state(state)
    assert torch.equal(torch.randn(3), first) and isinstance(torch.default_generator, torch._C.Generator)


def test_drawing():
    torch.manual_seed(1)
    p = torch.tensor([0.0, 1.0, 0.5])
    assert torch.bernoulli(p)[:2].tolist() == [0, 1] and torch.bernoulli(p).dtype is torch.float32
    with pytest.raises(RuntimeError):
        torch.bernoulli(torch.tensor([1.5]))
    rows = torch.multinomial(torch.tensor([[0.0, 3.0, 7.0], [1.0, 0.0, 1.0]]), 2)
    assert sorted(rows[0].tolist()) == [1, 2] and sorted(rows[1].tolist()) == [0, 2] and rows.dtype is torch.int64
    with pytest.raises(RuntimeError):
        torch.multinomial(torch.ones(2), 3)
    assert torch.multinomial(torch.tensor([0.0, 1.0]), 5, replacement=True).tolist() == [1] * 5
    means = torch.arange(3.0)
    assert torch.normal(means, torch.zeros(3)).tolist() == torch.normal(means=means, std=torch.zeros(3)).tolist() == [0, 1, 2]
    assert torch.normal(2.0, torch.zeros(2)).tolist() == [2, 2] and torch.normal(means, 0.0).tolist() == [0, 1, 2]


def test_threads():
    before = torch.get_num_threads()
    try:
        a = torch.rand(300, 300)
        torch.set_num_threads(1)
        one = a.exp().sum(0)
        assert torch.get_num_threads() == 1
        torch.set_num_threads(before)
        assert torch.get_num_threads() == before and torch.equal(a.exp().sum(0), one)
        with pytest.raises(RuntimeError):
            torch.set_num_threads(0)
    finally:
        torch.set_num_threads(before)


# --- pointwise (S240 - S284) ---------------------------------------------------------------------------------------
UNIT = np.array([-1.5, -1.0, -0.3, 0.0, 0.8, 1.0], np.float32)
WIDE = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 3.7], np.float32)
POINTWISE = [(name, getattr(np, numpys), WIDE) for name, numpys in dict(
    abs="abs", ceil="ceil", cos="cos", cosh="cosh", exp="exp", floor="floor", log="log", log1p="log1p", neg="negative", reciprocal="reciprocal",
    round="round", sign="sign", sin="sin", sinh="sinh", sqrt="sqrt", tan="tan", tanh="tanh", trunc="trunc", atan="arctan").items()]
POINTWISE += [("acos", np.arccos, UNIT), ("asin", np.arcsin, UNIT), ("frac", lambda a: a - np.trunc(a), WIDE),
              ("rsqrt", lambda a: 1 / np.sqrt(a), WIDE), ("sigmoid", lambda a: 1 / (1 + np.exp(-a)), WIDE)]


@pytest.mark.parametrize("name, expected, values", POINTWISE, ids=[p[0] for p in POINTWISE])
def test_pointwise(name, expected, values):
    with np.errstate(all="ignore"):
        expected = expected(values)
    a, function = torch.from_numpy(values.copy()), getattr(torch, name)
    out = torch.empty(0)
    assert function(a, out=out) is out
    for result in (function(a), getattr(a, name)(), out, getattr(a.clone(), name + "_")()):
        close(result, expected)
    written = a.clone()
    assert getattr(written, name + "_")() is written


def test_extreme_arguments():
    assert torch.round(torch.tensor([0.5, 1.5, 2.5, -0.5])).tolist() == [0, 2, 2, 0]
    assert torch.log(torch.tensor([0.0, -1.0]))[0] == -inf and torch.log(torch.tensor(-1.0)).isnan() and torch.acos(torch.tensor(2.0)).isnan()
    assert torch.log1p(torch.tensor(1e-20)).item() == pytest.approx(1e-20) and torch.sigmoid(torch.tensor(-200.0)) == 0
    assert torch.div(torch.tensor([1.0, 0.0, -1.0]), 0).tolist()[::2] == [inf, -inf] and torch.sqrt(torch.tensor(-1.0)).isnan()


BINARY = [
    (lambda a: torch.add(a, 2), A + 2), (lambda a: torch.add(a, a, alpha=3), 4 * A), (lambda a: torch.add(a, 3, a), 4 * A),
    (lambda a: torch.add(a, value=3, other=a), 4 * A), (lambda a: torch.mul(a, 2), 2 * A), (lambda a: torch.mul(a, a), A * A),
    (lambda a: torch.div(a, 4), A / 4), (lambda a: torch.pow(a, 2), A ** 2), (lambda a: torch.pow(2, a), 2 ** A),
    (lambda a: torch.pow(a.abs(), a), abs(A) ** A), (lambda a: torch.atan2(a, -a), np.arctan2(A, -A)),
    (lambda a: torch.fmod(a, 1.5), np.fmod(A, 1.5)), (lambda a: torch.fmod(a, torch.tensor([2, 2, 3])), np.fmod(A, [2, 2, 3])),
    (lambda a: torch.remainder(a, 1.5), np.remainder(A, 1.5)), (lambda a: torch.remainder(a, torch.tensor([-2.0, 2.0, 3.0])), np.remainder(A, [-2, 2, 3])),
    (lambda a: torch.lerp(a, a + 1, 1.5), A + 1.5), (lambda a: torch.lerp(a, a + 2, torch.tensor([0.0, 0.5, 2.0])), A + [0, 1, 4]),
    (lambda a: torch.clamp(a, -1, 1), A.clip(-1, 1)), (lambda a: torch.clamp(a, min=0), A.clip(0)), (lambda a: torch.clamp(a, max=0), A.clip(max=0)),
    (lambda a: torch.addcmul(a, a, a, value=0.5), A + 0.5 * A * A), (lambda a: torch.addcmul(a, 0.5, a, a), A + 0.5 * A * A),
    (lambda a: torch.addcdiv(a, a, a + 9, value=2), A + 2 * A / (A + 9)), (lambda a: torch.addcdiv(a, 2, a, a + 9), A + 2 * A / (A + 9)),
]


@pytest.mark.parametrize("case", range(len(BINARY)))
def test_pointwise_of_two(case):
    call, expected = BINARY[case]
    close(call(x()), expected)


def test_unequal_shapes_do_not_mix_by_count():
    for function in (torch.add, torch.mul, torch.min):
        with pytest.raises(RuntimeError):
            function(torch.ones(4), torch.ones(2, 3))
    with pytest.raises(RuntimeError):
        torch.add(torch.ones(4), torch.ones(2, 2))


def test_integers_with_factors():
    i = torch.tensor([7, -7])
    assert torch.addcmul(i, i, i, value=2).tolist() == [105, 91] and torch.addcmul(i, 2, i, i).tolist() == [105, 91]
    assert torch.addcdiv(i, 3, torch.tensor([7, -7]), torch.tensor([2, 2])).tolist() == [16, -16]       # truncates: 7 + 3·3, -7 - 3·3
    with pytest.raises(RuntimeError, match="no longer supported"):
        torch.addcdiv(i, i, i)


def test_in_place():
    a = x()
    for call in (lambda: a.add_(1), lambda: a.mul_(2), lambda: a.abs_(), lambda: a.clamp_(min=1), lambda: a.sub_(0.5), lambda: a.div_(2), lambda: a.pow_(2)):
        assert call() is a
    close(a, ((np.clip(np.abs((A + 1) * 2), 1, None) - 0.5) / 2) ** 2)
    assert a.zero_() is a and not a.any() and a.add_(2, torch.ones(2, 3))[0, 0] == 2 and a.addcmul_(2, a, a)[0, 0] == 10


DIFFERENTIABLE = ("sin cos exp tanh sigmoid atan sinh cosh neg abs log1p sqrt rsqrt reciprocal log".split())


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_the_numerical_ones(name):
    a = torch.tensor([0.3, 1.2, 2.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(torch, name), (a,))


# --- reductions (S285 - S302) --------------------------------------------------------------------------------------
REDUCTIONS = [
    (lambda a, **k: torch.cumprod(a, 1, **k), np.cumprod(A, 1)), (lambda a, **k: torch.cumsum(a, 0, **k), np.cumsum(A, 0)),
    (lambda a, **k: torch.mean(a, 1, **k), A.mean(1)), (lambda a, **k: torch.mean(a, 0, True, **k), A.mean(0, keepdims=True)),
    (lambda a, **k: torch.norm(a, 3, 1, **k), (np.abs(A) ** 3).sum(1) ** (1 / 3)), (lambda a, **k: torch.prod(a, 1, **k), A.prod(1)),
    (lambda a, **k: torch.std(a, 1, **k), A.std(1, ddof=1)), (lambda a, **k: torch.sum(a, 1, keepdim=True, **k), A.sum(1, keepdims=True)),
    (lambda a, **k: torch.sum(a, 0, **k), A.sum(0)), (lambda a, **k: torch.var(a, 1, keepdim=True, **k), A.var(1, ddof=1, keepdims=True)),
]


@pytest.mark.parametrize("case", range(len(REDUCTIONS)))
def test_reductions(case):
    call, expected = REDUCTIONS[case]
    out = torch.empty(0)
    assert call(x(), out=out) is out
    close(out, expected, 1e-5)
    close(call(x()), expected, 1e-5)


def test_reductions_of_all():
    a = x()
    for result, expected in ((torch.mean(a), A.mean()), (torch.norm(a), np.linalg.norm(A)), (torch.norm(a, 1), np.abs(A).sum()), (torch.prod(a), A.prod()),
                             (torch.std(a), A.std(ddof=1)), (torch.std(a, unbiased=False), A.std()), (torch.sum(a), A.sum()), (torch.var(a), A.var(ddof=1)),
                             (torch.dist(a, a + 1, 2), 6 ** 0.5), (torch.dist(a, a + 2, 1), 12)):
        assert result.ndim == 0
        close(result, expected, 1e-5)
    assert torch.sum(torch.tensor([True, True])).item() == 2 and torch.sum(torch.ByteTensor([200, 200])).item() == 400
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        torch.mean(torch.arange(3))


def test_median_and_mode():
    a = torch.tensor([[4.0, 1.0, 3.0, 2.0], [1.0, 1.0, 5.0, 5.0]])
    assert torch.median(a) == 2 and torch.median(a, -1).values.tolist() == [2, 1] and torch.median(a, -1).indices[0] == 3
    assert torch.mode(a).values.tolist() == [1, 1] and a[1, torch.mode(a).indices[1]] == 1
    for function in (torch.median, torch.mode):
        v, i = torch.empty(0), torch.empty(0, dtype=torch.int64)
        function(a, 1, values=v, indices=i)
        w, j = torch.empty(0), torch.empty(0, dtype=torch.int64)
        function(a, 1, out=(w, j))
        assert torch.equal(v, w) and torch.equal(i, j) and v.shape == (2,)


# --- comparison (S303 - S319) --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["eq", "ge", "gt", "le", "lt", "ne"])
def test_comparisons(name):
    a, b = torch.tensor([1, 2, 3]), torch.tensor([3, 2, 1])
    numpys = getattr(np, {"eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less", "ne": "not_equal"}[name])
    function = getattr(torch, name)
    assert function(a, b).tolist() == numpys([1, 2, 3], [3, 2, 1]).tolist() and function(a, 2).tolist() == numpys([1, 2, 3], 2).tolist()
    assert function(a, b).dtype is torch.bool
    out = torch.ByteTensor(3)
    assert function(a, b, out=out) is out and out.tolist() == numpys([1, 2, 3], [3, 2, 1]).astype(int).tolist()


def test_equal():
    assert torch.equal(x(), x()) is True and torch.equal(x(), x() + 1) is False and torch.equal(torch.ones(2), torch.ones(2, 1)) is False


def test_extremes():
    a = torch.tensor([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]])
    assert torch.max(a) == 7 and torch.min(a) == 0
    assert torch.max(a, 1).values.tolist() == [5, 7] and torch.max(a, 1).indices[0] == 1 and torch.min(a, 0)[1].tolist() == [0, 1, 0]
    assert torch.max(a, 1, keepdim=True)[0].shape == (2, 1)
    assert torch.max(a, torch.tensor([[6.0, 6.0, 1.0]])).tolist() == [[6, 6, 2], [7, 6, 7]] and torch.min(a, a.flip(1)).tolist() == [[1, 5, 1], [7, 0, 7]]
    for function, names in ((torch.max, ("max", "max_indices")), (torch.min, ("min", "min_indices"))):
        v, i = torch.empty(0), torch.empty(0, dtype=torch.int64)
        function(a, 1, **dict(zip(names, (v, i))))
        assert torch.equal(v, function(a, 1)[0]) and torch.equal(i, function(a, 1)[1])
        v, i = torch.empty(0), torch.empty(0, dtype=torch.int64)
        function(a, 0, out=(v, i))
        assert torch.equal(v, function(a, 0)[0])


def test_order():
    a = torch.tensor([[3.0, 1.0, 2.0], [5.0, 9.0, 7.0]])
    values, indices = torch.kthvalue(a, 2)
    assert values.tolist() == [2, 7] and indices.tolist() == [2, 2]
    assert torch.sort(a)[0].tolist() == [[1, 2, 3], [5, 7, 9]] and torch.sort(a, descending=True)[1].tolist() == [[0, 2, 1], [1, 2, 0]]
    assert torch.sort(a, 0, True).values.tolist() == [[5, 9, 7], [3, 1, 2]]
    assert torch.topk(a, 2)[0].tolist() == [[3, 2], [9, 7]] and torch.topk(a, 1, largest=False)[1].tolist() == [[1], [0]]
    assert torch.topk(a, 1, 0).values.tolist() == [[5, 9, 7]]
    with pytest.raises(RuntimeError):
        torch.topk(a, 4)


# --- others (S320 - S328) ------------------------------------------------------------------------------------------
def test_cross():
    a, b = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    assert torch.cross(a, b, dim=-1).tolist() == [[0, 0, 1]] and torch.cross(a.t(), b.t(), dim=0).tolist() == [[0], [0], [1]]
    assert torch.cross(a, b).tolist() == [[0, 0, 1]]
    with pytest.raises(RuntimeError):
        torch.cross(torch.ones(2, 2), torch.ones(2, 2), dim=1)


def test_diagonals_and_triangles():
    v, m = torch.tensor([1.0, 2.0]), torch.arange(1.0, 7).view(2, 3)
    assert torch.diag(v).tolist() == [[1, 0], [0, 2]] and torch.diag(v, 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert torch.diag(m).tolist() == [1, 5] and torch.diag(m, 1).tolist() == [2, 6] and torch.diag(m, -1).tolist() == [4]
    assert torch.tril(m).tolist() == [[1, 0, 0], [4, 5, 0]] and torch.tril(m, 1).tolist() == torch.tril(m, k=1).tolist() == [[1, 2, 0], [4, 5, 6]]
    assert torch.triu(m).tolist() == [[1, 2, 3], [0, 5, 6]] and torch.triu(m, k=1).tolist() == [[0, 2, 3], [0, 0, 6]]
    assert torch.tril(m, -1).tolist() == [[0, 0, 0], [4, 0, 0]] and torch.trace(m) == 6
    with pytest.raises(RuntimeError):
        torch.trace(v)


def test_histc_and_renorm():
    a = torch.tensor([0.0, 0.5, 1.0, 2.0, 4.0, 9.0])
    assert torch.histc(a, 4, 0, 4).tolist() == [2, 1, 1, 1] and torch.histc(a, 3).tolist() == [4, 1, 1]
    m = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    close(torch.renorm(m, 2, 0, 1.0), [[0.6, 0.8], [0.3, 0.4]], 1e-5)


# --- products (S329 - S346) ----------------------------------------------------------------------------------------
P, Q, V = A, np.arange(6, dtype=np.float32).reshape(3, 2) - 2, np.array([1.0, -1.0, 2.0], np.float32)
BP, BQ, M = np.stack([P, P + 1]), np.stack([Q, Q - 1]), np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
p, q, v, bp, bq, m, w = (torch.from_numpy(a.copy()) for a in (P, Q, V, BP, BQ, M, V[:2]))
PRODUCTS = [
    (lambda **k: torch.mm(p, q, **k), P @ Q), (lambda **k: torch.mv(p, v, **k), P @ V), (lambda **k: torch.bmm(bp, bq, **k), BP @ BQ),
    (lambda **k: torch.ger(w, v, **k), np.outer(V[:2], V)), (lambda **k: torch.addmm(m, p, q, beta=2, alpha=3, **k), 2 * M + 3 * P @ Q),
    (lambda **k: torch.addmm(2, m, 3, p, q, **k), 2 * M + 3 * P @ Q), (lambda **k: torch.addmm(2, m, p, q, **k), 2 * M + P @ Q),
    (lambda **k: torch.addmv(w, p, v, beta=2, alpha=3, **k), 2 * V[:2] + 3 * P @ V), (lambda **k: torch.addmv(2, w, 3, p, v, **k), 2 * V[:2] + 3 * P @ V),
    (lambda **k: torch.addr(p, w, v, beta=2, alpha=3, **k), 2 * P + 3 * np.outer(V[:2], V)),
    (lambda **k: torch.addr(2, p, 3, w, v, **k), 2 * P + 3 * np.outer(V[:2], V)),
    (lambda **k: torch.addbmm(m, bp, bq, beta=2, alpha=3, **k), 2 * M + 3 * (BP @ BQ).sum(0)),
    (lambda **k: torch.addbmm(2, m, 3, bp, bq, **k), 2 * M + 3 * (BP @ BQ).sum(0)),
    (lambda **k: torch.baddbmm(m, bp, bq, beta=2, alpha=3, **k), 2 * M + 3 * (BP @ BQ)),
    (lambda **k: torch.baddbmm(2, m.expand(2, 2, 2), 3, bp, bq, **k), 2 * M + 3 * (BP @ BQ)),
]


@pytest.mark.parametrize("case", range(len(PRODUCTS)))
def test_products(case):
    call, expected = PRODUCTS[case]
    close(call(), expected, 1e-5)
    out = torch.empty(0)
    assert call(out=out) is out
    close(out, expected, 1e-5)


def test_methods_of_scaled_products():
    close(m.addmm(2, 3, p, q), 2 * M + 3 * P @ Q, 1e-5)
    close(m.clone().addmm_(2, 3, p, q), 2 * M + 3 * P @ Q, 1e-5)


def test_products_refuse():
    for call in (lambda: torch.mm(p, p), lambda: torch.mm(p, v), lambda: torch.dot(p, p), lambda: torch.dot(v, w), lambda: torch.bmm(bp, bq[:1]),
                 lambda: torch.mv(p, w)):
        with pytest.raises(RuntimeError):
            call()
    assert torch.dot(v, v) == 6 and torch.dot(v, v).ndim == 0
