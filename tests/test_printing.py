"""The text of a tensor against strings recorded from PyTorch 2.13."""
import math

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor.core import printing
from pyx_tensor.core.printing import format_tensor, get_printoptions, set_printoptions

NAN, INF = math.nan, math.inf
DEFAULTS = {"float32", "complex64"}
RECORDED = [
    ("zero-dim", np.float32(1),
     "tensor(1.)"),
    ("zero-dim int", np.int64(3),
     "tensor(3)"),
    ("zero-dim bool", np.bool_(True),
     "tensor(True)"),
    ("negative zero", np.float32([0, -0.0, NAN]),
     "tensor([0., -0., nan])"),
    ("integral with holes", np.float32([1, NAN, -INF, 100]),
     "tensor([  1.,  nan, -inf, 100.])"),
    ("fractions with holes", np.float32([1.5, NAN, -INF, 0, -0.0]),
     "tensor([1.5000,    nan,   -inf, 0.0000, -0.0000])"),
    ("large ratio", np.float32([1, 2000]),
     "tensor([1.0000e+00, 2.0000e+03])"),
    ("ratio of exactly 1000", np.float32([1, 1000]),
     "tensor([   1., 1000.])"),
    ("small", np.float32([1e-4]),
     "tensor([1.0000e-04])"),
    ("small double", np.float64([1e-4]),
     "tensor([0.0001], dtype=torch.float64)"),
    ("large", np.float32([1e8, 100000008]),
     "tensor([1.0000e+08, 1.0000e+08])"),
    ("int alignment", np.int64([[1, -20], [300, 4]]),
     "tensor([[  1, -20],\n"
     "        [300,   4]])"),
    ("uint64", np.uint64([2**64 - 1]),
     "tensor([18446744073709551615], dtype=torch.uint64)"),
    ("uint8", np.uint8([1, 255]),
     "tensor([  1, 255], dtype=torch.uint8)"),
    ("bool", np.array([[True, False]]),
     "tensor([[ True, False]])"),
    ("half", np.float16([0.1, 65504]),
     "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)"),
    ("bfloat16", np.array([0.1, 3e38], dtype=ml_dtypes.bfloat16),
     "tensor([1.0010e-01, 3.0041e+38], dtype=torch.bfloat16)"),
    ("complex", np.complex64([1 + 2j, -0.5 - 1e-7j]),
     "tensor([ 1.0000+2.0000e+00j, -0.5000-1.0000e-07j])"),
    ("complex integral", np.complex64([1 + 2j, 1000 - 3j]),
     "tensor([   1.+2.j, 1000.-3.j])"),
    ("complex nan", np.complex128([complex(NAN, -INF), 1j, complex(1, -0.0)]),
     "tensor([nan-infj, 0.+1.j, 1.-0.j], dtype=torch.complex128)"),
    ("wrapped", np.arange(40, dtype=np.float32),
     "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
     "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
     "        28., 29., 30., 31., 32., 33., 34., 35., 36., 37., 38., 39.])"),
    ("wrapped with suffix", np.arange(30, dtype=np.float64) / 4,
     "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000, 1.2500, 1.5000, 1.7500, 2.0000,\n"
     "        2.2500, 2.5000, 2.7500, 3.0000, 3.2500, 3.5000, 3.7500, 4.0000, 4.2500,\n"
     "        4.5000, 4.7500, 5.0000, 5.2500, 5.5000, 5.7500, 6.0000, 6.2500, 6.5000,\n"
     "        6.7500, 7.0000, 7.2500], dtype=torch.float64)"),
    ("zeros wrap late", np.zeros(26, dtype=np.float32),
     "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.,\n"
     "        0., 0.])"),
    ("three dimensions", np.arange(12, dtype=np.float32).reshape(2, 3, 2),
     "tensor([[[ 0.,  1.],\n"
     "         [ 2.,  3.],\n"
     "         [ 4.,  5.]],\n"
     "\n"
     "        [[ 6.,  7.],\n"
     "         [ 8.,  9.],\n"
     "         [10., 11.]]])"),
    ("summary", np.arange(2000),
     "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ("empty", np.zeros(0, dtype=np.float32),
     "tensor([])"),
    ("empty shape", np.zeros((0, 3), dtype=np.float32),
     "tensor([], size=(0, 3))"),
    ("empty int", np.zeros(0, dtype=np.int64),
     "tensor([], dtype=torch.int64)"),
    ("empty complex", np.zeros((2, 0), dtype=np.complex64),
     "tensor([], size=(2, 0), dtype=torch.complex64)"),
]


def text_of(array, **metadata):
    name = np.asarray(array).dtype.name
    return format_tensor(np.asarray(array), dtype_name=name, is_default_dtype=name in DEFAULTS, **metadata)


@pytest.fixture(autouse=True)
def default_options():
    yield
    set_printoptions(profile="default")


@pytest.mark.parametrize("array, expected", [case[1:] for case in RECORDED], ids=[case[0] for case in RECORDED])
def test_recorded(array, expected):
    assert text_of(array) == expected


