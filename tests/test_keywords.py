"""Arguments by PyTorch's names for them, where those differ from one function to another."""
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
