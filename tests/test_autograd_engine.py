"""The engine: what backward computes, accumulates, refuses and releases."""
import threading
import warnings

import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import grad


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values if len(values) != 1 else values[0], dtype=dtype, requires_grad=True)


# --- gradients ----------------------------------------------------------------------------------------------------
def test_gradients_add_up_over_paths():
    x = leaf(2.0, 3.0)
    (x * x + 3 * x).sum().backward()
    assert x.grad.tolist() == [7.0, 9.0]


def test_gradients_accumulate_over_passes():
    x = leaf(1.0, 2.0)
    (2 * x).sum().backward()
    first = x.grad
    (3 * x).sum().backward()
    assert x.grad is first and first.tolist() == [5.0, 5.0]


def test_leaves_never_share_their_gradients():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (a + b).sum().backward()
    a.grad.mul_(10)
    assert b.grad.tolist() == [1.0, 1.0]
    seed = torch.ones(2, dtype=torch.float64)
    c = leaf(1.0, 2.0)
    (c + 0).backward(seed)
    c.grad.add_(5)
    assert seed.tolist() == [1.0, 1.0]


def test_leaves_do_not_share_with_what_a_hook_kept():
    x, kept = leaf(1.0, 2.0), []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert kept[0].tolist() == [2.0, 2.0] and x.grad.tolist() == [4.0, 4.0]


def test_a_gradient_that_nobody_else_sees_is_kept_without_a_copy():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            result = g * 2
            Double.address = result.data_ptr()
            return result
    x = leaf(1.0, 2.0)
    Double.apply(x).sum().backward()
    assert x.grad.data_ptr() == Double.address


def test_two_uses_of_one_leaf_do_not_add_into_what_another_leaf_keeps():
    a, b = leaf(1.0), leaf(1.0)
    s = a + b
    (s + s * 2 + a).backward()
    assert (a.grad.item(), b.grad.item()) == (4.0, 3.0)


def test_broadcast_gradients_are_summed_to_the_shape_of_their_tensor():
    row, column = torch.ones(3, requires_grad=True), torch.ones(2, 1, requires_grad=True)
    (row * column).sum().backward()
    assert row.grad.tolist() == [2, 2, 2] and column.grad.tolist() == [[3], [3]]


def test_gradient_has_the_dtype_of_its_tensor():
    x = torch.ones(2, requires_grad=True)
    (x.double() * 2).sum().backward()
    assert x.grad.dtype is torch.float32


def test_inputs_restrict_accumulation():
    a, b = leaf(1.0), leaf(2.0)
    (a * b).backward(inputs=[a])
    assert a.grad.item() == 2.0 and b.grad is None


def test_inputs_accumulate_as_leaves_do():
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    y = x * x
    y.backward(inputs=[x], retain_graph=True)
    first = x.grad
    y.backward(inputs=x)
    assert seen == [4.0, 8.0] and x.grad is first


def test_inputs_may_be_inner_tensors():
    x = leaf(2.0)
    y = x * 3
    z = y * y
    assert grad(z, [y, x], retain_graph=True)[0].item() == 12.0
    z.backward(inputs=[y])
    assert y.grad.item() == 12.0 and x.grad is None


def test_a_node_asked_for_is_not_run_for_its_own_inputs():
    ran = []
    x = leaf(2.0)
    y = x.exp()
    y.grad_fn.register_hook(lambda *_: ran.append(True))
    grad(y * y, y)
    assert ran == []


def test_empty_inputs_are_refused():
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (leaf(1.0) * 2).backward(inputs=[])


def test_unused_inputs():
    x, y = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        grad(x * 2, [x, y])
    assert grad(x * 2, [x, y], allow_unused=True)[1] is None
    assert grad(x * 2, [x, y], materialize_grads=True)[1].item() == 0.0
    with pytest.raises(ValueError):
        grad(x * 2, [x, y], allow_unused=False, materialize_grads=True)


def test_several_outputs_with_seeds():
    x = leaf(1.0, 2.0)
    seeds = [torch.tensor([1.0, 0.0], dtype=torch.float64), torch.tensor([0.0, 10.0], dtype=torch.float64)]
    assert grad([x * x, x * 3], x, seeds)[0].tolist() == [2.0, 30.0]


