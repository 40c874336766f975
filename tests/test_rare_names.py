"""Names of PyTorch's that a program meets now and then: the accelerator's module, tensors to test with, mapped files, control flow as functions."""
import pytest

import pyx_tensor as torch
from pyx_tensor.testing import make_tensor


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without CUDA; with it, tests/gpu asks the devices themselves")
def test_no_accelerator():
    from pyx_tensor import accelerator
    assert not accelerator.is_available() and accelerator.device_count() == 0 and accelerator.current_accelerator() is None
    for ask in (accelerator.current_device_index, accelerator.synchronize, accelerator.memory_allocated, accelerator.empty_cache):
        with pytest.raises(RuntimeError, match="none is available"):
            ask()
    with accelerator.device_index(None):
        pass
    with pytest.raises(RuntimeError, match="none is available"):
        accelerator.device_index(0).__enter__()
    assert torch.get_device_module() is torch.cpu and torch.get_device_module("cuda:1") is torch.cuda
    with pytest.raises(RuntimeError, match="cpu and cuda only"):
        torch.get_device_module("reference")


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.complex64])
def test_make_tensor(dtype):
    x = make_tensor((50, 3), dtype=dtype, device="cpu", noncontiguous=True)
    assert x.shape == (50, 3) and x.dtype is dtype and not x.is_contiguous()
    if dtype.is_floating_point:
        assert -9 <= x.min() < -5 and 5 < x.max() <= 9 and make_tensor(2, dtype=dtype, device="cpu", requires_grad=True).requires_grad
    elif not dtype.is_complex:
        assert x.long().unique().tolist() == list(range(*{torch.bool: (0, 2), torch.uint8: (0, 10), torch.int64: (-9, 10)}[dtype]))
        assert make_tensor(40, dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True).long().unique().tolist() == [1]
        with pytest.raises(ValueError, match="requires_grad"):
            make_tensor(2, dtype=dtype, device="cpu", requires_grad=True)
    with pytest.raises(ValueError, match="less than"):
        make_tensor(2, dtype=torch.int32, device="cpu", low=1, high=1)
    with pytest.raises(ValueError, match="exclusive"):
        make_tensor(2, dtype=dtype, device="cpu", noncontiguous=True, memory_format=torch.contiguous_format)


def test_a_file_as_a_tensor(tmp_path):
    path = tmp_path / "numbers"
    torch.arange(4, dtype=torch.int16).numpy().tofile(path)
    private = torch.from_file(str(path), size=4, dtype=torch.int16)
    assert private.tolist() == [0, 1, 2, 3]
    private[0] = 9
    torch.from_file(str(path), shared=True, size=5, dtype=torch.int16)[1] = 7        # made longer
    assert torch.from_file(str(path), size=5, dtype=torch.int16).tolist() == [0, 7, 2, 3, 0]
    with pytest.raises(RuntimeError, match="10 bytes"):
        torch.from_file(str(path), size=50)


def test_control_flow_as_functions():
    x = torch.tensor([4.0], requires_grad=True)
    torch.cond(x > 0, torch.sqrt, torch.neg, (x,)).backward()
    assert x.grad.tolist() == [0.25] and torch.cond(False, lambda: 1, lambda: 2) == 2
    i, total = torch.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + i), (torch.tensor(0), torch.tensor(0)))
    assert i == 5 and total == 10
    for call in (lambda: torch.cond(torch.ones(2), abs, abs), lambda: torch.cond(True, 1, abs), lambda: torch.cond(True, abs, abs, 3),
                 lambda: torch.while_loop(1, abs, ()), lambda: torch.while_loop(abs, abs, 3)):
        with pytest.raises(RuntimeError):
            call()


def test_hints_and_other_spellings():
    x, index = torch.tensor([[1.0, 2.0]], requires_grad=True), torch.tensor([[1]])
    torch.gather(x, 1, index, sparse_grad=True).sum().backward()
    assert x.grad.tolist() == [[0, 1]] and torch.legacy_contiguous_format is torch.contiguous_format
    z = torch.tensor([1 + 2j])
    assert torch.conj_physical_(z) is z and z.item() == 1 - 2j
    assert torch.from_dlpack(torch.to_dlpack(torch.ones(2))).tolist() == [1, 1]


def counted(clock_steps):
    """A clock that moves on by the next of some steps each time it is read."""
    now, steps = [0.0], iter(clock_steps)

    def clock():
        now[0] += next(steps)
        return now[0]
    return clock


def test_a_timer_and_its_measurement():
    from pyx_tensor.utils import benchmark
    runs = []
    timer = benchmark.Timer("run()", globals={"run": lambda: runs.append(torch.get_num_threads())}, timer=counted([0, 1, 0, 20.0]), label="sums")
    measured = timer.timeit(10)
    assert measured.times == [2.0] and measured.mean == measured.median == 2 and measured.iqr == 0 and len(runs) == 12 and set(runs) == {1}
    assert "sums" in repr(measured) and "2.00 s" in repr(measured) and measured.number_per_run == 10
    blocks = benchmark.Measurement(2, [2.0, 4.0, 6.0, 8.0, 10.0], "x", "pass")
    assert blocks.times == [1, 2, 3, 4, 5] and blocks.median == 3 and blocks.iqr == 2 and blocks.has_warnings and not blocks.meets_confidence()
    seen = []
    real = benchmark.Timer("pass").blocked_autorange(callback=lambda runs, seconds: seen.append(runs), min_run_time=0.01)
    assert sum(real.raw_times) >= 0.01 and len(seen) == len(real.raw_times) and 0 < real.median < 1e-3
    assert benchmark.Timer("pass").adaptive_autorange(max_run_time=0.05).median < 1e-3
    assert [benchmark.select_unit(t)[0] for t in (2e-10, 2e-7, 2e-6, 2e-3, 2.0)] == ["ns", "ns", "us", "ms", "s"]
    with pytest.raises(NotImplementedError, match="Python"):
        benchmark.Timer("x", language="cpp")


def test_measurements_side_by_side(capsys):
    from pyx_tensor.utils.benchmark import Compare, Measurement
    made = [Measurement(1, [t], "x", "pass", "sums", size, name) for t, size, name in ((2e-6, "small", "ours"), (4e-6, "small", "theirs"),
                                                                                       (3e-3, "large", "ours"), (4e-6, "small", "ours"))]
    table = Compare(made)
    table.trim_significant_figures()
    table.print()
    assert capsys.readouterr().out == ("sums\n        ours  theirs\nsmall      3       4\nlarge  3e+03\nTimes are in microseconds (us).\n")
    with pytest.raises(ValueError, match="Measurement"):
        Compare([3])
