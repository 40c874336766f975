"""The CPU backend's copies, conversions, views, memory and threads, against NumPy."""
import os
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest

from pyx_tensor_cpu import build_info, copying as C, level, memory, parallel, pointwise as P

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in ("?", "u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", BF16, "f4", "f8", "c8", "c16")]


@pytest.fixture(params=level.supported_levels())
def cpu_level(request):
    before = level.cpu_level()
    level.set_cpu_level(request.param)
    yield request.param
    level.set_cpu_level(before)


def converted(a, dtype):
    """NumPy's conversion, by way of float for half precision."""
    if a.dtype.kind == "c" and dtype.kind != "c":
        a = (a != 0) if dtype.kind == "b" else a.real
    if BF16 in (a.dtype, dtype) and a.dtype != dtype:
        a = a.astype("f4")
    return a.astype(dtype)


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_cast(source, target, cpu_level):
    values = np.arange(0, 120, 2.5).reshape(6, 8)
    a = converted(values, source)
    for x in (a, a.T, a[::2, 1::3], a[:0], np.array(a[1, 1])):
        got = C.cast(x, target)
        assert got.dtype == target and got is not x
        np.testing.assert_array_equal(got, converted(x, target))
    assert C.cast(a.T, target).flags.f_contiguous


@pytest.mark.parametrize("values, source, target, expected", [
    ([-1.7, 1.7, -0.5], "f4", "i4", [-1, 1, 0]), ([300, -1], "i8", "u1", [44, 255]), ([-1.5, 300.7], "f8", "u1", [255, 44]), ([np.nan, 0, np.inf], "f4", "?", [True, False, True]),
    ([-1.0], "f4", "u4", [2 ** 32 - 1]), ([2.0 ** 63], "f8", "u8", [2 ** 63]), ([1j, 0], "c8", "?", [True, False]), ([1 + 2j], "c16", "f4", [1]), ([0.1], "f8", "f2", [np.float16(0.1)]),
])
def test_cast_values(values, source, target, expected, cpu_level):
    for n in (1, 40):       # scalar and vector code agree
        got = C.cast(np.array(values * n, source), np.dtype(target))
        np.testing.assert_array_equal(got, np.array(expected * n, target))


