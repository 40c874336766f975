"""CUDA: what holds without it, and the CuPy backend and `pyx_tensor.cuda` over a stand-in for CuPy with two devices."""
import subprocess
import sys
import unittest

import cupy_standin
import numpy as np
import pytest
from cuda_devices import devices, first_device  # noqa: F401

import pyx_tensor as torch
import pyx_tensor.cuda as cuda
from pyx_tensor.testing import backend_suite


# --- without CUDA -------------------------------------------------------------------------------------------------
WITHOUT = """
import sys
sys.modules["cupy"] = None                # as if CuPy weren't installed
import pyx_tensor as torch
import pyx_tensor.cuda as cuda
"""


def without_cuda(code):
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.rows("S120", "S138")
def test_without_cuda_nothing_raises_that_need_not():
    assert without_cuda("""
print(cuda.is_available(), cuda.device_count(), cuda.is_initialized(), cuda.memory_allocated(), cuda.memory_reserved())
cuda.empty_cache(); cuda.manual_seed(1); cuda.manual_seed_all(2); cuda.seed(); cuda.seed_all(); cuda.reset_peak_memory_stats()
assert cuda.max_memory_allocated() == cuda.max_memory_reserved() == 0 and not cuda.memory_stats() and cuda.get_rng_state_all() == []
assert not cuda.is_bf16_supported() and not cuda.is_tf32_supported() and cuda.get_arch_list() == [] and not torch.zeros(2).is_pinned()
assert not torch.zeros(2).storage().is_pinned() and not torch.zeros(2).untyped_storage().is_pinned()
cuda.set_device(-1)
with cuda.device(None), cuda.device(-1), cuda.stream(None): pass
""") == "False 0 False 0 0\n"


@pytest.mark.rows("S120", "S138")
def test_without_cuda_the_reason_is_given():
    out = without_cuda("""
for use in (cuda.current_device, cuda.synchronize, cuda.init, cuda.Stream, cuda.Event, cuda.current_stream, cuda.get_device_name,
            cuda.mem_get_info, cuda.get_rng_state, cuda.initial_seed, cuda.memory_summary, cuda.is_current_stream_capturing, cuda.graph_pool_handle,
            lambda: cuda.graph(cuda.CUDAGraph()).__enter__(), lambda: cuda.nvtx.mark("x"), lambda: torch.zeros(2).pin_memory(),
            lambda: torch.zeros(2).storage().pin_memory(), lambda: torch.zeros(2, pin_memory=True), lambda: cuda.set_device(0), lambda: cuda.FloatTensor(2), lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2).cuda(), lambda: torch.zeros(2).to("cuda:0")):
    try:
        use()
    except RuntimeError as error:
        print(error)
""").splitlines()
    assert len(out) == 23
    for line in out:
        assert line.startswith("device 'cuda' is not available: CuPy isn't installed")
        assert "pip install 'pyx-tensor[cuda12]'" in line


def test_without_a_driver_the_reason_is_given():
    out = without_cuda("""
import types
class CUDARuntimeError(RuntimeError): pass
def count(): raise CUDARuntimeError("cudaErrorInsufficientDriver")
runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=CUDARuntimeError)
sys.modules["cupy"] = types.SimpleNamespace(__version__="13", cuda=types.SimpleNamespace(runtime=runtime))
print(cuda.is_available())
try:
    torch.zeros(2, device="cuda")
except RuntimeError as error:
    print(error)
""")
    assert out == "False\ndevice 'cuda' is not available: CuPy 13 finds no usable CUDA driver or device: cudaErrorInsufficientDriver\n"


def test_a_mismatch_of_versions_is_explained():
    out = without_cuda("""
import types
class CUDARuntimeError(RuntimeError): pass
def count(): raise CUDARuntimeError("cudaErrorInsufficientDriver")
runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=CUDARuntimeError, runtimeGetVersion=lambda: 13000, driverGetVersion=lambda: 12040)
sys.modules["cupy"] = types.SimpleNamespace(__version__="14", cuda=types.SimpleNamespace(runtime=runtime))
for driver in (12040, 0):
    runtime.driverGetVersion = lambda: driver
    try:
        torch.zeros(2, device="cuda")
    except RuntimeError as error:
        print(error)
""").splitlines()
    assert "it is built for CUDA 13.0, the driver serves CUDA 12.4: update the driver, or pip install" in out[0]
    assert out[1].endswith("no NVIDIA driver is loaded")


