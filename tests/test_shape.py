"""Views and rearrangements: what shares memory, what strides come out, what is refused."""
import itertools

import numpy as np
import pytest

import pyx_tensor as torch

VIEWS = {
    "view": lambda x: x.view(4, 3), "reshape": lambda x: x.reshape(2, 6), "expand": lambda x: x[:1].expand(5, 4), "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.transpose(0, 1), "t": lambda x: x.t(), "T": lambda x: x.T, "mT": lambda x: x.mT, "H": lambda x: x.H, "squeeze": lambda x: x[:1].squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1), "select": lambda x: x.select(0, 1), "narrow": lambda x: x.narrow(1, 1, 2), "diagonal": lambda x: x.diagonal(),
    "unfold": lambda x: x.unfold(1, 2, 1), "flatten": lambda x: x.flatten(), "unflatten": lambda x: x.unflatten(1, (2, 2)), "movedim": lambda x: x.movedim(0, 1),
    "chunk": lambda x: x.chunk(2)[1], "split": lambda x: x.split(2, 1)[0], "unbind": lambda x: x.unbind()[2], "hsplit": lambda x: x.hsplit(2)[1],
    "tensor_split": lambda x: x.tensor_split(2)[0], "broadcast_to": lambda x: torch.broadcast_to(x, (2, 3, 4)),
    "atleast_3d": lambda x: torch.atleast_3d(x), "ravel": lambda x: x.ravel(), "view_as_complex": lambda x: torch.view_as_complex(x.view(6, 2)),
    "dtype": lambda x: x.view(torch.int32), "detach": lambda x: x.detach(), "as_strided": lambda x: x.as_strided((2, 2), (1, 4))}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    x = torch.zeros(3, 4)
    view = VIEWS[name](x)
    x += 1
    assert bool((view != 0).all())
    assert view._version == x._version


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("dtype", "detach", "expand", "broadcast_to", "unfold", "chunk", "split", "unbind")])
def test_a_write_through_a_view_is_differentiated(name):
    x = torch.ones(3, 4, requires_grad=True)
    y = x * 1
    VIEWS[name](y).mul_(3)
    y.real.sum().backward()
    touched = torch.zeros(3, 4)
    VIEWS[name](touched).add_(1)
    expected = torch.where(touched != 0, 3.0, 1.0)
    assert torch.equal(x.grad, expected) or name == "view_as_complex" and (x.grad == 3).all()


@pytest.mark.parametrize("name", ["chunk", "split", "unbind"])
def test_a_recorded_write_to_one_of_several_views_is_refused(name):
    y = torch.ones(3, 4, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="multiple views"):
        VIEWS[name](y).mul_(3)
    assert (y == 1).all()


def test_strides_are_pytorchs():
    x = torch.zeros(2, 1, 3)
    assert x.stride() == (3, 3, 1) and x.expand(2, 4, 3).stride() == (3, 0, 1)
    assert x.unsqueeze(0).stride() == (6, 3, 3, 1)
    assert x.permute(2, 0, 1).stride() == (1, 3, 3)


@pytest.mark.parametrize("view, strides", [
    (lambda x: x[:, :, :, ::2], (36, 12, 3, 1)), (lambda x: x[:, :1].transpose(1, 2), (20, 5, 20, 1)), (lambda x: x[:1, :, ::3], (30, 10, 5, 1)),
    (lambda x: x.transpose(1, 2)[..., :2], (24, 2, 8, 1)), (lambda x: x.permute(3, 0, 1, 2)[:2], (1, 24, 8, 2)), (lambda x: x[:, :, :1, :1], (3, 1, 1, 1)),
    (lambda x: x[:, :, None, :1, :2], (6, 2, 2, 2, 1)), (lambda x: x.expand(3, 2, 3, 4, 5), (120, 60, 20, 5, 1)), (lambda x: x.as_strided((2, 1, 3), (5, 7, 1)), (3, 6, 1)),
    (lambda x: x.as_strided((2, 2, 2), (1, 1, 1)), (4, 2, 1)), (lambda x: x.as_strided((2, 2), (1, 2)), (1, 2)), (lambda x: x.as_strided((2, 2, 3), (20, 6, 2)), (6, 3, 1))])