def test_the_array_is_left_alone():
    array = np.arange(3000, dtype=np.float32)[::-1]
    array.flags.writeable = False
    assert text_of(array) == "tensor([2.9990e+03, 2.9980e+03, 2.9970e+03,  ..., 2.0000e+00, 1.0000e+00,\n        0.0000e+00])"


@pytest.mark.parametrize("metadata, expected", [
    (dict(requires_grad=True), "tensor([0., 0., 0.], requires_grad=True)"),
    (dict(requires_grad=True, grad_fn_name="MulBackward0"), "tensor([0., 0., 0.], grad_fn=<MulBackward0>)"),
    (dict(device="cuda:0"), "tensor([0., 0., 0.], device='cuda:0')"),
    (dict(device="cuda:0", requires_grad=True), "tensor([0., 0., 0.], device='cuda:0', requires_grad=True)"),
    (dict(prefix="Mask("), "Mask([0., 0., 0.])"),
    (dict(tensor_contents="hidden", requires_grad=True), "tensor(hidden, requires_grad=True)"),
])
def test_suffixes(metadata, expected):
    assert text_of(np.zeros(3, np.float32), **metadata) == expected


def test_a_suffix_that_does_not_fit_moves_to_the_next_line():
    assert text_of(np.zeros(11), requires_grad=True) == (
        "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.], dtype=torch.float64,\n"
        "       requires_grad=True)")


def test_without_data():
    text = format_tensor(None, shape=(2, 3), dtype_name="int64", is_default_dtype=False, device="meta")
    assert text == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"


def test_edges_stand_for_the_whole():
    array = np.arange(4000).reshape(2, 2000)
    indices = printing.edge_indices(array.shape)
    assert indices == [None, [0, 1, 2, 1997, 1998, 1999]]
    edges = array[:, indices[1]]
    assert text_of(edges, shape=array.shape) == text_of(array)
    assert printing.edge_indices((10, 100)) is None


@pytest.mark.parametrize("options, array, expected", [
    (dict(precision=2), [0.123456, 1], "tensor([0.12, 1.00])"),
    (dict(precision=0), [1.5, 2.5], "tensor([2, 2])"),
    (dict(sci_mode=True), [1, 20], "tensor([1.0000e+00, 2.0000e+01])"),
    (dict(sci_mode=True), [0, NAN], "tensor([0., nan])"),
    (dict(sci_mode=False), [1, 1e9], "tensor([         1., 1000000000.])"),
    (dict(threshold=4, edgeitems=1), [1, 2, 3, 4, 5], "tensor([1.,  ..., 5.])"),
    (dict(threshold=4, edgeitems=0), [1, 2, 3, 4, 5], "tensor([...], size=(5,))"),
    (dict(threshold=7), [1, 2, 3, 4, 5, 6, 7], "tensor([1., 2., 3., 4., 5., 6., 7.])"),
    (dict(threshold=6), [1, 2, 3, 4, 5, 6, 7], "tensor([1., 2., 3.,  ..., 5., 6., 7.])"),
    (dict(edgeitems=0), [1], "tensor([1.], size=(1,))"),
    (dict(linewidth=20), [1, 2, 3, 4], "tensor([1., 2., 3.,\n        4.])"),
    (dict(linewidth=0), [1, 2], "tensor([1.,\n        2.])"),
])
def test_options(options, array, expected):
    set_printoptions(**options)
    assert text_of(np.float32(array)) == expected


def test_profiles_and_stickiness():
    set_printoptions(profile="short", sci_mode=True)
    assert get_printoptions() == dict(precision=2, threshold=1000, edgeitems=2, linewidth=80, sci_mode=True)
    set_printoptions(linewidth=60)
    assert get_printoptions() == dict(precision=2, threshold=1000, edgeitems=2, linewidth=60, sci_mode=None)
    set_printoptions(profile="full", precision=3)
    assert get_printoptions() == dict(precision=3, threshold=INF, edgeitems=3, linewidth=80, sci_mode=None)


def test_printoptions_restores_what_was_set():
    set_printoptions(precision=3, sci_mode=True)
    former = get_printoptions()
    with pytest.raises(KeyError), printing.printoptions(precision=1):
        assert get_printoptions()["precision"] == 1
        raise KeyError
    assert get_printoptions() == former


@pytest.mark.parametrize("options, error", [
    (dict(precision=-1), ValueError), (dict(precision=2.5), TypeError), (dict(edgeitems="3"), TypeError),
    (dict(edgeitems=-1), ValueError), (dict(linewidth="80"), TypeError), (dict(threshold=[]), TypeError),
    (dict(profile="fulll"), ValueError),
])
def test_unusable_options_are_refused_and_change_nothing(options, error):
    former = get_printoptions()
    with pytest.raises(error, match=next(iter(options))):
        set_printoptions(**{"precision": 7, **options})
    assert get_printoptions() == former
