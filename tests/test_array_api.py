"""The array API standard over tensors, beside array_api_strict: names, signatures, values and dtypes."""
import inspect
import math
import os
import subprocess
import sys

import array_api_strict as strict
import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import array_api as xp

F = np.array([[1.5, -2.0, 0.25], [-0.5, 3.0, 4.0]])
U = np.array([[0.25, 0.5, -0.75], [0.1, -0.3, 0.9]])
I = np.array([[5, -3, 2], [7, 0, -1]])
N = np.array([[5, 3, 2], [7, 1, 9]], np.uint8)
Bo = np.array([[True, False, True], [False, False, True]])
C = F + 1j * U


def both(call):
    """The call's results in both namespaces, as lists of ndarrays."""
    results = []
    for space in (xp, strict):
        result = call(space, lambda a, space=space: space.asarray(a.copy() if isinstance(a, np.ndarray) else a))
        items = list(result) if isinstance(result, (tuple, list)) else [result]
        results.append([np.asarray(item) if hasattr(item, "dtype") else item for item in items])
    return results


CALLS = {}
for _name in ("abs ceil cos cosh exp expm1 floor isfinite isinf isnan negative positive round sign signbit sin sinh square tan tanh trunc atan asinh "
              "reciprocal real conj").split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(F))]
for _name in "acos asin atanh".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(U))]
for _name in "log log1p log2 log10 sqrt".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(F ** 2))]
CALLS["acosh"] = [lambda s, a: s.acosh(a(F ** 2 + 1))]
for _name in "abs sign square negative exp sqrt conj real imag isnan isfinite".split():
    CALLS.setdefault(_name, []).append(lambda s, a, n=_name: getattr(s, n)(a(C)))
for _name in "abs sign square negative ceil floor round trunc positive".split():
    CALLS[_name].append(lambda s, a, n=_name: getattr(s, n)(a(I)))
CALLS["bitwise_invert"] = [lambda s, a: s.bitwise_invert(a(I)), lambda s, a: s.bitwise_invert(a(Bo))]
CALLS["logical_not"] = [lambda s, a: s.logical_not(a(Bo))]
for _name in ("add subtract multiply divide maximum minimum equal not_equal less less_equal greater greater_equal atan2 hypot copysign logaddexp "
              "nextafter").split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(F), a(U)), lambda s, a, n=_name: getattr(s, n)(a(F), 2.0),
                    lambda s, a, n=_name: getattr(s, n)(0.5, a(F))]
for _name in "floor_divide remainder pow".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(np.abs(F)), a(np.abs(U))), lambda s, a, n=_name: getattr(s, n)(a(I), 2)]
for _name in "add subtract multiply equal less maximum".split():
    CALLS[_name] += [lambda s, a, n=_name: getattr(s, n)(a(I), 3), lambda s, a, n=_name: getattr(s, n)(a(N), a(N.T[:1, :1]))]
for _name in "bitwise_and bitwise_or bitwise_xor".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(I), a(I[::-1])), lambda s, a, n=_name: getattr(s, n)(a(Bo), True)]
for _name in "bitwise_left_shift bitwise_right_shift".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(I), 2)]
for _name in "logical_and logical_or logical_xor".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(Bo), a(Bo[::-1]))]
CALLS["clip"] = [lambda s, a: s.clip(a(F), -1.0, 2.0), lambda s, a: s.clip(a(I), min=0), lambda s, a: s.clip(a(F), max=a(U)), lambda s, a: s.clip(a(F))]
for _name in "sum prod mean var std max min".split():
    CALLS[_name] = [lambda s, a, n=_name, k=k: getattr(s, n)(a(F), **k) for k in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}, {"axis": -2})]
CALLS["sum"] += [lambda s, a: s.sum(a(N)), lambda s, a: s.sum(a(I), axis=0), lambda s, a: s.sum(a(F), dtype=s.float32), lambda s, a: s.sum(a(C))]
CALLS["prod"] += [lambda s, a: s.prod(a(N), axis=1), lambda s, a: s.prod(a(I), axis=0)]
CALLS["std"] += [lambda s, a: s.std(a(F), correction=1, axis=1)]
for _name in "all any".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(Bo)), lambda s, a, n=_name: getattr(s, n)(a(N), axis=0, keepdims=True),
                    lambda s, a, n=_name: getattr(s, n)(a(F), axis=(0, 1))]
for _name in "argmax argmin".split():
    CALLS[_name] = [lambda s, a, n=_name, k=k: getattr(s, n)(a(F), **k) for k in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"keepdims": True})]