def test_new_tensors_have_the_order_of_dims_without_the_gaps(view, strides):
    x = torch.arange(120.).reshape(2, 3, 4, 5).requires_grad_()
    y = view(x)
    copy = y.clone()
    assert copy.stride() == y.detach().clone().stride() == torch.zeros_like(y).stride() == torch.full_like(y, 2.).stride() == strides
    assert torch.equal(copy, y) and copy.data_ptr() != y.data_ptr() and copy.grad_fn.name() == "CloneBackward0"
    assert torch.equal(torch.autograd.grad(copy.sum(), x)[0], torch.autograd.grad(y.sum(), x)[0]) and (torch.full_like(y, 2.) == 2).all()


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2), (-1, 0, 1), ()])
def test_flipped_elements_keep_their_order_of_dims(dims):
    x = torch.arange(24.).reshape(2, 3, 4)
    for y in (x, x.transpose(0, 2), x.permute(1, 2, 0), x[:, ::2], x.expand(2, 2, 3, 4)[1]):
        flipped = y.flip(dims)
        assert (flipped.numpy() == np.flip(y.numpy(), dims)).all() and flipped.stride() == y.clone().stride()
    assert x[:0].flip(dims).shape == (0, 3, 4) and torch.tensor(3.).flip(()).item() == 3


def test_turned_images_are_numpys():
    x = torch.arange(24).reshape(2, 3, 4)
    for k in range(-2, 5):
        for dims in ((0, 1), (2, 0), (-1, 1)):
            assert (x.rot90(k, dims).numpy() == np.rot90(x.numpy(), k, dims)).all()
    assert torch.rot90(torch.zeros(3, 4)).stride() == (1, 4)


def test_forms_that_change_the_tensor_itself():
    x = torch.arange(6.0).reshape(1, 2, 3)
    data = x.data_ptr()
    assert x.squeeze_() is x and x.shape == (2, 3)
    assert x.t_().shape == (3, 2) and x.stride() == (1, 3)
    assert x.unsqueeze_(0).transpose_(0, 2).shape == (2, 3, 1)
    assert x.data_ptr() == data and x.flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_own_shape_is_differentiated_and_refused_on_leaves():
    leaf = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.t_()
    y = leaf * torch.arange(3.0)
    y.t_()
    (y * torch.tensor([1.0, 10.0])).sum().backward()
    assert leaf.grad.tolist() == [[0, 1, 2], [0, 10, 20]]


def test_complex_parts_can_be_read_and_assigned():
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert z.real.tolist() == [1, 3] and z.imag.tolist() == [2, -1] and z.real.dtype is torch.float32
    z.imag = torch.zeros(2)
    z.real[0] = 7
    assert z.tolist() == [7, 3]
    with pytest.raises(RuntimeError, match="non-complex"):
        torch.ones(2).imag


def test_retyped_views():
    x = torch.tensor([1.0, -1.0])
    assert x.view(torch.int32).tolist() == [0x3F800000, 0xBF800000 - 2**32]
    assert x.view(torch.uint8).shape == (8,) and x.view(torch.float64).shape == (1,)
    with pytest.raises(RuntimeError):
        torch.zeros(3).view(torch.float64)
    with pytest.raises(RuntimeError):
        torch.zeros(2, 4).t().view(torch.uint8)


def test_larger_elements_begin_where_those_of_the_storage_do():
    x = torch.arange(12, dtype=torch.int16)
    assert x[4:8].view(torch.int64).storage_offset() == 1 and x[:4].view(torch.int64).item() == 3 << 48 | 2 << 32 | 1 << 16
    for odd, found in ((x[1:5], "storage_offset"), (x[6:10], "storage_offset"), (x.as_strided((2, 4), (6, 1)), r"stride\(0\)")):
        with pytest.raises(RuntimeError, match=found):
            odd.view(torch.int64)
    assert x[1:1].view(torch.int64).shape == (0,)


@pytest.mark.parametrize("bad", [
    lambda x: x.view(5, 2), lambda x: x.view(-1, -1), lambda x: x.t().view(12), lambda x: x.expand(3, 5), lambda x: x.permute(0, 0), lambda x: x.permute(0),
    lambda x: x.split([1, 1]), lambda x: x.chunk(0), lambda x: x.narrow(0, 2, 2), lambda x: torch.cat([x, x[0]]), lambda x: torch.stack([x, x.t()]),
    lambda x: x.unflatten(1, (3, 2)), lambda x: torch.broadcast_shapes((2,), (3,)), lambda x: x.as_strided((9, 9), (4, 1)), lambda x: x.hsplit(3),
    lambda x: torch.meshgrid(x), lambda x: x.diag_embed(0, 0, 0), lambda x: x.rot90(1, (0,)), lambda x: x.repeat(2), lambda x: x.select_scatter(x, 0, 0),
    lambda x: torch.view_as_complex(x)])
def test_what_does_not_fit_is_a_runtime_error(bad):
    with pytest.raises(RuntimeError):
        bad(torch.zeros(3, 4))


