"""Variables and the graph as a newcomer meets them: leaves, gradients, what is recorded and what in-place operations may do."""
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import Variable


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


# --- Variable ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S067")
def test_data_is_the_memory_without_history():
    x = leaf(1.0, 2.0)
    y = x * 2
    for tensor in (x, y):
        assert type(tensor.data) is torch.Tensor and tensor.data_ptr() == tensor.data.data_ptr() and torch.equal(tensor.data, tensor)
        assert not tensor.data.requires_grad and tensor.data.grad_fn is None
    same, x.data = x, torch.tensor([5.0, 6.0], dtype=torch.float64)
    assert x is same and x.tolist() == [5, 6] and x.requires_grad and x.is_leaf and y.tolist() == [2, 4]
    (x * x).sum().backward()
    assert x.grad.tolist() == [10, 12]


@pytest.mark.rows("S066")
def test_the_lower_case_constructor():
    data = torch.tensor([1.0, 2.0])
    x = torch.autograd.variable(data, requires_grad=True)
    assert type(x) is torch.Tensor and x.is_leaf and x.requires_grad and x.tolist() == [1, 2] and not data.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert not torch.autograd.variable(data).requires_grad and torch.autograd.variable([1, 2]).dtype is torch.int64
    from pyx_tensor.autograd.variable import Variable as same
    assert same is Variable


@pytest.mark.rows("S068", "S071")
def test_a_gradient_is_made_once_by_the_first_backward():
    x = torch.ones(2, 3, requires_grad=True)
    inner = x * 2
    assert x.grad is None and x.is_leaf and x.grad_fn is None and not inner.is_leaf and inner.grad_fn is not None
    inner.sum().backward()
    gradient = x.grad
    assert type(gradient) is torch.Tensor and gradient.shape == (2, 3) and gradient.dtype is torch.float32 and gradient.tolist() == [[2] * 3] * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert inner.grad is None
    (x * 3).sum().backward()
    assert x.grad is gradient and gradient.tolist() == [[5] * 3] * 2
    assert torch.ones(2).is_leaf and torch.ones(2).mul(2).is_leaf


@pytest.mark.rows("S070")
def test_the_graph_leads_back_to_the_leaves():
    x, y, constant = leaf(1.0), leaf(2.0), torch.tensor([3.0], dtype=torch.float64)
    product = x * y
    assert product.grad_fn is product.grad_fn and product.grad_fn is not (x * y).grad_fn

    def leaves(node):
        """The leaves below a node, from left to right."""
        if node is None:
            return []
        if hasattr(node, "variable"):
            return [node.variable]
        return [found for below, _ in node.next_functions for found in leaves(below)]
    found = leaves((product.exp() + constant * x).sum().grad_fn)
    assert [any(tensor is one for one in (x, y)) for tensor in found] == [True] * 3 and [id(t) for t in found] == [id(x), id(y), id(x)]


# --- backward ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S072", "S073", "S074")
def test_backward_of_several_numbers_takes_their_gradient():
    x = leaf(1.0, 2.0, 3.0)
    y = x * x
    y.backward(torch.tensor([1.0, 0.1, -10.0], dtype=torch.float64))
    assert x.grad.tolist() == pytest.approx([2.0, 0.4, -60.0])
    y = x * x
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
    for wrong in (torch.ones(2), torch.ones(1), torch.ones(3, 1), torch.tensor(1.0)):
        with pytest.raises(RuntimeError, match="[Mm]ismatch in shape"):
            y.backward(wrong.double())
    assert x.grad.tolist() == pytest.approx([2.0, 0.4, -60.0])


@pytest.mark.rows("S075")
def test_all_leaves_get_their_gradients_through_shared_parts():
    w, b, x = leaf(2.0, -1.0), leaf(0.5), torch.tensor([3.0, 4.0], dtype=torch.float64)
    shared = (w * x).sum() + b             # 2.5
    loss = (shared * shared + 3 * shared).sum()
    loss.backward()
    assert loss.item() == 13.75 and w.grad.tolist() == [24.0, 32.0] and b.grad.tolist() == [8.0] and x.grad is None


