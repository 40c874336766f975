"""The random stream against the installed PyTorch: values bit for bit, and the generator's state after each call."""
import ml_dtypes
import numpy as np
import pytest

from pyx_tensor.core.random import Generator

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*is out of bounds:UserWarning")

SIZES = (0, 1, 2, 15, 16, 17, 31, 32, 100, 4099)
SEEDS = (0, 5000, -1, 2**63)
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
COMPLEX = ("complex64", "complex128")


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def as_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


@pytest.fixture(params=SEEDS)
def pair(request):
    return torch.Generator().manual_seed(request.param), Generator().manual_seed(request.param)


def assert_same(theirs, ours, generators):
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    assert generators[1].get_state().tobytes() == generators[0].get_state().numpy().tobytes()


FILLS = [  # PyTorch's method, ours, arguments, dtypes
    ("uniform_", "fill_uniform", (), FLOATS + COMPLEX),
    ("uniform_", "fill_uniform", (-0.3, 1.7), FLOATS + COMPLEX),
    ("uniform_", "fill_uniform", (100.3, 101.9), FLOATS),
    ("normal_", "fill_normal", (), FLOATS + COMPLEX),
    ("normal_", "fill_normal", (0.37, 1.7), FLOATS),
    ("log_normal_", "fill_log_normal", (0.3, 0.7), FLOATS),
    ("exponential_", "fill_exponential", (1.3,), FLOATS),
    ("cauchy_", "fill_cauchy", (0.3, 1.7), FLOATS),
    ("geometric_", "fill_geometric", (0.3,), FLOATS + INTEGERS),
    ("bernoulli_", "fill_bernoulli", (0.3,), FLOATS + INTEGERS + ("bool",)),
    ("random_", "fill_random", (), FLOATS + INTEGERS + ("bool",)),
    ("random_", "fill_random", (3, 100), FLOATS + INTEGERS + ("uint16", "uint32", "uint64")),
    ("random_", "fill_random", (-(2**27), 2**27 - 1), ("int32", "int64")),
    ("random_", "fill_random", (-(2**27), 2**27), ("int32", "int64")),
    ("random_", "fill_random", (-(2**40), 2**61 + 1), ("int64",)),
    ("random_", "fill_random", (0, 2**25), ("float32",)),
    ("random_", "fill_random", (-(2**26) - 1, 2**26 + 3), ("float32",)),
    ("random_", "fill_random", (5, None), FLOATS + INTEGERS),
    ("random_", "fill_random", (-(2**63), None), ("int64", "float32", "float64", "bfloat16")),
]


@pytest.mark.parametrize("theirs,ours,arguments,dtype", [(t, o, a, d) for t, o, a, dtypes in FILLS for d in dtypes])
def test_fill(pair, theirs, ours, arguments, dtype):
    """Sizes in turn from one stream, so that cached normals and half-used blocks count."""
    for size in SIZES:
        tensor, array = torch.zeros(size, dtype=getattr(torch, dtype)), np.zeros(size, numpy_dtype(dtype))
        getattr(tensor, theirs)(*arguments, generator=pair[0])
        assert getattr(pair[1], ours)(array, *arguments) is array
        assert_same(as_numpy(tensor), array, pair)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "bernoulli"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_fill_follows_the_memory(pair, name, dtype):
    base = torch.zeros(6, 8, 10, dtype=getattr(torch, dtype))
    for view in (base.permute(2, 0, 1), base[::2, 1:7, ::3], base.transpose(0, 1)[:, :, 4], base[:, :1].transpose(0, 1)):
        getattr(view, name + "_")(generator=pair[0])
        # The same strides over a NumPy array.
        buffer = np.zeros(base.numel(), numpy_dtype(dtype))
        array = np.lib.stride_tricks.as_strided(buffer[view.storage_offset():], view.shape, [s * buffer.itemsize for s in view.stride()])
        getattr(pair[1], "fill_" + name)(array)
        assert_same(as_numpy(view.contiguous()), np.ascontiguousarray(array), pair)


def test_interleaved_calls(pair):
    chooser = np.random.default_rng(3)
    for _ in range(400):
        theirs, ours, arguments, dtypes = FILLS[chooser.integers(len(FILLS))]
        dtype, size = chooser.choice(dtypes), int(chooser.choice((1, 3, 16, 33, 700)))
        tensor, array = torch.zeros(size, dtype=getattr(torch, dtype)), np.zeros(size, numpy_dtype(dtype))
        getattr(tensor, theirs)(*arguments, generator=pair[0])
        getattr(pair[1], ours)(array, *arguments)
        assert_same(as_numpy(tensor), array, pair)


