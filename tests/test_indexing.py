"""Reading and assigning by every kind of index, and differentiating through both."""
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.autograd import gradcheck

X = np.arange(60.0).reshape(3, 4, 5)
# As NumPy reads them too.
INDICES = {
    "int": 1, "negative": -1, "slice": slice(1, 3), "step": (slice(None), slice(None, None, 2)), "ints": (1, 2, 3), "none": (None, 1),
    "ellipsis": (..., 2), "ellipsis between": (0, ..., 1), "empty slice": slice(2, 1), "beyond": slice(1, 99), "nothing": (), "list": [2, 0],
    "lists": ([0, 2], [1, 3]), "broadcast": ([[0], [2]], [1, 3]), "apart": ([0, 2], slice(None), [1, 3]), "in the middle": (slice(None), [1, 1, 0]),
    "last": (..., [4, -2]), "after int": (1, [0, 2]), "with none": (None, [0, 2]), "mask": X[:, :, 0] > 20, "mask of all": X > 30,
    "mask of one dim": (slice(None), np.array([True, False, True, True])), "mask and ints": (np.array([True, False, True]), [1, 2]),
    "empty list": ([],), "numpy int": np.int64(2), "range": (range(2),), "two dims of index": np.array([[0, 1], [2, 2]]), "bool": True, "false": (False,)}


def for_numpy(index):
    return tuple(list(i) if isinstance(i, range) else np.array(i, dtype=int) if isinstance(i, list) and not i else i for i in index) if isinstance(index, tuple) else index


def made(index):
    return torch.from_numpy(index) if isinstance(index, np.ndarray) else tuple(map(made, index)) if isinstance(index, tuple) else index


@pytest.mark.parametrize("kind", INDICES)
def test_reading(kind):
    index = INDICES[kind]
    result = torch.from_numpy(X.copy())[made(index)]
    expected = X[for_numpy(index)]
    assert tuple(result.shape) == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("kind", INDICES)
def test_assigning(kind):
    index, expected, x = INDICES[kind], X.copy(), torch.from_numpy(X.copy())
    expected[for_numpy(index)] = -1.0
    x[made(index)] = -1.0
    np.testing.assert_array_equal(x.numpy(), expected)
    block = np.random.default_rng(0).random(X[for_numpy(index)].shape)
    repeated = kind in ("in the middle", "two dims of index")      # which of several writes wins is left open
    if not repeated:
        expected[for_numpy(index)] = block
        x[made(index)] = torch.tensor(block)
        np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("kind", INDICES)
def test_gradient_of_reading_and_assigning(kind):
    index = made(INDICES[kind])
    x = torch.from_numpy(X.copy()).requires_grad_()
    if x[index].numel():
        assert gradcheck(lambda t: t[index], (x,))

    def assigned(t, v):
        t = t * 1
        t[index] = v
        return t
    value = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    if kind not in ("in the middle", "two dims of index"):
        assert gradcheck(assigned, (x, value))


def test_views_share_memory_and_gathers_do_not():
    x = torch.zeros(3, 4)
    x[1][2] = 5
    assert x[1, 2] == 5
    x[[0]][0, 0] = 9
    assert x[0, 0] == 0


@pytest.mark.parametrize("index", [3, (0, 4), (0, 0, 0), [3], ([0, 1], [0, 1, 2]), 1.5, "a", (..., ...)])
def test_bad_indices_are_refused_and_nothing_is_written(index):
    x = torch.zeros(3, 4)
    with pytest.raises((IndexError, TypeError)):
        x[index]
    with pytest.raises((IndexError, TypeError)):
        x[index] = 1
    assert not x.any()


def test_a_mask_must_have_the_shape_it_covers():
    with pytest.raises(IndexError, match=r"mask \[2\].*\[3, 4\]"):
        torch.zeros(3, 4)[torch.tensor([True, False])]


def test_negative_steps_are_refused():
    with pytest.raises(ValueError, match="step"):
        torch.zeros(3)[::-1]


def test_a_value_of_the_wrong_shape_is_refused():
    x = torch.zeros(3, 4)
    with pytest.raises(RuntimeError):
        x[:, [0, 1]] = torch.ones(3, 3)
    assert not x.any()


def test_assignment_converts_and_drops_leading_ones():
    x = torch.zeros(2, 3, dtype=torch.int64)
    x[0] = torch.ones(1, 1, 3) * 2.7
    assert x.tolist() == [[2, 2, 2], [0, 0, 0]]


def test_tensors_index_like_integers():
    x = torch.arange(5)
    assert x[torch.tensor(2)] == 2 and x[torch.tensor(1):torch.tensor(3)].tolist() == [1, 2]


def test_augmented_assignment_accumulates_once():
    x = torch.zeros(3)
    x[[0, 0, 1]] += 1
    assert x.tolist() == [1, 1, 0]


def test_index_put_accumulates():
    x = torch.zeros(3)
    x.index_put_([torch.tensor([0, 0, 1])], torch.tensor(1.0), accumulate=True)
    assert x.tolist() == [2, 1, 0]


@pytest.mark.parametrize("value, exception", [(None, TypeError), ("a", TypeError), (1j, RuntimeError), (1e300, RuntimeError)])
def test_numbers_that_cannot_be_assigned(value, exception):
    x = torch.zeros(2)
    with pytest.raises(exception, match="value"):
        x[0] = value
    assert x.tolist() == [0, 0]