def test_a_cupy_that_cannot_be_imported_is_no_missing_one():
    out = without_cuda("""
import importlib.abc, importlib.machinery
del sys.modules["cupy"]
class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "cupy" else None
    def exec_module(self, module):
        raise ImportError("libcublas.so.13: cannot open shared object file")
sys.meta_path.insert(0, Broken())
try:
    torch.zeros(2, device="cuda")
except RuntimeError as error:
    print(error)
""")
    assert "CuPy is installed, but can't be imported: libcublas.so.13: cannot open shared object file; install the one of this machine's CUDA" in out


# --- the backend --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("check", backend_suite.CHECKS)
def test_backend(devices, check):
    try:
        backend_suite.run_check("cuda", check)
    except unittest.SkipTest as skip:
        pytest.skip(str(skip))


def test_the_standin_refuses_the_wrong_device():
    with cupy_standin.Device(1):
        array = cupy_standin.ones(3)
    with pytest.raises(RuntimeError, match="the array is on device 1, but device 0 is current"):
        array + 1


# --- devices ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S125", "S136")
def test_counting(devices):
    assert cuda.is_available() and cuda.device_count() == 2 and cuda.current_device() == 0
    assert cuda.get_device_name(0) == "Stand-in" and cuda.get_device_capability(1) == (9, 1)
    assert cuda.can_device_access_peer(0, 1) and not cuda.can_device_access_peer(1, 1)


@pytest.mark.rows("S102", "S106", "S125", "S135")
def test_a_device_without_index_is_the_current_one(devices):
    assert str(torch.zeros(2, device="cuda").device) == "cuda:0"
    cuda.set_device(1)
    assert str(torch.zeros(2, device="cuda").device) == "cuda:1"
    assert str(torch.zeros(2, device="cuda:0").device) == "cuda:0"
    assert str(torch.zeros(2).cuda().device) == "cuda:1"
    assert str(torch.zeros(2).cuda(0).device) == "cuda:0"


@pytest.mark.rows("S126", "S127")
def test_the_context_restores_the_device(devices):
    with pytest.raises(KeyError):
        with cuda.device(1):
            assert cuda.current_device() == 1
            with cuda.device("cuda:0"), cuda.device(None), cuda.device(-1):
                assert cuda.current_device() == 0
            assert cuda.current_device() == 1
            raise KeyError
    assert cuda.current_device() == 0


@pytest.mark.rows("S128")
def test_operations_follow_their_operands(devices):
    x = torch.ones(2, 3, device="cuda:1")
    y = (x * 2 + x.sum(0)).exp().t() @ x
    assert str(y.device) == "cuda:1" and cuda.current_device() == 0
    assert y.cpu().numpy().shape == (3, 3)
    x[:, 1] = 5
    assert x.cpu().tolist() == [[1, 5, 1], [1, 5, 1]]


@pytest.mark.rows("S121")
def test_gradients_flow_back_to_the_cpu(devices):
    leaf = torch.ones(3, requires_grad=True)
    (leaf.cuda(1) * 3).sum().backward()
    assert str(leaf.grad.device) == "cpu" and leaf.grad.tolist() == [3, 3, 3]