CALLS["count_nonzero"] = [lambda s, a: s.count_nonzero(a(I)), lambda s, a: s.count_nonzero(a(I), axis=1, keepdims=True)]
for _name in "cumulative_sum cumulative_prod".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(F), axis=1), lambda s, a, n=_name: getattr(s, n)(a(N), axis=0, include_initial=True),
                    lambda s, a, n=_name: getattr(s, n)(a(F[0]))]
CALLS["diff"] = [lambda s, a: s.diff(a(F)), lambda s, a: s.diff(a(F), n=2, axis=1), lambda s, a: s.diff(a(F), axis=0, prepend=a(F[:1]))]
CALLS["sort"] = [lambda s, a: s.sort(a(F)), lambda s, a: s.sort(a(F), axis=0, descending=True)]
CALLS["argsort"] = [lambda s, a: s.argsort(a(F)), lambda s, a: s.argsort(a(F), axis=0, descending=True)]
CALLS["searchsorted"] = [lambda s, a: s.searchsorted(a(np.array([1.0, 2.0, 4.0])), a(F)), lambda s, a: s.searchsorted(a(np.array([1.0, 2.0])), a(F), side="right")]
CALLS["nonzero"] = [lambda s, a: s.nonzero(a(I))]
CALLS["isin"] = [lambda s, a: s.isin(a(I), a(np.array([5, -1])))]
CALLS["where"] = [lambda s, a: s.where(a(Bo), a(F), a(U)), lambda s, a: s.where(a(Bo), a(F), 0.0)]
CALLS["take"] = [lambda s, a: s.take(a(F), a(np.array([2, 0])), axis=1), lambda s, a: s.take(a(F[0]), a(np.array([1])))]
CALLS["take_along_axis"] = [lambda s, a: s.take_along_axis(a(F), a(np.array([[1], [0]])), axis=1)]
REPEATED = np.array([3.0, 1.0, 3.0, 2.0, 1.0])
CALLS["unique_values"] = [lambda s, a: s.sort(s.unique_values(a(REPEATED)))]
for _name in "unique_counts unique_inverse unique_all".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(REPEATED)), lambda s, a, n=_name: getattr(s, n)(a(I))]
CALLS["broadcast_arrays"] = [lambda s, a: s.broadcast_arrays(a(F[:1]), a(F[:, :1]))]
CALLS["broadcast_to"] = [lambda s, a: s.broadcast_to(a(F[0]), (2, 3))]
CALLS["concat"] = [lambda s, a: s.concat([a(F), a(U)]), lambda s, a: s.concat((a(F), a(U)), axis=1), lambda s, a: s.concat([a(F), a(U[0])], axis=None)]
CALLS["stack"] = [lambda s, a: s.stack([a(F), a(U)], axis=1)]
CALLS["unstack"] = [lambda s, a: s.unstack(a(F), axis=1)]
CALLS["expand_dims"] = [lambda s, a: s.expand_dims(a(F), axis=-1), lambda s, a: s.expand_dims(a(F), axis=0)]
CALLS["squeeze"] = [lambda s, a: s.squeeze(a(F[None]), 0), lambda s, a: s.squeeze(a(F[None, :, :1]), (0, -1))]
CALLS["flip"] = [lambda s, a: s.flip(a(F)), lambda s, a: s.flip(a(F), axis=1)]
CALLS["roll"] = [lambda s, a: s.roll(a(F), 1), lambda s, a: s.roll(a(F), (1, 2), axis=(0, 1)), lambda s, a: s.roll(a(F), 1, axis=(0, 1))]
CALLS["moveaxis"] = [lambda s, a: s.moveaxis(a(F[None]), 0, -1)]
CALLS["permute_dims"] = [lambda s, a: s.permute_dims(a(F[None]), (2, 0, 1))]
CALLS["matrix_transpose"] = [lambda s, a: s.matrix_transpose(a(F[None]))]
CALLS["repeat"] = [lambda s, a: s.repeat(a(F), 2), lambda s, a: s.repeat(a(F), a(np.array([2, 0, 1])), axis=1)]
CALLS["tile"] = [lambda s, a: s.tile(a(F), (2, 1))]
CALLS["reshape"] = [lambda s, a: s.reshape(a(F), (3, -1)), lambda s, a: s.reshape(a(F), (6,), copy=True)]
CALLS["tril"] = [lambda s, a: s.tril(a(F)), lambda s, a: s.tril(a(F), k=1)]
CALLS["triu"] = [lambda s, a: s.triu(a(F)), lambda s, a: s.triu(a(F), k=-1)]
CALLS["meshgrid"] = [lambda s, a: s.meshgrid(a(F[0]), a(U[0])), lambda s, a: s.meshgrid(a(F[0]), a(U[0]), indexing="ij")]
CALLS["arange"] = [lambda s, a: s.arange(5), lambda s, a: s.arange(2, 8, 3), lambda s, a: s.arange(3, 0), lambda s, a: s.arange(4.0, dtype=s.float64), lambda s, a: s.arange(0, 5, 0.5, dtype=s.float64)]
CALLS["linspace"] = [lambda s, a: s.linspace(0, 1, 5, dtype=s.float64), lambda s, a: s.linspace(0, 1, 4, endpoint=False, dtype=s.float64)]
CALLS["eye"] = [lambda s, a: s.eye(3, dtype=s.float64), lambda s, a: s.eye(2, 4, k=1, dtype=s.int64), lambda s, a: s.eye(3, k=-1, dtype=s.float32)]
CALLS["full"] = [lambda s, a: s.full((2, 2), 7), lambda s, a: s.full(3, True), lambda s, a: s.full((2,), 1.5, dtype=s.float64)]
CALLS["zeros"], CALLS["ones"] = [lambda s, a: s.zeros((2, 3), dtype=s.int32)], [lambda s, a: s.ones(4, dtype=s.float32)]
for _name in "zeros_like ones_like".split():
    CALLS[_name] = [lambda s, a, n=_name: getattr(s, n)(a(I)), lambda s, a, n=_name: getattr(s, n)(a(I), dtype=s.float64)]
