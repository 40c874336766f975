"""einsum against NumPy's."""
import numpy as np
import pytest
import pyx_tensor as torch

CASES = [("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)),
         ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("i,j->ij", (3,), (4,)), ("ij->", (3, 4)), ("ij,kl,jk->il", (2, 3), (4, 5), (3, 4)),
         ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)), ("ij,ij->i", (3, 4), (3, 4)), ("i,i->", (3,), (3,)), ("ji", (2, 3)),
         ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)), ("iij->j", (3, 3, 2)), ("i...->...", (3, 2, 2)), ("ij,j->i", (0, 3), (3,)), ("ij,jk->ik", (2, 0), (0, 3))]


@pytest.mark.parametrize("equation, shapes", [(c[0], c[1:]) for c in CASES])
def test_values_and_gradients(equation, shapes):
    arrays = [np.random.default_rng(i).standard_normal(s) for i, s in enumerate(shapes)]
    expected = np.einsum(equation, *arrays)
    tensors = [torch.from_numpy(a).requires_grad_() for a in arrays]
    result = torch.einsum(equation, *tensors)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    if expected.size and all(a.size for a in arrays):
        assert torch.autograd.gradcheck(lambda *t: torch.einsum(equation, *t), tensors)


def test_lists_of_dims():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    assert torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == (a @ b).tolist()


@pytest.mark.parametrize("equation, shapes, message", [
    ("ij,jk->ik", [(2, 3), (4, 5)], "does not broadcast"), ("ij", [(2,)], "does not match the number of dimensions"),
    ("ij,jk", [(2, 3)], "operands"), ("i->j", [(2,)], "does not appear"), ("i1", [(2, 2)], "invalid subscript"), ("i->ii", [(2,)], "more than once")])
def test_wrong_input(equation, shapes, message):
    with pytest.raises(RuntimeError, match=message):
        torch.einsum(equation, *[torch.ones(s) for s in shapes])


def test_an_equation_serves_many_shapes():
    for n in (1, 2, 5):
        a, b = torch.arange(3.0 * n).reshape(3, n), torch.arange(2.0 * n).reshape(n, 2)
        assert torch.einsum("ij,jk->ki", a, b).tolist() == (a @ b).t().tolist()
        assert torch.einsum("ij,jk->k", a, torch.ones(1, 2)).tolist() == [a.sum().item()] * 2
    with pytest.raises(RuntimeError, match="does not broadcast"):
        torch.einsum("ij,jk->ki", torch.ones(3, 2), torch.ones(3, 2))