@pytest.mark.rows("S129", "S130", "S131", "S133")
def test_devices_do_not_mix(devices):
    on0, on1, number = torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1"), torch.tensor(2.0)
    for a, b in ((on0, on1), (on0, torch.ones(2)), (torch.ones(2), on1)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            a + b
    assert (on1 * number).tolist() == [2, 2]
    on1.copy_(on0 * 7)
    assert str(on1.device) == "cuda:1" and on1.tolist() == [7, 7]


@pytest.mark.parametrize("wrong", [2, "cuda:5"])
def test_a_device_that_is_not_there(devices, wrong):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.set_device(wrong)
    with pytest.raises(ValueError, match="expected a cuda device, but got cpu"):
        cuda.set_device("cpu")


def test_tensors_grow_on_their_device(devices):
    x = torch.arange(4.0, device="cuda:1")
    view = x[1:3]
    x.resize_(2, 4)
    assert x.flatten()[:4].tolist() == [0, 1, 2, 3] and x.shape == (2, 4) and str(x.device) == "cuda:1"
    x[0, 1] = 9
    assert view.tolist() == [9, 2]
    out = torch.empty(0, device="cuda")
    torch.add(torch.ones(3, device="cuda"), 1, out=out)
    assert out.tolist() == [2, 2, 2]


def test_addresses(devices):
    x = torch.arange(6.0, device="cuda")
    assert x.data_ptr() == x.array.data.ptr and x[2:].data_ptr() == x.data_ptr() + 8 and x.untyped_storage().data_ptr() == x.data_ptr()
    assert torch.empty(0, device="cuda").data_ptr() == 0


def test_memory_is_read_as_other_types(devices):
    x = torch.arange(4, dtype=torch.int32, device="cuda")
    y = x.view(torch.uint8)[4:8]
    assert y.tolist() == [1, 0, 0, 0] and x.view(torch.int64)[1:].tolist() == [2 + (3 << 32)]
    y[1] = 1
    assert x[1] == 257


# --- streams ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S140")
def test_streams(devices):
    first, second = cuda.Stream(), cuda.Stream(1)
    assert second._native.device_id == 1 and first != second
    with cuda.stream(first):
        assert cuda.current_stream() == first
        with cuda.stream(None):
            assert cuda.current_stream() == first
    assert cuda.current_stream() == cuda.default_stream()
    second.wait_stream(first)
    (recorded, event, where), (waited, who, what) = cupy_standin.asked
    assert (recorded, where, waited, who, what) == ("record", first._native, "wait", second._native, event)
    assert first.query()


@pytest.mark.rows("S140")
def test_events(devices):
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert start._native.timed and start.query() and start.elapsed_time(end) == 1.5
    assert not cuda.Event()._native.timed


def test_synchronize_and_memory(devices):
    cuda.synchronize(1)
    cuda.empty_cache()
    assert cupy_standin.asked == [("synchronize", 1), "free"]
    assert cuda.memory_allocated(1) == 101 and cuda.memory_reserved() == 200 and cuda.mem_get_info() == (1 << 29, 1 << 30)


def test_numpy_comes_back(devices):
    assert isinstance(torch.ones(2, device="cuda").cpu().numpy(), np.ndarray)
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.ones(2, device="cuda").numpy()


def test_properties(devices):
    found = cuda.get_device_properties("cuda:1")
    assert (found.name, found.major, found.minor, found.total_memory, found.multi_processor_count) == ("Stand-in", 9, 1, 1 << 30, 4)
    assert "total_memory=1024MB" in repr(found)
    assert cuda.is_bf16_supported() and cuda.is_bf16_supported(False) and cuda.is_tf32_supported()
    with cuda.device_of(torch.ones(1, device="cuda:1")), cuda.device_of(torch.ones(1)):
        assert cuda.current_device() == 1


def test_more_of_streams(devices):
    high = cuda.Stream("cuda:1", priority=-1)
    assert high.priority == -1 and str(high.device) == "cuda:1" and "cuda:1" in repr(high)
    with high:
        assert cuda.current_stream() == high and cuda.current_device() == 1
    assert cuda.current_device() == 0
    other = cuda.ExternalStream(77, 1)
    assert other.cuda_stream == 77 and str(other.device) == "cuda:1"
    cuda.set_stream(other)
    cuda.set_stream(None)
    assert cupy_standin.asked == [("use", other._native)]
    event = cuda.Event()
    with pytest.raises(NotImplementedError, match="interprocess"):
        cuda.Event(interprocess=True)
    event.wait(high)
    assert cupy_standin.asked[-1] == ("wait", high._native, event._native)


def test_work_goes_to_streams_in_order(devices):
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        x = torch.ones(3, device="cuda")
    cuda.current_stream().wait_stream(side)
    x.record_stream(cuda.current_stream())
    kinds = [entry[0] for entry in cupy_standin.asked]
    assert kinds == ["record", "wait", "record", "wait", "record"]


def test_numbers_are_made_once_for_each_stream(devices, monkeypatch):
    backend, x = torch.device("cuda").backend, torch.ones(3, device="cuda")
    made, full = [], backend.full
    monkeypatch.setattr(backend, "full", lambda shape, value, *rest: made.append(value) or full(shape, value, *rest))
    backend._numbers.clear()
    for _ in range(3):
        assert (x * 2.5).tolist() == [2.5] * 3 and (x + 2.5).tolist() == [3.5] * 3
    assert made == [2.5]
    (x * -0.0), (x * 0.0), (x.double() * 2.5)
    with cuda.stream(cuda.Stream()):
        x * 2.5
    assert made == [2.5, -0.0, 0.0, 2.5, 2.5]
    for k in range(2000):
        x * float(k)
    assert len(backend._numbers) <= 256


# --- memory -------------------------------------------------------------------------------------------------------
def test_peaks_are_exact_without_counting_at_each_request(devices):
    pool, allocate = cupy_standin._pool, cupy_standin.allocator[0]
    cuda.reset_peak_memory_stats()
    counted = []
    used_bytes = pool.used_bytes
    pool.used_bytes = lambda: counted.append(1) or used_bytes()
    try:
        before = cuda.memory_allocated()
        allocate(4096)
        assert cuda.max_memory_allocated() == before + 4096
        pool.used -= 4096
        counted.clear()
        for _ in range(100):
            allocate(512)
            pool.used -= 512
        assert len(counted) < 30
        assert cuda.max_memory_allocated() == before + 4096 and cuda.memory_allocated() == before
        stats = cuda.memory_stats()
        assert stats["allocated_bytes.all.peak"] == before + 4096 and stats["allocation.all.allocated"] >= 101
        assert "Allocated memory" in cuda.memory_summary()
        cuda.reset_max_memory_allocated()
        assert cuda.max_memory_allocated() == before
    finally:
        del pool.used_bytes


def test_out_of_memory(devices):
    with pytest.raises(cuda.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which "
                       r"512.00 MiB is free. Of the allocated memory 100 bytes is allocated by pyx_tensor"):
        cupy_standin.allocator[0](1 << 21)
    assert issubclass(cuda.OutOfMemoryError, RuntimeError) and cuda.OutOfMemoryError is torch.OutOfMemoryError


def test_an_error_of_memory_keeps_its_class_in_creation(devices, monkeypatch):
    monkeypatch.setattr(torch.device("cuda").backend, "empty", lambda *args, **keywords: cupy_standin.allocator[0](1 << 21))
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        torch.empty(1 << 19, device="cuda")


def test_a_part_of_the_memory(devices):
    cuda.set_per_process_memory_fraction(0.5)
    assert cupy_standin.asked == [("limit", 0.5)]
    with pytest.raises(ValueError, match="Invalid fraction value"):
        cuda.set_per_process_memory_fraction(1.5)
    with pytest.raises(TypeError, match="must be `float`"):
        cuda.set_per_process_memory_fraction(1)


# --- copies -------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S137", "S139")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_pinned_memory(devices, dtype):
    x = torch.tensor([[0.0, 1.0], [1.0, 1.0]]).to(getattr(torch, dtype))
    pinned = x.pin_memory()
    assert not x.is_pinned() and pinned.is_pinned() and pinned[1:].is_pinned() and pinned.pin_memory() is pinned
    assert pinned.dtype is x.dtype and torch.equal(pinned, x)
    cupy_standin.asked.clear()
    y = pinned.to("cuda", non_blocking=True)
    assert cupy_standin.asked[0] == "set" and torch.equal(y.cpu(), x)
    back = y.to("cpu", non_blocking=True)
    assert back.is_pinned() and torch.equal(back, x)
    cupy_standin.asked.clear()
    assert torch.equal(pinned.cuda().cpu(), x) and torch.equal(x.cuda(non_blocking=True).cpu(), x)
    assert "set" not in cupy_standin.asked
    y.copy_(pinned, non_blocking=True)
    assert cupy_standin.asked[0] == "set"


@pytest.mark.rows("S137")
def test_pinned_storages(devices):
    x = torch.arange(3.0)
    for storage in (x.storage(), x.untyped_storage()):
        pinned = storage.pin_memory()
        assert not storage.is_pinned() and pinned.is_pinned() and pinned.pin_memory() is pinned and pinned.tolist() == storage.tolist()


def test_pinned_memory_from_the_start(devices):
    assert torch.zeros(3, pin_memory=True).is_pinned() and torch.empty(0, pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.zeros(2, device="cuda").pin_memory()
    leaf = torch.ones(2, requires_grad=True)
    (leaf.to("cuda", non_blocking=True) * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3]


@pytest.mark.rows("S146")
def test_loaders_pin_their_batches(devices):
    data = torch.utils.data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
    for x, y in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)])
    assert packed.pin_memory().is_pinned() and not packed.is_pinned()