@pytest.mark.parametrize("p_dtype", FLOATS)
@pytest.mark.parametrize("dtype", ["bool", "float32", "bfloat16", "int64"])
def test_bernoulli_array(pair, p_dtype, dtype):
    p = torch.linspace(0, 1, 4099).to(getattr(torch, p_dtype))
    tensor, array = torch.zeros(4099, dtype=getattr(torch, dtype)), np.zeros(4099, numpy_dtype(dtype))
    tensor.bernoulli_(p, generator=pair[0])
    pair[1].fill_bernoulli_array(array, as_numpy(p))
    assert_same(as_numpy(tensor), array, pair)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_randperm(pair, dtype):
    for n in (0, 1, 2, 100) + ((4099,) if dtype in ("int32", "int64", "float32", "float64") else ()):
        theirs = torch.randperm(n, dtype=getattr(torch, dtype), generator=pair[0])
        assert_same(as_numpy(theirs), pair[1].randperm(n, numpy_dtype(dtype)), pair)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5,), (100,), (7, 30)])
def test_multinomial(pair, dtype, shape):
    weights = torch.linspace(0.1, 1, int(np.prod(shape))).reshape(shape).to(getattr(torch, dtype))
    for samples, replacement in ((1, True), (1, False), (5, True), (2000, True)):
        theirs = torch.multinomial(weights, samples, replacement, generator=pair[0])
        assert_same(theirs.numpy(), pair[1].multinomial(as_numpy(weights), samples, replacement), pair)
    if dtype in ("float32", "float64"):  # 16-bit keys have ties
        theirs = torch.multinomial(weights, shape[-1], False, generator=pair[0])
        assert_same(theirs.numpy(), pair[1].multinomial(as_numpy(weights), shape[-1], False), pair)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [0.1, 9.0, 300.0])
def test_poisson(pair, dtype, scale):
    rates = torch.linspace(0, scale, 2000).to(getattr(torch, dtype))
    assert_same(as_numpy(torch.poisson(rates, generator=pair[0])), pair[1].poisson(as_numpy(rates)), pair)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [0.2, 3.0, 300.0])
def test_gamma_and_binomial(pair, dtype, scale):
    alpha = torch.linspace(0.001, scale, 2000, dtype=getattr(torch, dtype))
    assert_same(torch._standard_gamma(alpha, generator=pair[0]).numpy(), pair[1].standard_gamma(alpha.numpy()), pair)
    count, prob = alpha.mul(10).round(), torch.linspace(0, 1, 2000, dtype=alpha.dtype)
    assert_same(torch.binomial(count, prob, generator=pair[0]).numpy(), pair[1].binomial(count.numpy(), prob.numpy()), pair)
    rows = alpha.reshape(400, 5)
    theirs, ours = torch._sample_dirichlet(rows, generator=pair[0]).numpy(), pair[1].dirichlet(rows.numpy())
    np.testing.assert_allclose(ours, theirs, rtol=4 * np.finfo(dtype).eps)  # the row sums may differ in the last bit


def test_dropout_and_rrelu():
    ours = Generator().manual_seed(9)
    torch.manual_seed(9)
    dropped = torch.nn.functional.dropout(torch.ones(1000), 0.3).numpy()
    keep = ours.fill_bernoulli(np.empty(1000, bool), 1 - 0.3)
    np.testing.assert_array_equal(dropped != 0, keep)
    values = torch.linspace(-1, 1, 1001)
    theirs = torch.nn.functional.rrelu(values, 0.1, 0.4, training=True).numpy()
    negative = values.numpy() <= 0
    slopes = ours.fill_double_uniform(np.empty(negative.sum(), np.float32), 0.1, 0.4)
    np.testing.assert_array_equal(theirs[negative], values.numpy()[negative] * slopes)
    assert ours.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()


def test_states_cross_over(pair):
    theirs, ours = pair
    ours.fill_normal(np.empty(7))
    theirs.set_state(torch.from_numpy(ours.get_state()))
    np.testing.assert_array_equal(torch.empty(5).normal_(generator=theirs).numpy(), ours.fill_normal(np.empty(5, np.float32)))
    ours.set_state(theirs.get_state().numpy())
    assert ours.initial_seed() == theirs.initial_seed()
    assert_same(torch.empty(33).normal_(generator=theirs).numpy(), ours.fill_normal(np.empty(33, np.float32)), pair)


def test_default_seed():
    assert Generator().get_state().tobytes() == torch.Generator().get_state().numpy().tobytes()