CALLS["full_like"] = [lambda s, a: s.full_like(a(F), 2.0)]
CALLS["asarray"] = [lambda s, a: s.asarray([[1, 2], [3, 4]]), lambda s, a: s.asarray(F, dtype=s.float32), lambda s, a: s.asarray(True)]
CALLS["astype"] = [lambda s, a: s.astype(a(F), s.int64), lambda s, a: s.astype(a(I), s.bool), lambda s, a: s.astype(a(Bo), s.float32)]
CALLS["matmul"] = [lambda s, a: s.matmul(a(F), a(U.T.copy())), lambda s, a: s.matmul(a(F[0]), a(U[0]))]
CALLS["tensordot"] = [lambda s, a: s.tensordot(a(F), a(U.T.copy()), axes=1), lambda s, a: s.tensordot(a(F), a(U), axes=((0,), (0,)))]
CALLS["vecdot"] = [lambda s, a: s.vecdot(a(F), a(U)), lambda s, a: s.vecdot(a(C), a(C)), lambda s, a: s.vecdot(a(F), a(U), axis=-2)]
UNINITIALISED = {"empty", "empty_like", "from_dlpack"}
FUNCTIONS = sorted(n for n in dir(strict) if callable(getattr(strict, n)) and not n.startswith("_") and n not in UNINITIALISED
                   and not isinstance(getattr(strict, n), type) and n not in ("get_array_api_strict_flags", "set_array_api_strict_flags",
                                                                              "reset_array_api_strict_flags", "broadcast_shapes"))
FUNCTIONS = [n for n in FUNCTIONS if inspect.isfunction(getattr(strict, n))]


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("can_cast", "finfo", "iinfo", "isdtype", "result_type")])
def test_as_the_strict_namespace(name):
    for call in CALLS[name]:
        with np.errstate(all="ignore"):
            ours, expected = both(call)
        assert len(ours) == len(expected)
        for o, e in zip(ours, expected):
            assert o.dtype == e.dtype and o.shape == e.shape
            np.testing.assert_allclose(o, e, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_have_the_standards_names(name):
    expected, ours = (inspect.signature(getattr(space, name)).parameters for space in (strict, xp))
    by_keyword = {n for n, p in expected.items() if p.kind is p.KEYWORD_ONLY}
    assert by_keyword <= set(ours), by_keyword - set(ours)
    assert len([p for p in ours.values() if p.kind is not p.KEYWORD_ONLY]) == len([p for p in expected.values() if p.kind is not p.KEYWORD_ONLY])


def test_tensors_name_their_namespace():
    x = torch.ones(2)
    assert x.__array_namespace__() is xp is x.__array_namespace__(api_version="2024.12") and xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="version"):
        x.__array_namespace__(api_version="1999.01")
    assert (xp.pi, xp.inf, xp.newaxis) == (math.pi, math.inf, None) and math.isnan(xp.nan) and xp.float32 is torch.float32
    assert x.to_device("cpu") is x