@pytest.mark.rows("S133")
def test_copies_between_devices(devices):
    x = torch.arange(6.0, device="cuda:0").reshape(2, 3).t()
    y = x.to("cuda:1")
    assert str(y.device) == "cuda:1" and torch.equal(y.cpu(), x.cpu())
    x.zero_()
    assert y.cpu().sum() == 15


def test_only_cuda_devices_for_cuda(devices):
    for wrong in ("cpu", torch.device("cpu")):
        with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
            torch.ones(2).cuda(wrong)
    assert str(torch.ones(2).cuda("cuda:1").device) == str(torch.ones(2).cuda(torch.device("cuda", 1)).device) == "cuda:1"


# --- other users of the memory ------------------------------------------------------------------------------------
class Foreign:
    """An array on a device that only speaks one of the protocols."""

    def __init__(self, array, *names):
        for name in names:
            setattr(type(self), name, property(lambda self, name=name: getattr(array, name)))


def test_memory_is_shared_by_both_protocols(devices):
    x = torch.arange(4.0, device="cuda")
    assert x.__dlpack_device__() == (2, 0) and x.__cuda_array_interface__["data"][0] == x.data_ptr()
    for y in (torch.as_tensor(type("A", (Foreign,), {})(x.array, "__cuda_array_interface__")), torch.from_dlpack(x.array),
              torch.utils.dlpack.from_dlpack(x.array)):
        assert str(y.device) == "cuda:0" and y.data_ptr() == x.data_ptr()
        y[0] = 7
        assert x[0] == 7
        x[0] = 0


