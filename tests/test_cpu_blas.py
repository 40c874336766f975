"""Matrix products of the CPU backend against NumPy, in both ways: through OpenBLAS and through the kernels."""
import os
import subprocess
import sys
import textwrap
import warnings

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import blas, level, openblas, parallel

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
HALVES = [np.dtype(np.float16), BFLOAT16]
INTEGERS = [np.dtype(name) for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")]
DTYPES = FLOATS + HALVES + INTEGERS + [np.dtype(bool)]
SIZES = [(8, 8, 8), (1, 10, 10), (7, 1, 5), (13, 300, 17), (1, 70, 33), (33, 70, 1), (50, 64, 70), (1, 400, 1), (9, 400, 49), (67, 171, 95)]
TOLERANCES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}


def sample(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.3
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype)


def expected(a, b):
    """NumPy's product; half precision in float32 (its products are exact there)."""
    if a.dtype in HALVES:
        return np.asarray(np.matmul(a.astype(np.float32), b.astype(np.float32)))
    return np.asarray(np.matmul(a, b))


def check(found, wanted, dtype):
    assert type(found) is np.ndarray and found.dtype == dtype and found.shape == wanted.shape
    assert found.flags.c_contiguous
    if dtype.name in TOLERANCES:
        tolerance = TOLERANCES[dtype.name]
        scale = np.sqrt(max(1, np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(found.astype(wanted.dtype), wanted, rtol=tolerance, atol=20 * tolerance * scale)
    else:
        np.testing.assert_array_equal(found, wanted)


LAYOUTS = {
    "dense": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "padded rows": lambda a: np.concatenate([a, a], -1)[..., :a.shape[-1]],
    "every second": lambda a: np.repeat(np.repeat(a, 2, -1), 2, -2)[..., ::2, ::2],
    "read-only": lambda a: np.broadcast_to(a, a.shape),
}


@pytest.fixture(params=level.supported_levels())
def every_level(request):
    before = level.cpu_level()
    level.set_cpu_level(request.param)
    yield
    level.set_cpu_level(before)


def test_library_is_found():
    assert openblas.available()
    assert "OpenBLAS" in openblas.config()
    assert openblas.num_threads() >= 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matmul_of_every_layout(dtype, every_level):
    for seed, (m, k, n) in enumerate(SIZES):
        a, b = sample((m, k), dtype, seed), sample((k, n), dtype, seed + 100)
        wanted = expected(a, b)
        for layout_a in LAYOUTS.values():
            for layout_b in LAYOUTS.values():
                check(blas.matmul(layout_a(a), layout_b(b)), wanted, dtype)


@pytest.mark.parametrize("dtype", [*FLOATS[:3], INTEGERS[0], INTEGERS[4]], ids=str)
def test_linear_of_every_layout(dtype, every_level):
    for seed, (m, k, n) in enumerate(SIZES):
        a, weight, bias = sample((m, k), dtype, seed), sample((n, k), dtype, seed + 100), sample(2 * n, dtype, seed + 200)[::2]
        wanted = np.add(expected(a, weight.T), bias)
        for layout_a in LAYOUTS.values():
            for layout_weight in LAYOUTS.values():
                check(blas.linear(layout_a(a), layout_weight(weight), bias), wanted, dtype)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], HALVES[0], INTEGERS[3]], ids=str)
def test_zero_strides(dtype):
    for m, k, n in SIZES:
        row, column = sample((1, k), dtype), sample((k, 1), dtype, 1)
        a, b = np.broadcast_to(row, (m, k)), np.broadcast_to(column, (k, n))
        check(blas.matmul(a, b), expected(a, b), dtype)
        one = np.broadcast_to(sample((), dtype), (k, n))
        check(blas.matmul(a, one), expected(a, one), dtype)


@pytest.fixture(params=[1, 2, 3, 6])
def every_thread_count(request):
    before = parallel.num_threads()
    parallel.set_num_threads(request.param)
    yield
    parallel.set_num_threads(before)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[3], HALVES[0], INTEGERS[4]], ids=str)
