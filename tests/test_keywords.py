"""Arguments by PyTorch's names for them, where those differ from one function to another."""
import numpy as np
import pytest

import pyx_tensor as torch

x, m = torch.tensor([1.0, 2.0, 3.0]), torch.arange(12.0).view(3, 4)


@pytest.mark.parametrize("named, plain", [
    (lambda: torch.pow(input=x, exponent=2), lambda: x ** 2), (lambda: torch.pow(2, exponent=x), lambda: 2 ** x), (lambda: x.pow(exponent=x), lambda: x ** x),
    (lambda: x.clone().pow_(exponent=2), lambda: x ** 2), (lambda: torch.pow(x, exponent=2, out=torch.empty(0)), lambda: x ** 2),
    (lambda: torch.arange(end=4), lambda: torch.arange(4)), (lambda: torch.arange(end=4, start=1), lambda: torch.arange(1, 4)),
    (lambda: torch.reshape(input=m, shape=(4, 3)), lambda: m.reshape(4, 3)), (lambda: m.reshape(shape=(4, 3)), lambda: m.reshape(4, 3)),
    (lambda: torch.swapaxes(m, axis0=0, axis1=1), lambda: m.t()), (lambda: m.swapdims(dim0=1, dim1=0), lambda: m.t()),
    (lambda: torch.split(tensor=m, split_size_or_sections=2, dim=1)[1], lambda: m[:, 2:]), (lambda: m.split(split_size=[1, 3], dim=1)[1], lambda: m[:, 1:]),
    (lambda: torch.tensor_split(m, indices=(1,), dim=1)[1], lambda: m[:, 1:]), (lambda: torch.tensor_split(m, sections=2, dim=1)[0], lambda: m[:, :2]),
    (lambda: torch.hsplit(m, sections=2)[1], lambda: m[:, 2:]), (lambda: torch.vsplit(m, indices=(2,))[1], lambda: m[2:]),
    (lambda: torch.orgqr(m.t(), input2=x), lambda: torch.orgqr(m.t(), x)),
    (lambda: torch.linalg.vector_norm(input=x), lambda: torch.linalg.vector_norm(x=x)), (lambda: torch.tensor(torch.is_conj(input=x)), lambda: torch.tensor(False)),
])
def test_names(named, plain):
    assert torch.equal(named(), plain())


@pytest.mark.parametrize("call, argument", [
    (lambda: torch.pow(x, other=2), "other"), (lambda: torch.mul(x, exponent=2), "exponent"), (lambda: torch.arange(), "end"),
    (lambda: torch.chunk(m, 2, split_sizes=3), "split_sizes"), (lambda: torch.add(x, x, shape=3), "shape")])
def test_other_names_are_refused(call, argument):
    with pytest.raises(TypeError, match=argument):
        call()


@pytest.mark.parametrize("call, argument, kind", [
    (lambda t: torch.tril(m, t), "diagonal", "int"), (lambda t: m.triu_(t), "diagonal", "int"), (lambda t: torch.diag(x, t), "diagonal", "int"),
    (lambda t: torch.topk(x, t), "k", "int"), (lambda t: torch.kthvalue(x, t), "k", "int"), (lambda t: torch.histc(x, t), "bins", "int"),
    (lambda t: torch.chunk(x, t), "chunks", "int"), (lambda t: torch.round(x, decimals=t), "decimals", "int"),
    (lambda t: torch.add(x, x, alpha=t), "alpha", "Number"), (lambda t: x.clone().sub_(x, alpha=t), "alpha", "Number"), (lambda t: torch.add(x, t, x), "alpha", "Number"),
    (lambda t: torch.addcmul(x, x, x, value=t), "value", "Number"), (lambda t: torch.addcdiv(x, t, x, x), "value", "Number"),
    (lambda t: torch.addmm(m, m, m.t(), beta=t), "beta", "Number"), (lambda t: torch.dist(x, x, t), "p", "Number"), (lambda t: torch.renorm(m, 2, 0, t), "maxnorm", "Number"),
])
def test_what_is_no_number_is_refused_by_name(call, argument, kind):
    for wrong in (x, "a", [1], *[1.5, True] * (kind == "int")):
        with pytest.raises(TypeError, match=f"argument '{argument}' must be {kind}, not {type(wrong).__name__}"):
            call(wrong)


def test_a_tensor_of_one_element_may_stand_for_a_number():
    assert torch.equal(torch.tril(m, torch.tensor(1)), torch.tril(m, 1)) and torch.topk(x, torch.tensor(2)).values.tolist() == [3, 2]
    assert torch.equal(torch.add(x, x, alpha=torch.tensor(2.0)), 3 * x) and torch.equal(torch.addcmul(x, x, x, value=torch.tensor(2)), x + 2 * x * x)
    for call in (lambda one: torch.add(x, x, alpha=one), lambda one: torch.dist(x, x, one)):
        with pytest.raises(TypeError, match="must be Number, not Tensor"):          # its gradient would be lost
            call(torch.tensor(2.0, requires_grad=True))


@pytest.mark.parametrize("alpha, message", [(1.5, "must not be a floating point number"), (torch.tensor(1.5), "must not be a floating point number"),
                                            (2j, "must not be a complex number"), (True, "Boolean alpha only")])
def test_a_factor_makes_no_integers_floats(alpha, message):
    i = torch.arange(3)
    for call in (lambda: torch.add(i, i, alpha=alpha), lambda: torch.sub(i, 2, alpha=alpha), lambda: i.clone().add_(i, alpha=alpha), lambda: i.sub(i, alpha=alpha)):
        with pytest.raises(RuntimeError, match=message):
            call()
    assert torch.add(i, 2.5, alpha=1.5).tolist() == [3.75, 4.75, 5.75]