def test_who_may_not_share(devices):
    with pytest.raises(AttributeError, match="on non-CUDA tensor type: torch.FloatTensor"):
        torch.ones(2).__cuda_array_interface__
    leaf = torch.ones(2, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        leaf.__cuda_array_interface__
    with pytest.raises(BufferError, match="require gradient"):
        leaf.__dlpack__()


@pytest.mark.rows("S123")
def test_named_types(devices):
    x = cuda.FloatTensor(2, 3)
    assert str(x.device) == "cuda:0" and x.type() == "torch.cuda.FloatTensor" and isinstance(x, cuda.FloatTensor)
    assert cuda.LongTensor([1, 2]).dtype is torch.int64 and not isinstance(torch.ones(2), cuda.FloatTensor)
    assert torch.ones(2).type("torch.cuda.DoubleTensor").is_cuda


@pytest.mark.rows("S016")
def test_printing(devices):
    x = torch.ones(2, device="cuda:1", dtype=torch.float64, requires_grad=True)
    assert repr(torch.ones(2, device="cuda:1")) == "tensor([1., 1.], device='cuda:1')"
    assert repr(x + torch.tensor([1, 9], device="cuda:1")) == "tensor([ 2., 10.], device='cuda:1', dtype=torch.float64,\n       grad_fn=<AddBackward0>)"


def test_the_default_device(devices):
    with torch.device("cuda:1"):
        assert str(torch.zeros(2).device) == "cuda:1"
    torch.set_default_device("cuda")
    try:
        assert str(torch.zeros(2).device) == str(torch.tensor([1.0]).device) == "cuda:0"
    finally:
        torch.set_default_device("cpu")


@pytest.mark.rows("S157")
@pytest.mark.parametrize("where,expected", [(None, "cuda:1"), ("cpu", "cpu"), ("cuda:0", "cuda:0"), ({"cuda:1": "cuda:0"}, "cuda:0"),
                                            (lambda storage, location: storage.cuda(0) if location == "cuda:1" else storage, "cuda:0")])
def test_files_remember_devices(devices, tmp_path, where, expected):
    torch.save({"x": torch.arange(3, device="cuda:1")}, tmp_path / "x.pt")
    x = torch.load(tmp_path / "x.pt", map_location=where)["x"]
    assert str(x.device) == expected and x.tolist() == [0, 1, 2]


# --- random numbers -----------------------------------------------------------------------------------------------
def test_one_stream_of_random_numbers(devices):
    cuda.manual_seed(5)
    on_device = torch.randn(4, device="cuda")
    torch.manual_seed(5)
    assert torch.equal(on_device.cpu(), torch.randn(4)) and cuda.initial_seed() == 5
    state, states = cuda.get_rng_state(), cuda.get_rng_state_all()
    first = torch.rand(3, device="cuda:1")
    cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda:1")) and len(states) == 2
    cuda.set_rng_state_all(states)
    assert torch.equal(first, torch.rand(3, device="cuda:1"))


# --- graphs -------------------------------------------------------------------------------------------------------
def test_a_graph(devices):
    g, x = cuda.CUDAGraph(), torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        g.replay()
    with cuda.graph(g):
        assert cuda.is_current_stream_capturing() and cuda.current_stream() != cuda.default_stream()
        y = torch.nn.functional.softmax(x * 2, 0)
        x.index_select(0, torch.zeros(1, dtype=torch.int64, device="cuda"))      # unchecked
    assert not cuda.is_current_stream_capturing() and cuda.current_stream() == cuda.default_stream()
    g.replay()
    assert cupy_standin.asked[-1] == ("launch", g._graph) and y.shape == (3,)
    with pytest.raises(RuntimeError, match="already owns a captured graph"):
        g.capture_begin()
    g.reset()


@pytest.mark.parametrize("use", [lambda x: x.sum().item(), lambda x: torch.tensor([1.0, 2.0]).cuda(), lambda x: torch.nn.functional.dropout(x), lambda x: bool(x.sum() > 1)])
def test_what_a_graph_cannot_do_again(devices, use):
    g, x = cuda.CUDAGraph(), torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="while a CUDA graph is captured"), cuda.graph(g):
        use(x)
    assert not cuda.is_current_stream_capturing() and cuda.current_stream() == cuda.default_stream()


