import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from pyx_tensor.core.typeinfo import finfo, iinfo


def test_texts():
    assert repr(finfo("float16")) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, tiny=6.10352e-05, "
        "dtype=float16)")
    assert repr(iinfo("int64")) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"


def test_values_are_exact():
    info = finfo("bfloat16")
    assert (info.bits, info.eps, info.resolution, info.tiny, info.dtype) == (16, 2.0**-7, 0.01, 2.0**-126, "bfloat16")
    assert info.max == -info.min == (2 - 2.0**-7) * 2.0**127
    assert (iinfo("uint64").min, iinfo("uint64").max, iinfo("int8").bits) == (0, 2**64 - 1, 8)


@pytest.mark.parametrize("name", ["float32", "complex64"])
def test_a_dtype_is_known_by_its_name(name):
    assert finfo(SimpleNamespace(name=name)) == finfo(np.dtype(name)) == finfo(name) == finfo("float32")
    assert finfo(name).dtype == "float32"


def test_equality():
    assert finfo(float) == finfo("float64") and hash(finfo(float)) == hash(finfo("float64"))
    assert finfo("float16") != finfo("bfloat16") and finfo("float64") != iinfo("int64") and iinfo(int) != 3


@pytest.mark.parametrize("info", [finfo("bfloat16"), iinfo("int8")])
def test_copies(info):
    assert pickle.loads(pickle.dumps(info)) == copy.copy(info) == copy.deepcopy(info) == info


@pytest.mark.parametrize("info", [finfo("float32"), iinfo("int8")])
def test_read_only(info):
    with pytest.raises(AttributeError, match="'max' .* not writable"):
        info.max = 1
    with pytest.raises(AttributeError):
        del info.max
    with pytest.raises(AttributeError):
        info.extra = 1


@pytest.mark.parametrize("info, type, words", [
    (finfo, "int8", "got int8"), (finfo, "bool", "got bool"), (finfo, "nonsense", "got nonsense"), (finfo, None, "'type'"),
    (finfo, 3, "'type'"), (iinfo, "float32", "got float32"), (iinfo, bool, "got bool"), (iinfo, object, "'type'"),
])
def test_other_types_are_refused(info, type, words):
    with pytest.raises(TypeError, match=f"{info.__name__}.*{words}"):
        info(type)