@pytest.mark.parametrize("call, message", [
    (lambda x: (x * 2).backward(), "implicitly created only for scalar"),
    (lambda x: x.detach().sum().backward(), "does not require grad"),
    (lambda x: (x * 2).backward(torch.ones(3, dtype=torch.float64)), "Mismatch in shape"),
    (lambda x: grad((x * 2).sum(), x.detach()), "does not require grad"),
])
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(leaf(1.0, 2.0))


@pytest.mark.rows("S094")
def test_second_backward_needs_the_graph():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_graphs_that_save_nothing_run_again():
    x = leaf(2.0)
    y = x + 1
    y.backward()
    y.backward()
    assert x.grad.item() == 2.0


def test_create_graph_gives_higher_derivatives():
    x = leaf(2.0)
    y = x ** 4
    for expected in (32.0, 48.0, 48.0, 24.0):
        y, = grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_backward_with_create_graph_records_the_gradient():
    x = leaf(3.0)
    (x ** 3).backward(create_graph=True)
    assert x.grad.requires_grad
    assert grad(x.grad, x)[0].item() == pytest.approx(18.0)


# --- saved tensors and versions -----------------------------------------------------------------------------------
@pytest.mark.rows("S090")
def test_a_modified_saved_tensor_is_noticed_and_named():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.DoubleTensor \[2\]\], which is output 0 of Exp, is at version 1; expected version 0"):
        y.sum().backward()


def test_what_is_not_saved_may_be_modified():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y + 1
    y.mul_(5)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_detach_shares_the_version_and_data_does_not():
    x = leaf(1.0, 2.0)
    y = x * x
    before = x._version
    x.data.mul_(2)
    assert x._version == before
    x.detach().mul_(2)
    assert x._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_views_share_the_version():
    x = torch.zeros(4)
    v = x[1:]
    v.add_(1)
    x.mul_(2)
    assert x._version == v._version == 2


@pytest.mark.rows("S091")
@pytest.mark.parametrize("write", [lambda x: x.add_(1), lambda x: x[0:1].mul_(2), lambda x: x.__setitem__(0, 1.0), lambda x: x.zero_(), lambda x: x.view(2, 1).exp_()])
def test_leaves_are_not_written_to(write):
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        write(x)
    assert x.tolist() == [1.0, 2.0]
    with torch.no_grad():
        write(x)
    assert x.is_leaf and x.requires_grad


@pytest.mark.rows("S092")
def test_one_of_several_views_is_not_written_to():
    x = leaf(1.0, 2.0, 3.0, 4.0) * 1
    for part in (x.unbind(0)[0], x.split(2)[0], x.chunk(2)[1].view(1, 2)):
        with pytest.raises(RuntimeError, match="returns multiple views"):
            part.mul_(2)
    half = x.split(2)[0]
    x.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified"):
        half * 2
    assert half.requires_grad and "grad_fn=<Invalid>" in repr(half) and (half > 3).tolist() == [False, True]
    with torch.no_grad():
        assert (half * 2).tolist() == [4.0, 8.0]


def test_views_made_unrecorded_are_not_written_to_recorded():
    x = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        v = x[:1]
    with pytest.raises(RuntimeError, match="no_grad"):
        v.mul_(2)


def test_writes_through_views_of_views():
    x = leaf(*range(6))
    y = x * 1
    y.view(2, 3).t()[1].mul_(10)
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 200.0, 4.0, 6.0, 800.0, 10.0]


def test_second_derivative_through_a_write_to_a_view():
    x = leaf(0.5, 1.0)
    y = x * 2
    v = y[:1]
    v.exp_()
    first, = grad((y * y).sum(), x, create_graph=True)
    second, = grad(first.sum(), x)
    assert second.tolist() == pytest.approx([16 * torch.tensor(2.0, dtype=torch.float64).exp().item(), 8.0])


# --- records ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S070")
def test_next_functions_lead_to_the_leaves():
    x = leaf(1.0)
    y = x * 2 + x
    mul, other = y.grad_fn.next_functions
    assert (y.grad_fn.name(), mul[0].name(), type(other[0]).__name__) == ("AddBackward0", "MulBackward0", "AccumulateGrad")
    assert other[0].variable is x and mul[0].next_functions[0][0] is other[0] and mul[0].next_functions[1] == (None, 0)