def test_writes_at_positions_touch_nothing_else():
    """The in-place forms write over the input itself: no copy of it is made, operands that lie on it are read first, gradients flow."""
    x = torch.zeros(5, 3)
    pointer, source, places = x.data_ptr(), torch.arange(6.0).view(2, 3), torch.tensor([4, 0])
    for write in (lambda: x.index_add_(0, places, source), lambda: x.index_copy_(0, places, source), lambda: x.index_put_((places,), source),
                  lambda: x.scatter_(0, places.view(2, 1).expand(2, 3), source), lambda: x.scatter_add_(0, places.view(2, 1).expand(2, 3), source)):
        version = x._version
        assert write() is x and x.data_ptr() == pointer and x._version > version
    assert x.tolist() == [[6, 8, 10], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 2, 4]]
    x.index_add_(0, torch.tensor([0, 1]), x[:2])
    assert x[:2].tolist() == [[12, 16, 20], [0, 0, 0]]
    x.t().index_copy_(-2, torch.tensor([1]), torch.ones(1, 5))
    assert x[:, 1].tolist() == [1] * 5
    x.index_put_((torch.tensor([0]), torch.tensor([-1])), torch.tensor(5.0)).scatter_(-1, torch.tensor([[0]]), 4.0)
    assert x[0].tolist() == [4, 1, 5]
    scalar = torch.tensor(1.0)
    scalar.index_copy_(0, torch.tensor([0]), torch.tensor([7.0]))
    scalar.scatter_(0, torch.tensor(0), torch.tensor(8.0))
    assert scalar.item() == 8
    leaf, given = torch.ones(3, requires_grad=True), torch.full((2,), 2.0, requires_grad=True)
    y = leaf * 1
    y.index_put_((torch.tensor([0, 2]),), given)
    y.index_add_(0, torch.tensor([1, 1]), given, alpha=3)
    y.index_copy_(0, torch.tensor([0]), given[:1] * 5)
    y.sum().backward()
    assert y.tolist() == [10, 13, 2] and leaf.grad.tolist() == [0, 1, 0] and given.grad.tolist() == [8, 4]
    with pytest.raises(RuntimeError, match="dtype"):
        x.index_copy_(0, torch.tensor([0]), torch.ones(1, 3, dtype=torch.float64))
    with pytest.raises(IndexError):
        x.index_copy_(0, torch.tensor([0]), torch.tensor(1.0))


# --- writes that nothing records ----------------------------------------------------------------------------------
PLACES = {"one dim": torch.tensor([2, 0, 2]), "behind": (slice(None), torch.tensor([3, -1])), "both": (torch.tensor([0, 2]), torch.tensor([1, 1])),
          "broadcast": (torch.tensor([[0], [1]]), torch.tensor([1, 3])), "mask": torch.from_numpy(X[:, :, 0] > 20)}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("dtype, value", [("float64", 2), ("float64", -0.5), ("int64", 3), ("bool", True), ("int16", -1)])
def test_numbers_are_written_at_positions(kind, dtype, value):
    array = X[:, :, 0].astype(dtype)
    x = torch.from_numpy(array.copy())
    index = PLACES[kind]
    before = x._version
    x[index] = value
    array[tuple(slice(None) if isinstance(i, slice) else i.numpy() for i in index) if isinstance(index, tuple) else index.numpy()] = value
    assert x.dtype is getattr(torch, dtype) and (x.numpy() == array).all() and x._version == before + 1


def test_values_at_positions_may_be_the_tensor_itself():
    x = torch.arange(4)
    x[torch.tensor([3, 2, 1, 0])] = x
    assert x.tolist() == [3, 2, 1, 0]
    y = torch.zeros(2, 3).t()                  # not row-major
    y[y == 0] = 7
    y[:, torch.tensor([0])] = torch.tensor([[1.0], [2.0], [3.0]])
    assert y.tolist() == [[1, 7], [2, 7], [3, 7]]


@pytest.mark.parametrize("value", [1e300, 1 << 40])
def test_numbers_that_do_not_fit_are_refused_at_positions_too(value):
    x = torch.zeros(3, dtype=torch.float32 if isinstance(value, float) else torch.int32)
    for index in (torch.tensor([1]), torch.tensor([True, False, False])):
        with pytest.raises(RuntimeError, match="overflow"):
            x[index] = value
    assert x.tolist() == [0, 0, 0]


def test_writes_at_positions_check_before_they_write():
    x = torch.zeros(3)
    with pytest.raises(IndexError):
        x[torch.tensor([0, 3])] = 1.0
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[torch.tensor([0, 1])] = torch.ones(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1).expand(3)[torch.tensor([0])] = 1.0
    assert x.tolist() == [0, 0, 0] and x._version == 0


def test_a_graph_notices_writes_at_positions():
    for index in (torch.tensor([0]), torch.tensor([True, False])):
        x, y = torch.ones(2, requires_grad=True), torch.tensor([2.0, 3.0])
        product = x * y
        y[index] = 1.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()
        z = x * 1
        z[index] = 0.0
        assert z.grad_fn.name() == "IndexPutBackward0"
        z.sum().backward()
        assert x.grad.tolist() == [0, 1]