def test_dtypes_and_devices():
    assert xp.isdtype(xp.float32, "real floating") and xp.isdtype(xp.uint8, ("integral", xp.bool)) and not xp.isdtype(xp.bool, "numeric")
    assert xp.isdtype(xp.int64, xp.int64) and xp.isdtype(xp.complex64, "complex floating")
    with pytest.raises(ValueError):
        xp.isdtype(xp.int8, "whole")
    assert xp.can_cast(xp.int32, xp.float64) and not xp.can_cast(xp.float64, xp.float32) and xp.can_cast(torch.ones(1), xp.float64)
    assert xp.result_type(xp.int8, xp.uint8) is xp.int16 and xp.result_type(torch.ones(1), 1) is xp.float32
    assert xp.result_type(xp.int32, 1.5) is xp.float32 and xp.result_type(xp.int32, xp.float64) is xp.float64
    assert xp.finfo(xp.float64).eps == 2**-52 and xp.finfo(xp.complex64).max == np.finfo(np.float32).max and xp.iinfo(torch.ones(1).int()).max == 2**31 - 1
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["integral"] is xp.int64 and info.default_device() in info.devices() and info.capabilities()["boolean indexing"]
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"} and set(info.dtypes()) == set(strict.__array_namespace_info__().dtypes())


def test_not_among():
    assert xp.isin(xp.asarray([1, 2, 3]), xp.asarray([2]), invert=True).tolist() == [True, False, True]


def test_what_is_refused():
    x = torch.arange(6).view(2, 3)
    for call in (lambda: xp.squeeze(x, 0), lambda: xp.max(xp.zeros((0,))), lambda: xp.take(x, xp.asarray([0])), lambda: xp.cumulative_sum(x),
                 lambda: xp.reshape(x.T, (6,), copy=False), lambda: xp.nonzero(xp.asarray(1)), lambda: xp.expand_dims(x, (0, 0))):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: xp.add(1, 2), lambda: xp.add(x, "a"), lambda: xp.sin(1.0), lambda: xp.astype(xp.asarray(1j), xp.float32)):
        with pytest.raises(TypeError):
            call()


def test_gradients_flow_through():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    xp.sum(xp.multiply(xp.permute_dims(x, (1, 0)), 2.0), axis=0).sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 2]]


def test_empties_and_dlpack():
    assert xp.empty((2, 0)).shape == (2, 0) and xp.empty_like(torch.ones(3), dtype=xp.int8).dtype is xp.int8
    array = np.arange(3.0)
    shared = xp.from_dlpack(array)
    array[0] = 5
    assert shared.tolist() == [5, 1, 2] and xp.from_dlpack(shared, copy=True).data_ptr() != shared.data_ptr()


def test_numpy_and_generic_code():
    def standardised(a):
        """Knows nothing but the standard."""
        space = a.__array_namespace__()
        return (a - space.mean(a, axis=0, keepdims=True)) / space.std(a, axis=0, keepdims=True)
    np.testing.assert_allclose(np.asarray(standardised(torch.from_numpy(F))), (F - F.mean(0)) / F.std(0))


def test_array_api_compat_takes_tensors_without_a_shim():
    import array_api_compat as compat
    x = torch.ones(2, 3)
    assert compat.array_namespace(x, x + 1) is xp and compat.is_array_api_obj(x) and compat.size(x) == 6 and compat.device(x) == torch.device("cpu")
    assert compat.to_device(x, "cpu") is x


SCIKIT_LEARN = """
import numpy as np, pyx_tensor as torch
from sklearn import config_context
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error, r2_score
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

data = np.random.default_rng(0).normal(size=(20, 3))
tensor = torch.from_numpy(data)
with config_context(array_api_dispatch=True):
    for make in (MinMaxScaler, MaxAbsScaler, Normalizer, StandardScaler):
        result = make().fit_transform(tensor)
        assert isinstance(result, torch.Tensor), make
        with config_context(array_api_dispatch=False):
            np.testing.assert_allclose(result.numpy(), make().fit_transform(data), err_msg=make.__name__)
    for score in (mean_squared_error, mean_absolute_error, r2_score):
        np.testing.assert_allclose(float(score(tensor, tensor + 1)), score(data, data + 1))
    assert accuracy_score(torch.tensor([1, 0, 1, 1]), torch.tensor([1, 1, 1, 0])) == 0.5
print("passed")
"""


def test_scikit_learns_dispatch():
    pytest.importorskip("sklearn", minversion="1.8")       # before, it passed NumPy's types as dtypes
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(filter(None, [*sys.path]))}
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", SCIKIT_LEARN], env=env, capture_output=True, text=True)
    assert run.stdout.strip() == "passed", run.stderr[-2000:]