@pytest.mark.rows("S076")
def test_several_outputs_at_once():
    seeds = [torch.tensor([1.0, 10.0], dtype=torch.float64), torch.tensor([100.0, 1000.0], dtype=torch.float64)]

    def gradient(**seed):
        x = leaf(1.0, 2.0)
        torch.autograd.backward([x * x, 3 * x], **seed)
        return x.grad.tolist()
    assert gradient(grad_tensors=seeds) == [302.0, 3040.0]
    with pytest.warns(FutureWarning, match="grad_variables.* deprecated"):
        assert gradient(grad_variables=seeds) == [302.0, 3040.0]
    x = leaf(1.0)
    torch.autograd.backward(x * x, torch.tensor([5.0], dtype=torch.float64))
    assert x.grad.tolist() == [10.0]
    with pytest.raises(RuntimeError, match="grad_variables"), pytest.warns(FutureWarning):
        torch.autograd.backward([x * x], grad_tensors=seeds[:1], grad_variables=seeds[:1])


@pytest.mark.rows("S093")
def test_every_pass_has_a_graph_of_its_own():
    def power(x, limit):
        """x to the first power above the limit, and the power."""
        result, exponent = x, 1
        while result.item() < limit:
            result, exponent = result * x, exponent + 1
        return (result if exponent % 2 else -result), exponent
    for limit, exponent in ((1, 1), (5, 3), (30, 5), (100, 7), (200, 8)):
        x = torch.tensor(2.0, requires_grad=True)
        result, counted = power(x, limit)
        result.backward()
        assert counted == exponent and x.grad == (1 if exponent % 2 else -1) * exponent * 2 ** (exponent - 1)


# --- requires_grad -------------------------------------------------------------------------------------------------
@pytest.mark.rows("S077", "S078", "S079")
def test_one_input_that_requires_grad():
    x, y, w = torch.ones(1), torch.ones(1), torch.ones(1, requires_grad=True)
    z = x + y
    assert x.requires_grad is False and w.requires_grad is True and z.requires_grad is False
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        z.backward()
    total = w + z
    assert total.requires_grad is True
    total.backward()
    assert w.grad.tolist() == [1] and x.grad is y.grad is z.grad is None


@pytest.mark.rows("S080")
def test_the_flag_is_set_in_place():
    x = torch.ones(2)
    assert x.requires_grad_() is x and x.requires_grad and x.requires_grad_(False) is x and not x.requires_grad
    y = leaf(1.0) * 2
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    for dtype in (torch.int64, torch.bool, torch.uint8):
        with pytest.raises(RuntimeError, match="nly Tensors of floating point .*can require gradients"):
            torch.ones(2, dtype=dtype).requires_grad_()
        with pytest.raises(RuntimeError, match="floating point and complex"):
            torch.ones(2, dtype=dtype, requires_grad=True)


@pytest.mark.rows("S081")
def test_a_frozen_part_of_a_model():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    for p in model[0].parameters():
        p.requires_grad = False
    before = [p.detach().clone() for p in model.parameters()]
    x = torch.ones(5, 3)
    hidden = model[:2](x)
    assert not hidden.requires_grad and hidden.grad_fn is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        hidden.sum().backward()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)
    model(x).sum().backward()
    assert all(p.grad is None for p in model[0].parameters()) and model[2].bias.grad.tolist() == [5, 5]
    assert torch.allclose(model[2].weight.grad, hidden.sum(0).expand(2, 4))
    optimizer.step()
    assert [torch.equal(p, old) for p, old in zip(model.parameters(), before)] == [True, True, False, False]
    assert torch.allclose(model[2].bias, before[3] - 2.5)


# --- modes ---------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S083", "S084")
def test_results_without_history():
    x = leaf(1.0, 2.0)

    @torch.no_grad()
    def double(t):
        return t * 2
    with torch.no_grad():
        inside = x * 2
    for result in (inside, double(x)):
        assert result.tolist() == [2, 4] and not result.requires_grad and result.grad_fn is None and result.is_leaf
    for flag in (True, False):
        with torch.set_grad_enabled(flag):
            result = x * 2
            with torch.set_grad_enabled(not flag):
                assert (x * 2).requires_grad is not flag
            assert torch.is_grad_enabled() is flag
        assert result.requires_grad is flag and torch.is_grad_enabled()
    assert (x * 2).grad_fn is not None