@pytest.mark.parametrize("call, argument", [
    (lambda v: torch.sum(m, 0, v), "keepdim"), (lambda v: m.mean(0, v), "keepdim"), (lambda v: torch.max(m, 0, v), "keepdim"), (lambda v: torch.sort(m, 0, v), "descending"),
    (lambda v: m.var(0, v), "unbiased"), (lambda v: torch.std(m, unbiased=v), "unbiased"), (lambda v: torch.topk(x, 1, largest=v), "largest"), (lambda v: torch.svd(m, some=v), "some"), (lambda v: torch.isclose(x, x, equal_nan=v), "equal_nan")])
def test_what_is_neither_true_nor_false_is_refused_by_name(call, argument):
    for wrong in (1, "a", torch.tensor(True)):              # m.sum(0, 1) isn't a sum over two dims
        with pytest.raises(TypeError, match=f"argument '{argument}' must be bool, not {type(wrong).__name__}"):
            call(wrong)
    call(np.True_)


ONE, TWO, HALF = np.int64(1), np.int64(2), np.float32(0.5)


@pytest.mark.parametrize("numpys, plain", [
    (lambda: torch.squeeze(m[:1], np.int64(0)), lambda: m[0]), (lambda: torch.max(m, ONE)[0], lambda: m.max(1)[0]), (lambda: m.min(dim=ONE)[1], lambda: m.min(1)[1]),
    (lambda: m.movedim(ONE, np.int64(0)), lambda: m.t()), (lambda: m.split(TWO, ONE)[1], lambda: m[:, 2:]), (lambda: m.split(np.array([1, 3]), 1)[1], lambda: m[:, 1:]),
    (lambda: m.roll(ONE, ONE), lambda: m.roll(1, 1)), (lambda: m.roll(torch.tensor(1), (np.int64(0),)), lambda: m.roll(1, 0)), (lambda: m.narrow(1, ONE, TWO), lambda: m[:, 1:3]),
    (lambda: m.hsplit(TWO)[0], lambda: m[:, :2]), (lambda: m.rot90(ONE), lambda: m.rot90(1)), (lambda: torch.unique(m, dim=ONE), lambda: m), (lambda: m.quantile(HALF), lambda: m.median() + 0.5),
    (lambda: torch.cross(m[:, :3], m[:, 1:], dim=np.int64(0)), lambda: torch.cross(m[:, :3], m[:, 1:], dim=0)), (lambda: torch.polygamma(ONE, x), lambda: torch.polygamma(1, x)),
    (lambda: m.repeat_interleave(TWO, ONE), lambda: m.repeat_interleave(2, 1)), (lambda: torch.linspace(0, 1, TWO), lambda: torch.tensor([0.0, 1.0])),
    (lambda: x.masked_fill(x > 1, HALF), lambda: x.masked_fill(x > 1, 0.5)), (lambda: x.index_fill(0, torch.tensor([0]), HALF), lambda: torch.tensor([0.5, 2.0, 3.0])),
    (lambda: x.scatter(0, torch.tensor([0]), HALF), lambda: torch.tensor([0.5, 2.0, 3.0])), (lambda: torch.nn.functional.threshold(x, TWO, HALF), lambda: torch.tensor([0.5, 0.5, 3.0])),
    (lambda: torch.linalg.pinv(m, rtol=HALF), lambda: torch.linalg.pinv(m, rtol=0.5)), (lambda: torch.full_like(x, torch.tensor(2.0)), lambda: torch.full_like(x, 2)),
    (lambda: x.new_full((2,), torch.tensor(2.0)), lambda: torch.tensor([2.0, 2.0])), (lambda: torch.addmm(HALF, m, TWO, m, torch.eye(4)), lambda: 2.5 * m),
    (lambda: torch.histogram(x, TWO).hist, lambda: torch.tensor([1.0, 2.0])), (lambda: torch.nan_to_num(x, HALF), lambda: x)])
def test_numpys_numbers_are_numbers(numpys, plain):
    torch.testing.assert_close(numpys(), plain(), check_stride=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_alpha_with_nothing_recorded(dtype):
    """Added in one pass, with all that a write in place has to see to."""
    x, y = torch.arange(12.0).reshape(3, 4).to(dtype), torch.ones(3, 4, dtype=dtype)
    assert torch.equal(torch.add(x, y, alpha=0.5), x + 0.5) and torch.equal(x.sub(y[0], alpha=2), x - 2)
    z, overlapping = x.clone(), torch.arange(6.0).to(dtype)
    version = z._version
    assert z.add_(y, alpha=2) is z and torch.equal(z, x + 2) and z._version == version + 1
    assert torch.equal(z.t().sub_(y.t(), alpha=2), x.t()) and z._version == version + 2
    overlapping[1:].add_(overlapping[:-1], alpha=2)
    assert overlapping.tolist() == [0, 1, 4, 7, 10, 13]
    with pytest.raises(RuntimeError):
        z.add_(torch.ones(5, dtype=dtype), alpha=2)
    with pytest.raises(RuntimeError):
        z[0].add_(y, alpha=2)


def test_alpha_is_recorded_where_a_gradient_is_asked_for():
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    result = x.add(y, alpha=3)
    assert type(result.grad_fn).__name__ == "AddBackward0"
    result.sub(torch.ones(3), alpha=2).sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and y.grad.tolist() == [3, 3, 3]
    with torch.no_grad():
        x.add_(y, alpha=-1)
    assert x.tolist() == [0, 0, 0]
    kept = torch.ones(3)
    product = y * kept
    kept.add_(torch.ones(3), alpha=2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