def test_half_precision_conversions(cpu_level):
    """Every float16 and bfloat16, and floats around each boundary between two of them."""
    bits = np.arange(1 << 16, dtype="u2")
    for dtype in (np.dtype("f2"), BF16):
        every = bits.view(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            as_float = every.astype("f4")
        np.testing.assert_array_equal(C.cast(every, np.dtype("f4")), as_float)
        with np.errstate(all="ignore"):
            middle = np.concatenate([as_float, as_float * np.float32(1 + 2 ** -9), as_float * np.float32(1 + 2 ** -12), np.nextafter(as_float, np.float32(0)),
                                     (as_float[:-1] + as_float[1:]) / 2, np.array([65519.99, 65520, 1e38, -3.4e38, 2.0 ** -25, 2.0 ** -25 * 1.001], "f4")])
            expected = middle.astype(dtype)
        got = C.cast(middle, dtype)
        nan = np.isnan(middle)
        np.testing.assert_array_equal(got[~nan].view("u2"), expected[~nan].view("u2"))
        assert np.isnan(got[nan].astype("f4")).all()


def test_copy_and_copy_():
    a = np.arange(60, dtype="f4").reshape(3, 4, 5)
    for x in (a, a.T, a[:, ::2], a[::-1]):
        assert C.copy(x).flags.c_contiguous and not np.shares_memory(C.copy(x), a)
        np.testing.assert_array_equal(C.copy(x), x)
    dst = np.zeros((3, 4, 5), "i8")
    assert C.copy_(dst, a[1]) is dst
    np.testing.assert_array_equal(dst, np.broadcast_to(a[1], dst.shape))
    wide = np.zeros((6, 8), "c8")
    C.copy_(wide[::2, ::2], np.full((3, 4), 2.5, "f2"))
    assert wide.sum() == 30 and wide[1].sum() == 0
    with pytest.raises(ValueError, match="does not broadcast"):
        C.copy_(dst, np.zeros((2, 5), "i8"))
    with pytest.raises(ValueError, match="does not broadcast"):
        C.copy_(dst[0, 0], a)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        C.copy_(a, dst)


@pytest.mark.parametrize("n", [10, 5000])
def test_copy_overlapping(n):
    for dst_slice, src_slice in ((np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[::-1], np.s_[:]), (np.s_[::2], np.s_[n // 2:])):
        a = np.arange(n, dtype="f4")
        dst, src = a[dst_slice], a[src_slice][:len(a[dst_slice])]
        expected = src.copy()
        C.copy_(dst[:len(src)], src)
        np.testing.assert_array_equal(dst[:len(src)], expected)
    m = np.arange(4900, dtype="f4").reshape(70, 70)[:n, :n]
    expected = m.T.copy()
    C.copy_(m, m.T)
    np.testing.assert_array_equal(m, expected)


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(8, 8), (7, 70), (8, 1024), (65, 127), (64, 64), (129, 200), (3, 130, 70)], ids=str)
def test_copy_of_turned_array(shape, dtype):
    """Tiles, the strips beside them, and rows that are read backwards or again and again."""
    a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for x in (a.swapaxes(-1, -2), a.swapaxes(-1, -2)[..., ::-1, :], a.swapaxes(-1, -2)[..., ::-1], a.T, a[..., ::-1], np.broadcast_to(a[..., :1], shape)):
        np.testing.assert_array_equal(C.copy(x), x)
        target = np.zeros(x.shape + (2,), dtype)[..., 0]
        np.testing.assert_array_equal(C.copy_(target, x), x)


@pytest.mark.parametrize("shape", [(1536, 1408), (1501, 1450)], ids=str)
def test_large_turned_copy(shape):
    """So large that the result is written past the caches, where its rows are whole cache lines."""
    for dtype in ("f4", "f8"):
        a = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
        for threads in (1, 2):
            before = parallel.num_threads()
            parallel.set_num_threads(threads)
            try:
                np.testing.assert_array_equal(C.copy(a.T), a.T)
                np.testing.assert_array_equal(P.add(C.copy(a.T), a.T), a.T + a.T)
            finally:
                parallel.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fill_and_full(dtype):
    for value in (1, True, 0.0, np.array(1, "i4")):
        np.testing.assert_array_equal(C.full((2, 3), value, dtype), np.full((2, 3), value, dtype))
    a = np.zeros((4, 6), dtype)
    assert C.fill_(a[::2, 1::2], 1) is not a and np.count_nonzero(a) == 6
    assert C.full((), 1, dtype).shape == () and C.full((0, 2), 1, dtype).shape == (0, 2)
    if dtype.kind == "u":
        assert C.full((1,), -1, dtype)[0] == np.iinfo(dtype).max
    with pytest.raises(ValueError, match="0-dim"):
        C.fill_(a, np.ones(3))


def test_as_strided():
    base = np.arange(24, dtype="f4")
    np.testing.assert_array_equal(C.as_strided(base, (3, 4), (8, 2), 1), np.lib.stride_tricks.as_strided(base[1:], (3, 4), (32, 8)))
    view = C.as_strided(base, (2, 3), (0, 1), 4)
    view[0, 0] = -1
    assert base[4] == -1 and view.strides == (0, 4) and view.flags.writeable
    assert C.as_strided(base, (), (), 23) == 23 and C.as_strided(base, (0, 5), (100, 100), 3).shape == (0, 5)
    part = base[2:10]
    np.testing.assert_array_equal(C.as_strided(part, (2,), (7,), 0), [2, 9])
    for shape, strides, offset in (((25,), (1,), 0), ((3,), (12,), 0), ((1,), (1,), 24), ((2,), (-1,), 5), ((2,), (1,), -1), ((-1,), (1,), 0),
                                   ((1 << 62, 2), (1 << 62, 1), 0), ((2, 2), (23, 1), 0)):
        with pytest.raises(RuntimeError, match="out of bounds"):
            C.as_strided(base, shape, strides, offset)
    with pytest.raises(ValueError, match="one length"):
        C.as_strided(base, (2, 2), (1,), 0)
    base.flags.writeable = False
    assert not C.as_strided(base, (2,), (1,), 0).flags.writeable


def test_cat():
    a, b = np.arange(6, dtype="i2").reshape(2, 3), np.arange(8, dtype="i2").reshape(4, 2)
    np.testing.assert_array_equal(C.cat([a, b.T[:, :3]], 0), np.concatenate([a, b.T[:, :3]], 0))
    np.testing.assert_array_equal(C.cat([a, b[::2], np.empty(0, "i2")], 1), np.concatenate([a, b[::2]], 1))
    assert C.cat([np.empty(0, "f4")], 0).shape == (0,)
    with pytest.raises(ValueError, match="differ in another dimension"):
        C.cat([a, b], 1)
    with pytest.raises(TypeError, match="dtypes"):
        C.cat([a, a.astype("f4")], 0)
    with pytest.raises(ValueError, match="out of range"):
        C.cat([a, a], 2)


def test_flip_and_roll():
    a = np.arange(24, dtype="f8").reshape(2, 3, 4)
    np.testing.assert_array_equal(C.flip(a, (0, 2)), np.flip(a, (0, 2)))
    np.testing.assert_array_equal(C.roll(a, (1, -6), (0, 2)), np.roll(a, (1, -6), (0, 2)))
    np.testing.assert_array_equal(C.roll(a, (5,), ()), np.roll(a, 5))
    assert C.roll(a[:0], (1,), (0,)).shape == (0, 3, 4)


def test_arange_and_eye():
    for arguments in ((0, 10, 3), (10, 0, -3), (0, 1, 0.1), (5, 5, 1), (2, 1, 1)):
        for dtype in ("f4", "f8", "i8"):
            got = C.arange(*arguments, dtype)
            np.testing.assert_array_equal(got, np.arange(*arguments).astype(dtype))
            assert got.dtype == dtype
    with pytest.raises(ValueError, match="step"):
        C.arange(0, 1, 0, "f4")
    np.testing.assert_array_equal(C.eye(3, 4, "f2"), np.eye(3, 4))


# ---- memory and threads ----

def test_block_cache():
    memory.empty_cache()
    start = memory.memory_stats()
    a = memory.empty((1 << 20,), "f4")
    assert a.ctypes.data % 64 == 0 and not a.flags.owndata and a.flags.writeable
    address, held = a.ctypes.data, memory.memory_stats()["allocated_bytes"] - start["allocated_bytes"]
    assert held >= a.nbytes
    view = a[10:]
    del a
    assert memory.memory_stats()["cached_bytes"] == 0       # the view keeps the block
    view[:] = 1
    del view
    assert memory.memory_stats()["cached_bytes"] == held
    b = memory.empty((1000, 1040), "f4")                    # of the same size class
    assert b.ctypes.data == address and memory.memory_stats()["hits"] == start["hits"] + 1
    del b
    memory.empty_cache()
    stats = memory.memory_stats()
    assert stats["cached_bytes"] == 0 and stats["allocated_bytes"] == start["allocated_bytes"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a forked process gets the free blocks too")
def test_forked_processes_go_without_the_free_blocks():
    """Else the pages of a block that is used again would be copied one by one; what lives is there as ever."""
    memory.empty_cache()
    kept = memory.empty((1 << 20,), "f4")
    kept[:] = 3
    free = memory.empty((1 << 22,), "f4")
    address = free.ctypes.data
    del free
    before = memory.memory_stats()
    pid = os.fork()
    if pid == 0:
        stats = memory.memory_stats()
        fresh = memory.empty((1 << 22,), "f4")
        fresh[:] = 2
        alright = stats["cached_blocks"] == 0 and stats["cached_bytes"] == 0 and kept.min() == kept.max() == 3 and fresh.max() == 2
        del kept, fresh
        os._exit(0 if alright and memory.memory_stats()["cached_blocks"] == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert memory.memory_stats() == before
    again = memory.empty((1 << 22,), "f4")
    again[:] = 1
    assert again.ctypes.data == address and again.max() == 1
    del again, kept
    memory.empty_cache()


def test_block_cache_is_bounded():
    memory.empty_cache()
    for megabytes in range(1, 400):                         # as many sizes as arrays
        memory.empty((megabytes << 18,), "f4")
    stats = memory.memory_stats()
    assert stats["cached_bytes"] <= stats["limit_bytes"] and stats["cached_blocks"] <= 256
    memory.empty_cache()


def test_allocation_errors():
    with pytest.raises(MemoryError, match="17592186044416 bytes|cannot allocate"):
        memory.empty((1 << 42,), "f4")
    with pytest.raises(MemoryError, match="cannot allocate"):
        memory.empty((1 << 40, 1 << 40), "f4")
    with pytest.raises(ValueError, match="negative"):
        memory.empty((-1,), "f4")


def test_threads():
    before = parallel.num_threads()
    a = np.random.default_rng(0).normal(size=(1 << 20)).astype("f4")
    try:
        results = []
        for n in (1, 2, 3):
            parallel.set_num_threads(n)
            assert parallel.num_threads() == (n if build_info.openmp else 1)
            results.append(P.exp(a))
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], results[2])
        with pytest.raises(ValueError, match="positive"):
            parallel.set_num_threads(0)
    finally:
        parallel.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_parallel_work_after_fork():
    """libgomp would wait for ever in the child."""
    before = parallel.num_threads()
    parallel.set_num_threads(2)
    a = np.ones(1 << 20, "f4")
    P.exp(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        import signal
        signal.alarm(20)
        os._exit(0 if P.add(a, a).sum() == 2 << 20 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    parallel.set_num_threads(before)


def test_levels():
    assert level.cpu_level() in level.supported_levels()
    with pytest.raises(ValueError, match="v9"):
        level.set_cpu_level("v9")


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
def test_copies_between_layouts(dtype):
    a = np.random.default_rng(0).integers(0, 99, (40, 3000)).astype(dtype)
    for source in (a[:, ::-1], a[::-1], a[:, ::3], np.broadcast_to(a[:, :1], a.shape), np.broadcast_to(a[0, 0], a.shape), a):
        np.testing.assert_array_equal(C.copy(source), source)
        target = np.zeros((40, 2, source.shape[1]), dtype)
        C.copy_(target[:, 1], source)
        np.testing.assert_array_equal(target[:, 1], source)
        assert not target[:, 0].any()
        across = np.zeros((source.shape[1], 2, 40), dtype)
        C.copy_(across[:, 1].T, source)
        np.testing.assert_array_equal(across[:, 1].T, source)