def test_is_leaf_and_requires_grad():
    x = leaf(1.0)
    assert x.is_leaf and (x * 2).requires_grad and not (x * 2).is_leaf
    assert x.detach().is_leaf and not x.detach().requires_grad
    assert torch.zeros(2).mul(2).is_leaf
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        (x * 2).requires_grad = False
    with pytest.raises(RuntimeError, match="floating point"):
        torch.zeros(2, dtype=torch.int64).requires_grad = True


def test_comparisons_and_integers_are_not_recorded():
    x = leaf(1.0, 2.0)
    assert not (x > 1).requires_grad and not x.argmax().requires_grad and not x.long().requires_grad


# --- hooks --------------------------------------------------------------------------------------------------------
def test_tensor_hooks_replace_gradients_in_order():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.register_hook(lambda g: g + 1)
    handle = x.register_hook(lambda g: g * 100)
    y.backward(retain_graph=True)
    assert x.grad.item() == 800.0
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad.item() == 8.0


def test_tensor_hook_results_are_checked():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g[:1])
    with pytest.raises(RuntimeError, match="hook has changed the size"):
        (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match="doesn't require grad"):
        torch.zeros(2).register_hook(lambda g: g)


def test_post_accumulate_hook_runs_once_the_gradient_is_there():
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * 2).backward()
    (x * 3).backward()
    assert seen == [(True, 2.0), (True, 5.0)]


def test_node_hooks():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1, *inputs[1:]))
    y.backward()
    assert seen == [(20.0, 10.0)] and x.grad.item() == 21.0


def test_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * 3).backward()
    assert y.retains_grad and y.grad.item() == 3.0 and x.grad.item() == 6.0
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        torch.zeros(1).retain_grad()


def test_retain_grad_follows_writes():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    assert y.retains_grad and y.grad.tolist() == [5.0, 5.0] and x.grad.tolist() == [30.0, 30.0]
    z = x * 2
    z.retain_grad()
    z[:1].mul_(3)
    (z * 5).sum().backward()
    assert z.grad.tolist() == [5.0, 5.0]


def test_leaves_that_are_gone():
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t.item(), t.grad.item())))
    y = x * 2
    del x
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [(1.0, 2.0), (1.0, 4.0)]
    assert y.grad_fn.next_functions[0][0].variable.grad.item() == 4.0


def test_multi_grad_hook():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    calls = []
    handle = torch.autograd.graph.register_multi_grad_hook([a, b, c], lambda grads: calls.append([None if g is None else g.item() for g in grads]))
    (a * b).backward()
    (a * b * c).backward()
    assert calls == [[2.0, 1.0, None], [6.0, 3.0, 2.0]]
    handle.remove()
    (a * b).backward()
    assert len(calls) == 2
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: calls.append(g.item()), mode="any")
    (a * b).backward()
    assert len(calls) == 3


# --- saved-tensor hooks, edges ------------------------------------------------------------------------------------
def test_saved_tensors_hooks():
    packed = []
    x = leaf(2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
        y = x * x
    z = y.exp()
    assert len(packed) in (1, 2)
    z.backward()
    assert x.grad.item() == pytest.approx(4 * torch.tensor(4.0, dtype=torch.float64).exp().item())


def test_saved_tensors_hooks_of_other_threads_are_not_seen():
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        thread = threading.Thread(target=lambda: leaf(1.0).exp())
        thread.start()
        thread.join()
    assert seen == []


def test_saved_tensor_unpack_must_give_a_tensor():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 5):
        y = leaf(1.0).exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.backward()


def test_saved_tensors_hooks_can_be_disabled():
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            torch.autograd.graph.save_on_cpu().__enter__()
    with torch.autograd.graph.save_on_cpu():
        x = leaf(3.0)
        y = x * x
    y.backward()
    assert x.grad.item() == 6.0


def test_gradient_edges_are_inputs_of_grad():
    x = leaf(2.0)
    y = x * 3
    edge = torch.autograd.graph.get_gradient_edge(y)
    z = y * y
    del y
    assert grad(z, edge)[0].item() == 12.0
    assert isinstance(edge.node, torch.autograd.graph.Node)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        torch.autograd.graph.get_gradient_edge(torch.zeros(1))


def test_increment_version():
    x = leaf(1.0)
    y = x.exp()
    torch.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="is at version 1"):
        y.backward()


