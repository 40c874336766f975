"""Every text that format_tensor gives equals torch's repr, over arrays drawn at random."""
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyx_tensor.core import printing

torch = pytest.importorskip("torch")

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool", "uint8", "int8", "int16",
          "int32", "int64", "uint16", "uint32", "uint64"]
DEFAULTS = {"float32", "complex64"}
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf])
SCALES = [
    lambda rng, n: rng.integers(-9, 10, n).astype(float),
    lambda rng, n: rng.integers(-2000, 2001, n).astype(float),
    lambda rng, n: rng.standard_normal(n),
    lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.integers(-6, 10),
    lambda rng, n: 10.0 ** rng.integers(-5, 9, n),
    lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.uniform(-40, 40, n),
    lambda rng, n: np.zeros(n),
]


def to_numpy(tensor):
    if tensor.dtype != torch.bfloat16:
        return tensor.detach().numpy()
    import ml_dtypes
    return tensor.detach().view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def ours(tensor, **metadata):
    name = str(tensor.dtype).removeprefix("torch.")
    return printing.format_tensor(to_numpy(tensor), dtype_name=name, is_default_dtype=name in DEFAULTS, **metadata)


def floats(rng, n):
    values = SCALES[rng.integers(len(SCALES))](rng, n)
    if rng.random() < 0.4:
        holes = rng.random(n) < 0.3
        values = np.where(holes, rng.choice(SPECIAL, n), values)
    return values


def draw_tensor(rng, shape, name):
    n = int(np.prod(shape, dtype=int))
    dtype = getattr(torch, name)
    if dtype.is_complex:
        return torch.complex(torch.from_numpy(floats(rng, n)), torch.from_numpy(floats(rng, n))).to(dtype).reshape(shape)
    if dtype.is_floating_point:
        return torch.from_numpy(floats(rng, n)).to(dtype).reshape(shape)
    info = np.iinfo(name) if name != "bool" else None
    low, high = (0, 2) if info is None else (info.min, info.max)
    if info is not None and rng.random() < 0.6:
        low, high = max(low, -120), 120
    values = rng.integers(low, high, n, dtype="uint8" if info is None else name, endpoint=info is not None)
    return torch.from_numpy(values.astype(name)).reshape(shape)


shapes = st.one_of(
    st.lists(st.integers(0, 7), max_size=1), st.lists(st.integers(1, 5), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(1, 80), min_size=1, max_size=2),
).filter(lambda shape: np.prod(shape, dtype=int) < 400)
options = st.one_of(
    st.just({}), st.just({}),
    st.fixed_dictionaries({}, optional=dict(
        precision=st.integers(0, 9), threshold=st.sampled_from([0, 3, 20, 1000, float("inf")]),
        edgeitems=st.integers(0, 4), linewidth=st.sampled_from([0, 10, 30.5, 79, 80, 120]),
        profile=st.sampled_from(["default", "short", "full"]), sci_mode=st.sampled_from([None, True, False]))),
)


@pytest.fixture(autouse=True)
def default_options():
    yield
    for set_printoptions in (torch.set_printoptions, printing.set_printoptions):
        set_printoptions(profile="default")


def set_both(**chosen):
    for set_printoptions in (torch.set_printoptions, printing.set_printoptions):
        set_printoptions(profile="default")
        set_printoptions(**chosen)
    assert printing.get_printoptions() == torch._tensor_str.get_printoptions()


@settings(max_examples=1500, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(shape=shapes, name=st.sampled_from(DTYPES), seed=st.integers(0, 2**32), chosen=options)
def test_repr_equals_torch(shape, name, seed, chosen):
    set_both(**chosen)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        tensor = draw_tensor(rng, shape, name)
        assert ours(tensor) == repr(tensor)


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(0, 60), name=st.sampled_from(["float32", "float64", "complex64", "bfloat16"]), seed=st.integers(0, 2**32),
       linewidth=st.integers(20, 110))
def test_autograd_suffixes_break_lines_as_torch(n, name, seed, linewidth):
    set_both(linewidth=linewidth)
    leaf = draw_tensor(np.random.default_rng(seed), (n,), name).requires_grad_()
    assert ours(leaf, requires_grad=True) == repr(leaf)
    output = leaf * 1
    assert ours(output, requires_grad=True, grad_fn_name=output.grad_fn.name()) == repr(output)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (4, 5)])
@pytest.mark.parametrize("name", DTYPES)
def test_tensor_without_data(shape, name):
    tensor = torch.empty(shape, dtype=getattr(torch, name), device="meta")
    text = printing.format_tensor(None, shape=shape, dtype_name=name, is_default_dtype=name in DEFAULTS, device="meta")
    assert text == repr(tensor)


@pytest.mark.parametrize("shape", [(2000,), (3, 700), (30, 50), (9, 9, 30), (7, 2, 2, 80), (1001, 1)])
@pytest.mark.parametrize("name", ["float32", "complex128", "int64"])
@pytest.mark.parametrize("edgeitems", [0, 1, 3])
def test_summaries_of_a_whole_array_and_of_its_edges(shape, name, edgeitems):
    set_both(edgeitems=edgeitems)
    tensor = draw_tensor(np.random.default_rng(0), shape, name)
    assert ours(tensor) == repr(tensor)
    edges = to_numpy(tensor)
    for dim, chosen in enumerate(printing.edge_indices(shape)):
        edges = edges if chosen is None else edges.take(chosen, axis=dim)
    text = printing.format_tensor(edges, shape=shape, dtype_name=name, is_default_dtype=name in DEFAULTS)
    assert text == repr(tensor)


def test_subclass_parameter_and_contents():
    class Named(torch.Tensor):
        pass

    tensor = torch.arange(60.0).reshape(3, 20).double()
    assert ours(tensor, prefix="Named(") == repr(tensor.as_subclass(Named))
    parameter = torch.nn.Parameter(tensor)
    assert printing.PARAMETER_HEADER + ours(parameter, requires_grad=True) == repr(parameter)
    for contents in (tensor, torch.zeros(0, 3)):
        assert ours(contents, tensor_contents="hello") == contents.__repr__(tensor_contents="hello")
