import copy
import pickle

import pytest

from pyx_tensor.core.size import Size


def test_a_size_is_a_tuple_of_ints():
    size = Size([5, 3])
    assert size == (5, 3) and hash(size) == hash((5, 3)) and len(size) == 2
    assert repr(size) == str(size) == "torch.Size([5, 3])" and repr(Size()) == "torch.Size([])"
    assert size[0] == 5 and type(size[0]) is int
    assert [type(value) for value in Size((True,))] == [int]


@pytest.mark.parametrize("values, count", [((), 1), ((4,), 4), ((2, 0, 3), 0), ((2**40, 2**40), 2**80)])
def test_numel(values, count):
    assert Size(values).numel() == count


@pytest.mark.parametrize("result, expected", [
    (Size([1, 2, 3])[1:], (2, 3)), (Size([1]) + (2,), (1, 2)), ((2,) + Size([1]), (2, 1)), (Size([1]) + Size([2]), (1, 2)),
    (Size([1]) * 2, (1, 1)), (2 * Size([1]), (1, 1)),
])
def test_slices_sums_and_multiples_are_sizes(result, expected):
    assert result == expected and type(result) is Size


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    loaded = pickle.loads(pickle.dumps(Size([1, 2]), protocol))
    assert loaded == (1, 2) and type(loaded) is Size


@pytest.mark.parametrize("copied", [copy.copy(Size([1, 2])), copy.deepcopy(Size([1, 2]))])
def test_copy(copied):
    assert copied == (1, 2) and type(copied) is Size


def test_errors_name_what_was_wrong():
    with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item 1 is 'float'\)"):
        Size([1, 2.0])
    with pytest.raises(TypeError, match=r"item 1 is 'str'"):
        Size([1]) + ("a",)
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        Size([1]) + [2]
    with pytest.raises(TypeError, match="can only concatenate list"):
        [2] + Size([1])
    with pytest.raises(AttributeError):
        Size([1]).name = "x"


def test_subclasses_read_items_their_own_way():
    class Reversed(Size):
        def __getitem__(self, key):
            return super().__getitem__(-1 - key)

    class Index:
        def __index__(self):
            return 1
    assert Reversed([1, 2])[0] == 2 and Size([1, 2])[Index()] == 2 and Size([1, 2])[-1] == 2
    assert type(Size([1, 2])[0:1]) is Size and type(Size([1, 2]).__getitem__(slice(1))) is Size
    with pytest.raises(IndexError):
        Size([1, 2])[2]
    with pytest.raises(TypeError):
        Size([1, 2])["a"]