# --- reentrance and threads ---------------------------------------------------------------------------------------
def test_backward_inside_a_hook():
    x, other = leaf(1.0), leaf(5.0)
    y = x * 2

    def hook(g):
        with torch.enable_grad():
            (other * other).backward()
    y.register_hook(hook)
    y.backward()
    assert (x.grad.item(), other.grad.item()) == (2.0, 10.0)


def test_backward_inside_a_backward():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.inner = x.detach().requires_grad_()
                ctx.y = ctx.inner ** 3
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            ctx.y.backward(g)
            return ctx.inner.grad

    x = leaf(2.0)
    Inner.apply(Inner.apply(x)).backward()
    assert x.grad.item() == pytest.approx(9 * 2.0 ** 8)


def test_an_error_in_a_hook_leaves_the_engine_usable():
    x = leaf(1.0)
    y = x * 2

    def fail(g):
        raise KeyError("hook")
    handle = y.register_hook(fail)
    with pytest.raises(KeyError):
        y.backward(retain_graph=True)
    handle.remove()
    assert torch.is_grad_enabled()
    y.backward()
    assert x.grad.item() == 2.0


def in_threads(function, count=8):
    errors = []

    def run(i):
        try:
            function(i)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert errors == []


def test_threads_on_graphs_of_their_own():
    def work(i):
        for k in range(50):
            x = leaf(float(i), float(k))
            (x * x).sum().backward()
            assert x.grad.tolist() == [2.0 * i, 2.0 * k]
    in_threads(work)


def test_threads_on_a_shared_graph():
    x = leaf(*[k / 100 for k in range(100)])
    shared = (x * x).exp().log()
    in_threads(lambda i: grad((shared * (i + 1)).sum(), x, retain_graph=True)[0].sub_(2 * (i + 1) * x.detach()).abs().max().item() < 1e-9 or 1 / 0)


def test_threads_accumulating_in_one_leaf():
    x = leaf(0.0)
    in_threads(lambda i: [(x * 1.0).backward() for _ in range(200)])
    assert x.grad.item() == 1600.0


# --- anomaly mode -------------------------------------------------------------------------------------------------
def test_anomaly_mode_shows_the_line_of_the_call():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            x = leaf(0.0)
            y = x.sqrt() * 0      # the users's line
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
                y.backward()
    assert any("the users's line" in str(w.message) and "Traceback of forward call" in str(w.message) for w in caught)


def test_anomaly_mode_ends_with_its_block():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        x = leaf(0.0)
        (x.sqrt() * 0).backward()
        assert x.grad.isnan().item()
    x = leaf(0.0)
    (x.sqrt() * 0).backward()
    assert (x * 2).grad_fn.trace is None


def test_node_hooks_give_as_many_gradients_as_they_got():
    for register in ("register_hook", "register_prehook"):
        y = torch.ones(1, requires_grad=True).exp()
        getattr(y.grad_fn, register)(lambda *grads: (torch.ones(1),) * 2)
        with pytest.raises(RuntimeError, match="got 2, but expected 1"):
            y.backward()


def test_complex_outputs_need_a_gradient_to_start_from():
    x = torch.tensor([1j], requires_grad=True)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        (x * x).backward()
    (x * x).backward(torch.tensor([1 + 0j]))
    assert x.grad.tolist() == [-2j]


def test_flattening_a_part_that_is_out_of_date_looks_at_its_values_alone():
    """A part of `unbind` has no place in the graph once its base was written, but its values may be looked at, as in PyTorch."""
    base = torch.arange(6.0, requires_grad=True).reshape(2, 3).clone()
    part = base.unbind()[1]
    base.mul_(2)
    assert part.flatten().tolist() == [6, 8, 10]
    with pytest.raises(RuntimeError, match="Output 1 of Unbind"):
        part.sum()


@pytest.mark.parametrize("write", [lambda y: y.lt_(5), lambda y: y.eq_(y), lambda y: y.logical_not_(), lambda y: y.ne_(3)])
def test_comparisons_in_place_cut_the_history(write):
    x = leaf(1, 2, 3, 4)
    y = x * 3
    write(y[:2])
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 3, 3]
    with pytest.raises(RuntimeError, match="leaf"):
        write(x)
    with torch.no_grad():
        write(x)
    assert set(x.tolist()) <= {0, 1} and x.requires_grad