@pytest.mark.parametrize("m, k, n", [(257, 130, 200), (2000, 40, 30), (30, 40, 2000), (1, 900, 900), (900, 900, 1), (130, 131, 132)])
def test_shared_by_threads(dtype, m, k, n, every_thread_count):
    a, b, c = sample((m, k), dtype), sample((k, n), dtype, 1), sample((m, n), dtype, 2)
    for layout_b in LAYOUTS.values():
        check(blas.matmul(a, layout_b(b)), expected(a, b), dtype)
    wide = np.float32 if dtype in HALVES else dtype
    check(blas.addmm(c, a, b, 2, 3), (np.array(2, wide) * c.astype(wide) + np.array(3, wide) * expected(a, b)).astype(wide), dtype)


@pytest.mark.parametrize("batch", [2, 3, 30])
def test_batches_shared_by_threads(batch, every_thread_count):
    for dtype in (FLOATS[0], INTEGERS[4]):
        a, b = sample((batch, 100, 110), dtype), sample((batch, 110, 120), dtype, 1)
        check(blas.bmm(a, b), expected(a, b), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("a_shape, b_shape", [
    ((5,), (5,)), ((3, 5), (5,)), ((5,), (5, 4)), ((2, 3, 5), (5,)), ((5,), (2, 5, 4)), ((2, 3, 5), (5, 4)), ((3, 5), (2, 5, 4)),
    ((2, 1, 3, 5), (7, 5, 4)), ((2, 30, 31), (2, 31, 40)), ((1, 3, 5), (6, 5, 4)), ((100, 9, 9), (100, 9, 9)), ((4, 2, 40, 40), (2, 40, 40)),
])
def test_batches_broadcast(dtype, a_shape, b_shape):
    a, b = sample(a_shape, dtype), sample(b_shape, dtype, 1)
    check(blas.matmul(a, b), expected(a, b), dtype)
    if a.ndim > 2:
        check(blas.matmul(LAYOUTS["transposed"](a), b), expected(a, b), dtype)
        flipped = np.ascontiguousarray(a.swapaxes(0, -3)).swapaxes(0, -3)
        check(blas.matmul(flipped, b), expected(a, b), dtype)
    if b.ndim > 2:
        check(blas.matmul(a, LAYOUTS["every second"](b)), expected(a, b), dtype)
        wide = np.broadcast_to(b[:1], b.shape)
        check(blas.matmul(a, wide), expected(a, wide), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("a_shape, b_shape", [
    ((0,), (0,)), ((0, 3), (3, 4)), ((3, 0), (0, 4)), ((3, 4), (4, 0)), ((2, 3, 0), (2, 0, 4)), ((0, 3, 2), (2, 4)), ((0, 3, 2), (1, 2, 4)),
    ((3, 0), (0,)), ((100, 0), (0, 100)),
])
def test_zero_sizes(dtype, a_shape, b_shape):
    a, b = np.zeros(a_shape, dtype), np.zeros(b_shape, dtype)
    check(blas.matmul(a, b), expected(a, b), dtype)


def test_parts_of_complex_numbers():
    z = sample((40, 40), np.dtype("complex64"))
    check(blas.matmul(z.real, z.imag), z.real @ z.imag, np.dtype("float32"))


def test_strides_that_split_elements():
    records = np.zeros((6, 7), np.dtype([("tag", "u2"), ("value", "f4")], align=False))
    records["value"] = sample((6, 7), FLOATS[0])
    packed = records["value"]
    assert packed.strides[0] % 4
    aligned = packed.copy()
    check(blas.matmul(packed, packed.T), aligned @ aligned.T, FLOATS[0])


@pytest.mark.parametrize("size", [4, 100])
def test_special_values(size):
    a = np.eye(size, dtype=np.float32)
    a[1, 2] = np.inf
    b = np.ones((size, 3), np.float32)
    b[2, 0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(blas.matmul(a, b), a @ b)


def test_sums_of_half_precision_round_once():
    a = np.ones((1, 4096), np.float16)
    assert blas.matmul(a, a.T)[0, 0] == 4096


@pytest.mark.parametrize("m", [1, 2, 15, 17, 32, 33, 65])
@pytest.mark.parametrize("transposed", [False, True])
def test_bfloat16_rounds_once_at_the_edges_of_tiles(m, transposed):
    for k in (0, 1, 16, 31, 32, 33, 64, 100):
        for n in (1, 15, 16, 33, 64, 65):
            a, w, bias = sample((m, k), BFLOAT16), sample((n, k), BFLOAT16, 1), sample((n,), BFLOAT16, 2)
            a = LAYOUTS["transposed"](a) if transposed else a
            w = LAYOUTS["transposed"](w) if transposed else w
            exact, size = a.astype(float) @ w.astype(float).T, np.abs(a.astype(float)) @ np.abs(w.astype(float)).T
            for found, wanted in ((blas.matmul(a, w.T), exact), (blas.linear(a, w, bias), exact + bias.astype(float)),
                                  (blas.addmm(np.broadcast_to(bias, (m, n)), a, w.T, 1, 1), exact + bias.astype(float)),
                                  (blas.addmm(np.broadcast_to(bias, (m, n)), a, w.T, 0.5, 3), 3 * exact + 0.5 * bias.astype(float))):
                assert found.dtype == BFLOAT16 and found.shape == (m, n)
                assert (np.abs(found.astype(float) - wanted) <= 2.0**-8 * np.abs(wanted) + 1e-5 * (size + 1)).all()


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
def test_bfloat16_products_without_memory_for_tiles():
    """Packed, the factors would take 128 MB."""
    done = run_python("""
        import resource, numpy as np, ml_dtypes
        from pyx_tensor_cpu import blas, parallel
        parallel.set_num_threads(1)
        a = np.ones((2, 1 << 20), ml_dtypes.bfloat16)
        small = np.ones((64, 64), ml_dtypes.bfloat16)
        blas.matmul(small, small), blas.matmul(a[:, :64], a[:, :64].T)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 60 * 2**20,) * 2)
        for layout in (a.T, np.ascontiguousarray(a.T)):
            assert (blas.matmul(a, layout) == 1 << 20).all()
        """)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("op, arrays", [
    (blas.matmul, ((2, 3), (4, 5))), (blas.matmul, ((), (3,))), (blas.matmul, ((2, 3, 4), (3, 4, 5))), (blas.linear, ((2, 3), (4, 5))),
    (blas.linear, ((2, 3), (4, 3), (5,))), (blas.linear, ((2, 3), (4,))), (blas.addmm, ((2, 2), (2, 3), (4, 2))),
    (blas.addmm, ((7,), (2, 3), (3, 2))),
])
def test_shapes_that_do_not_fit(op, arrays):
    with pytest.raises(ValueError):
        op(*[np.ones(shape, np.float32) for shape in arrays])


def test_dtypes_that_differ():
    with pytest.raises(TypeError, match="float32.*float64"):
        blas.matmul(np.ones((2, 2), np.float32), np.ones((2, 2)))


def test_named_products(every_thread_count):
    a, b = sample((3, 4, 5), FLOATS[0]), sample((3, 5, 6), FLOATS[0], 1)
    check(blas.bmm(a, b), a @ b, FLOATS[0])
    check(blas.mv(a[0], b[0, :, 0]), a[0] @ b[0, :, 0], FLOATS[0])
    for dtype in (FLOATS[0], FLOATS[3], HALVES[1], INTEGERS[1], np.dtype(bool)):
        for size in (1000, 400_003):
            x, y = sample((size,), dtype), sample((size,), dtype, 1)
            for layout in (x, np.repeat(x, 2)[::2]):
                check(blas.dot(layout, y), expected(x, y), dtype)
    with pytest.raises(ValueError):
        blas.dot(x, y[1:])


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
@pytest.mark.parametrize("shape, out", [((10,), 10), ((1, 10), 10), ((32, 64), 64), ((2, 5, 64), 3), ((0, 4), 3), ((3, 0), 2), ((1, 784), 10), ((40, 1), 7)])
def test_linear(dtype, shape, out):
    a, weight, bias = sample(shape, dtype), sample((out, shape[-1]), dtype, 1), sample((out,), dtype, 2)
    wide = np.float32 if dtype in HALVES else dtype
    wanted = expected(a, weight.T)
    check(blas.linear(a, weight, None), wanted, dtype)
    check(blas.linear(a, weight, bias), (wanted + bias.astype(wide)).astype(wide), dtype)
    check(blas.linear(LAYOUTS["every second"](a) if a.ndim > 1 else a, LAYOUTS["transposed"](weight), np.repeat(bias, 2)[::2]),
          (wanted + bias.astype(wide)).astype(wide), dtype)


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
@pytest.mark.parametrize("m, k, n", [(3, 4, 5), (30, 40, 50), (1, 50, 40), (40, 50, 1), (3, 0, 4)])
@pytest.mark.parametrize("beta, alpha", [(1, 1), (0, 1), (2, 3), (0, 2), (1, 0)])
def test_addmm(dtype, m, k, n, beta, alpha):
    a, b = sample((m, k), dtype), sample((k, n), dtype, 1)
    for shape in [(m, n), (n,), (m, 1), ()]:
        c = sample(shape, dtype, 2)
        wide = np.float32 if dtype in HALVES else dtype
        scales = np.asarray([beta, alpha]).astype(wide)
        wanted = (scales[0] * c.astype(wide) + scales[1] * expected(a, b)).astype(wide)
        check(blas.addmm(c, a, b, beta, alpha), wanted, dtype)
    out = sample((m, n), dtype, 2)
    wanted = (scales[0] * out.astype(wide) + scales[1] * expected(a, b)).astype(wide)
    assert blas.addmm(out, a, b, beta, alpha, out) is out
    check(out, wanted, dtype)


@pytest.mark.parametrize("size", [3, 60])
def test_addmm_into_a_factor_and_into_strided_memory(size):
    a, b, c = (sample((size, size), FLOATS[0], seed) for seed in range(3))
    wanted = c + a @ b
    strided = np.zeros((size, 2 * size), np.float32)[:, ::2]
    blas.addmm(c, a, b, 1, 1, strided)
    np.testing.assert_allclose(strided, wanted, rtol=1e-4, atol=1e-4)
    blas.addmm(c, a, b, 1, 1, a)
    check(a, wanted, FLOATS[0])


@pytest.mark.parametrize("size", [1, 3, 60])
@pytest.mark.parametrize("alpha", [1, 0.5])
def test_beta_of_zero_ignores_the_input(size, alpha):
    a = sample((size, 40), FLOATS[0])
    for columns in (1, 30):
        b = sample((40, columns), FLOATS[0], 1)
        out = np.full((size, columns), np.nan, np.float32)
        blas.addmm(out, a, b, 0, alpha, out)
        check(out, np.float32(alpha) * (a @ b), FLOATS[0])


def test_inputs_stay_as_they_are():
    arrays = [sample((40, 40), FLOATS[0], seed) for seed in range(3)]
    copies = [a.copy() for a in arrays]
    blas.addmm(*arrays, 2, 3)
    blas.linear(arrays[0], arrays[1], arrays[2][0])
    for a, copy in zip(arrays, copies):
        np.testing.assert_array_equal(a, copy)


def run_python(code):
    path = os.pathsep.join(sys.path)
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, PYTHONPATH=path))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_products_after_a_fork():
    done = run_python("""
        import os, signal
        import numpy as np
        from pyx_tensor_cpu import blas
        big, batch = np.ones((600, 600), np.float32), np.ones((64, 64, 64), np.float32)
        ints = np.ones((300, 300), np.int64)
        def work():
            return blas.matmul(big, big)[0, 0] == 600 and blas.matmul(batch, batch)[-1, 0, 0] == 64 and blas.matmul(ints, ints)[0, 0] == 300
        assert work()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if work() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert work()
    """)
    assert done.returncode == 0, done.stderr


def test_without_the_library():
    done = run_python("""
        import importlib.util
        importlib.util.find_spec = lambda name: None
        import numpy as np
        from pyx_tensor_cpu import blas, openblas
        for dtype in ("float32", "float64", "complex64", "complex128"):
            a = np.random.default_rng(0).standard_normal((100, 120)).astype(dtype)
            assert np.allclose(blas.matmul(a, a.T), a @ a.T, rtol=1e-3, atol=1e-3)
            assert np.allclose(blas.addmm(a[:, :100], a, a.T, 2, 3), 2 * a[:, :100] + 3 * (a @ a.T), rtol=1e-3, atol=1e-3)
        assert not openblas.available() and openblas.config() is None
    """)
    assert done.returncode == 0, done.stderr


def test_library_is_opened_on_first_use_without_its_package():
    done = run_python("""
        import sys
        import numpy as np
        from pyx_tensor_cpu import blas
        blas.matmul(np.ones((100, 100)), np.ones((100, 100)))
        assert "scipy_openblas64" not in sys.modules
    """)
    assert done.returncode == 0, done.stderr