def test_a_graph_needs_a_stream_of_its_own(devices):
    with pytest.raises(RuntimeError, match="non-default stream"):
        cuda.CUDAGraph().capture_begin()
    with pytest.raises(RuntimeError, match="no recording was begun"):
        cuda.CUDAGraph().capture_end()


# --- marks and mixed precision ------------------------------------------------------------------------------------
def test_marks(devices):
    cuda.nvtx.mark("here")
    with cuda.nvtx.range("step {}", 3):
        assert cuda.nvtx.range_push("inner") == 1 and cuda.nvtx.range_pop() == 1
    assert cupy_standin.asked == [("mark", "here"), ("push", "step 3"), ("push", "inner"), "pop", "pop"]


def test_mixed_precision(devices):
    x = torch.ones(2, 2, device="cuda", requires_grad=True)
    with cuda.amp.autocast():
        y = x @ x
    assert y.dtype is torch.float16
    with cuda.amp.autocast(enabled=False):
        assert (x @ x).dtype is torch.float32
    scaler = cuda.amp.GradScaler(init_scale=8.0)
    optimizer = torch.optim.SGD([x], 0.5)
    scaler.scale(x.sum()).backward()
    assert x.grad[0, 0] == 8
    scaler.step(optimizer)
    scaler.update()
    assert x[0, 0] == 0.5


def test_deterministic_algorithms_are_asked_for(devices):
    backend = torch.device("cuda").backend
    assert not backend.deterministic()
    torch.use_deterministic_algorithms(True)
    assert backend.deterministic()
    torch.use_deterministic_algorithms(False)


# --- several devices where there is no CUDA at all: the bookkeeping of the reference backend ---------------------------
@pytest.mark.rows("S128", "S129", "S131", "S133")
def test_devices_of_the_reference_backend():
    tensors = [torch.full((2,), float(i), device=f"reference:{i}") for i in range(4)]
    for i, a in enumerate(tensors):
        for j, b in enumerate(tensors):
            if i == j:
                assert str((a + b).device) == f"reference:{i}"
                continue
            for mixed in (lambda: a + b, lambda: torch.cat([a, b]), lambda: a.add_(b), lambda: torch.where(a > 0, a, b), lambda: torch.dot(a, b),
                          lambda: torch.nn.functional.mse_loss(a, b)):
                with pytest.raises(RuntimeError, match="same device"):
                    mixed()
            assert str(a.clone().copy_(b).device) == f"reference:{i}" and a.clone().copy_(b).tolist() == b.tolist()
            assert str(b.to(a.device).device) == f"reference:{i}" and a.tolist() == [i, i]
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(1, device="reference:4")


def test_gradients_cross_devices_of_the_reference_backend():
    leaf = torch.ones(2, device="reference:1", requires_grad=True)
    (leaf.to("reference:3") * 2).to("cpu").sum().backward()
    assert str(leaf.grad.device) == "reference:1" and leaf.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="same device"):
        torch.optim.SGD([leaf], 0.1) and leaf.add(torch.ones(2, device="reference:2"))


def test_searching_for_one_number_without_a_kernel():
    boundaries, number = torch.tensor([1.0, 2.0, 3.0], device="reference"), torch.tensor(2.0, device="reference")
    for right, expected in ((False, 1), (True, 2)):
        found = torch.searchsorted(boundaries, number, right=right)
        assert found.shape == () and found == expected and torch.bucketize(number, boundaries, right=right) == expected
