"""finfo, iinfo and Size have PyTorch's attributes, texts and behaviour."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyx_tensor.core import typeinfo
from pyx_tensor.core.size import Size

torch = pytest.importorskip("torch")

FLOATING = ["float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn",
            "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"]
INTEGER = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]


def attributes(info):
    return {name: getattr(info, name) for name in dir(info) if not name.startswith("_")}


def assert_same(ours, theirs):
    assert repr(ours) == repr(theirs) and str(ours) == str(theirs)
    assert attributes(ours) == attributes(theirs)
    assert {k: type(v) for k, v in attributes(ours).items()} == {k: type(v) for k, v in attributes(theirs).items()}


@pytest.mark.parametrize("name", FLOATING)
def test_finfo(name):
    assert_same(typeinfo.finfo(name), torch.finfo(getattr(torch, name)))


@pytest.mark.parametrize("name", INTEGER)
def test_iinfo(name):
    assert_same(typeinfo.iinfo(name), torch.iinfo(getattr(torch, name)))


@pytest.mark.parametrize("type", [float, complex, int, bool, None, 3, object])
@pytest.mark.parametrize("info", ["finfo", "iinfo"])
def test_python_types(info, type):
    try:
        expected = getattr(torch, info)(type)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(typeinfo, info)(type)
    else:
        assert_same(getattr(typeinfo, info)(type), expected)


@pytest.mark.parametrize("info, names", [("finfo", INTEGER + ["bool"]), ("iinfo", FLOATING + ["bool"])])
def test_the_other_kind_is_refused(info, names):
    for name in names:
        with pytest.raises(TypeError):
            getattr(torch, info)(getattr(torch, name))
        with pytest.raises(TypeError, match=info):
            getattr(typeinfo, info)(name)


OPERATIONS = {
    "repr": lambda size, other, n: repr(size),
    "numel": lambda size, other, n: size.numel(),
    "slice": lambda size, other, n: size[n:],
    "reversed slice": lambda size, other, n: size[::-1],
    "index": lambda size, other, n: size[n],
    "add": lambda size, other, n: size + other,
    "radd": lambda size, other, n: other + size,
    "mul": lambda size, other, n: size * n,
    "rmul": lambda size, other, n: n * size,
    "equal": lambda size, other, n: (size == other, size == tuple(size), size < other, hash(size) == hash(tuple(size))),
    "count and index": lambda size, other, n: (size.count(n), size.index(n)),
    "add to a size": lambda size, other, n: size + type(size)([n]),
    "not an index": lambda size, other, n: size["a"],
    "times a float": lambda size, other, n: size * 1.5,
    "add a list": lambda size, other, n: size + list(other),
    "add an int": lambda size, other, n: size + n,
    "list add": lambda size, other, n: list(other) + size,
    "add floats": lambda size, other, n: size + (*other, 1.5),
    "numel with an argument": lambda size, other, n: size.numel(n),
    "setattr": lambda size, other, n: setattr(size, "x", n),
}


def outcome(operation, *args):
    """What an operation gives, in terms that both classes share."""
    try:
        result = operation(*args)
    except Exception as error:   # the class of whatever it raises is the outcome
        return type(error)
    return type(result).__name__, repr(result)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(values=st.lists(st.integers(-3, 2000), max_size=5), other=st.lists(st.integers(0, 9), max_size=3).map(tuple),
       n=st.integers(-3, 3))
def test_size_operations(values, other, n):
    for name, operation in OPERATIONS.items():
        expected = outcome(operation, torch.Size(values), other, n)
        assert outcome(operation, Size(values), other, n) == expected, name


@pytest.mark.parametrize("sizes", [
    (), [1, 2], range(3), iter([4]), {5: 6}, (True,), (-1,), np.array([2, 3]), (1.5,), (1, "a"), ([1],), (None,), "12", 5, None,
    (np.bool_(True),), torch.tensor([1, 2]), (torch.tensor(3),), (torch.tensor(3.0),),
], ids=lambda sizes: repr(sizes).partition(" object at")[0])
def test_size_of(sizes):
    if not hasattr(sizes, "__next__"):
        assert outcome(Size, sizes) == outcome(torch.Size, sizes)
    else:
        values = list(sizes)
        assert outcome(Size, iter(values)) == outcome(torch.Size, iter(values))