@pytest.mark.parametrize("bad", [lambda x: x.transpose(0, 2), lambda x: x.unsqueeze(4), lambda x: x.select(0, 3), lambda x: x.sum(2), lambda x: x.flip(2),
                                 lambda x: x.unbind(-3), lambda x: torch.cat([x, x], 2), lambda x: x.index_select(2, torch.tensor([0]))])
def test_a_dim_or_index_out_of_range_is_an_index_error(bad):
    with pytest.raises(IndexError):
        bad(torch.zeros(3, 4))


@pytest.mark.parametrize("name,function", [
    ("hstack", np.hstack), ("vstack", np.vstack), ("dstack", np.dstack), ("column_stack", np.column_stack)])
def test_stacks_are_numpys(name, function):
    for shapes in (((3,), (3,)), ((2, 3), (2, 3))):
        arrays = [np.arange(np.prod(s), dtype=np.float32).reshape(s) + i for i, s in enumerate(shapes)]
        np.testing.assert_array_equal(getattr(torch, name)([torch.from_numpy(a) for a in arrays]).numpy(), function(arrays))


def test_meshgrid_and_products():
    x, y = torch.arange(3), torch.arange(2)
    for indexing in ("ij", "xy"):
        for mine, numpys in zip(torch.meshgrid(x, y, indexing=indexing), np.meshgrid(x.numpy(), y.numpy(), indexing=indexing)):
            np.testing.assert_array_equal(mine.numpy(), numpys)
    assert torch.cartesian_prod(x, y).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
    assert torch.combinations(x).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert torch.block_diag(torch.ones(1, 2), torch.tensor(3.0)).tolist() == [[1, 1, 0], [0, 0, 3]]
    assert torch.tril_indices(2, 3).tolist() == [[0, 1, 1], [0, 0, 1]] and torch.triu_indices(2, 2).tolist() == [[0, 0, 1], [0, 1, 1]]


def test_empty_tensors_in_cat():
    x = torch.ones(2, 3)
    assert torch.cat([torch.empty(0), x], 1).shape == (2, 3) and torch.cat([torch.empty(0), torch.empty(0)]).shape == (0,)
    assert torch.cat([torch.empty(0, 3), x]).shape == (2, 3)


@pytest.mark.parametrize("parts", [lambda x: x.split(2, 1), lambda x: x.split([1, 3, 1], 1), lambda x: x.chunk(2, 1), lambda x: x.unbind(1)])
def test_parts_of_one_call_are_one_node(parts):
    """Gradients of some parts, of all, and of gradients; those that nobody used count as zeros."""
    x = torch.arange(15.).reshape(3, 5).requires_grad_()
    found = parts(x)
    assert len({id(part.grad_fn) for part in found}) == 1
    grad, = torch.autograd.grad((found[1] ** 2).sum(), x, create_graph=True)
    used = torch.zeros(3, 5, dtype=torch.bool)
    parts(used)[1].fill_(True)
    assert grad.tolist() == torch.where(used, 2 * x.detach(), 0.).tolist()
    assert torch.autograd.grad(grad.sum(), x)[0].tolist() == torch.where(used, 2., 0.).tolist()
    assert torch.autograd.grad(sum(part.sum() for part in parts(x)), x)[0].tolist() == [[1.] * 5] * 3


def test_arrays_of_dead_views_are_used_again_by_views_alone():
    x = torch.arange(12.0)
    held, exported, shared = x[1:3].array, memoryview(x[3:5]), x[5:7].numpy()
    for dtype in (torch.float64, torch.int8, torch.float32, torch.bool):      # other dtypes, strides and numbers of dims in between
        y = torch.ones(3, 4, dtype=dtype)
        assert y.t().t()[1:, ::2].array.dtype == y.array.dtype and not y.t().is_contiguous() and y[1].is_contiguous() and y[0, 0].array.ndim == 0
        assert y.view(2, 6).sum().item() == 12 and y.expand(2, 3, 4)[1].shape == (3, 4)
    assert held.tolist() == [1, 2] and exported.tolist() == [3, 4] and shared.tolist() == [5, 6]
    view = x[2:4]
    del x
    assert view.tolist() == [2, 3] and view.array.base is not None
    with pytest.raises(RuntimeError):
        torch.zeros(1).expand(2**40, 2**40)


@pytest.mark.parametrize("again", [False, True])
def test_combinations_are_pythons(again):
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    for n in range(7):
        for r in range(1, 9):
            expected = list(map(list, choose(range(n), r)))
            found = torch.combinations(torch.arange(n), r, again)
            assert found.tolist() == expected and found.shape == (len(expected), r)
    assert torch.combinations(torch.arange(30), 28).shape == (435, 28) and torch.combinations(torch.arange(3), 0).shape == (0,)
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.combinations(x, 3, again), (x,))