# --- versions and in-place operations ------------------------------------------------------------------------------
CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation"


@pytest.mark.rows("S086")
def test_changes_through_data_are_not_seen():
    a = leaf(1.0, 2.0, 3.0)
    out = a.sigmoid()
    c = out.data
    c.zero_()
    assert out.tolist() == [0, 0, 0] and not c.requires_grad
    out.sum().backward()
    assert a.grad.tolist() == [0, 0, 0]


@pytest.mark.rows("S087")
def test_changes_through_detach_are_reported():
    a = leaf(1.0, 2.0, 3.0)
    out = a.sigmoid()
    c = out.detach()
    assert not c.requires_grad and c.grad_fn is None and c.data_ptr() == out.data_ptr()
    c.zero_()
    assert out.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match=CHANGED):
        out.sum().backward()
    assert a.grad is None


@pytest.mark.rows("S088")
def test_versions_count_in_place_operations():
    x = torch.zeros(2, 3)
    versions = [x._version]
    for write in (lambda: x.add_(1), lambda: x.mul_(2), lambda: x.__setitem__(0, 5.0), lambda: torch.exp(torch.zeros(2, 3), out=x)):
        write()
        versions.append(x._version)
    assert versions == [0, 1, 2, 3, 4] and (x + 1)._version == 0
    assert x.view(6)._version == x.t()._version == x.detach()._version == 4 and x.data._version == 0
    x.detach().zero_()
    x[0].add_(1)
    assert x._version == 6
    x.data.add_(1)
    assert x._version == 6 and x.tolist() == [[2] * 3, [1] * 3]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g


@pytest.mark.rows("S089")
def test_functions_check_the_versions_of_what_they_saved():
    x = leaf(1.0, 3.0)
    saved = x * 1
    y = Square.apply(saved)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2.0, 6.0]
    saved.add_(1)
    with pytest.raises(RuntimeError, match=CHANGED):
        y.sum().backward()
    assert x.grad.tolist() == [2.0, 6.0]


@pytest.mark.rows("S090")
@pytest.mark.parametrize("function", [torch.exp, torch.sqrt, lambda w: w * leaf(3.0, 4.0), lambda w: w @ leaf(3.0, 4.0), torch.log])
def test_overwriting_what_a_gradient_needs(function):
    w = leaf(1.0, 2.0) * 1
    result = function(w)
    (result if function in (torch.exp, torch.sqrt) else w).add_(1)        # the saved output, the saved input
    with pytest.raises(RuntimeError, match=CHANGED):
        result.sum().backward()


@pytest.mark.rows("S090")
def test_overwriting_what_no_gradient_needs():
    x = leaf(1.0, 2.0)
    w = x + 0
    y = w * 5               # keeps the number
    w.mul_(2)
    z = w * w
    (y + z).sum().backward()
    assert x.grad.tolist() == [5 + 8 * 1, 5 + 8 * 2]


@pytest.mark.rows("S091")
def test_leaves_are_written_to_through_data_only():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x[0:1].add_(1), lambda: x.__setitem__(0, 9.0)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    assert x.tolist() == [1, 2]
    x.data.add_(1)
    with torch.no_grad():
        x[1] = 7
    assert x.tolist() == [2, 7] and x.is_leaf
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 14]


@pytest.mark.rows("S092")
def test_in_place_on_shared_memory():
    expanded = torch.ones(1, dtype=torch.float64).expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        expanded.add_(1)
    assert expanded.tolist() == [1, 1, 1]
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    for several in (y.unbind(), y.split(1), y.chunk(3)):
        with pytest.raises(RuntimeError, match="view .*multiple views"):
            several[0].add_(1)
    y[1:].mul_(10)          # one view: the base's history follows
    assert y.tolist() == [1, 20, 30]
    (y * y).sum().backward()
    assert x.grad.tolist() == [2, 400, 600]
