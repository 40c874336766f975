"""`pyx_tensor.cpu`: what the allocator holds, and PyTorch's questions about the device."""
import pyx_tensor as torch


def test_bytes_in_use_and_peak():
    torch.cpu.empty_cache()
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_stats()
    x = torch.zeros(1 << 20)
    held = torch.cpu.memory_stats()
    assert held["allocated_bytes"] - before["allocated_bytes"] >= 4 << 20 and held["peak_bytes"] == held["allocated_bytes"]
    del x
    after = torch.cpu.memory_stats()
    assert after["allocated_bytes"] == before["allocated_bytes"] and after["peak_bytes"] == held["peak_bytes"]
    assert after["cached_bytes"] >= 4 << 20
    torch.cpu.empty_cache()
    torch.cpu.reset_peak_memory_stats()
    cleared = torch.cpu.memory_stats()
    assert cleared["cached_bytes"] == 0 and cleared["peak_bytes"] == before["allocated_bytes"]


def test_one_device():
    assert torch.cpu.is_available() and torch.cpu.is_initialized() and torch.cpu.device_count() == 1
    assert torch.cpu.current_device() == "cpu" and torch.device(torch.cpu.current_device()) == torch.device("cpu")
    assert torch.cpu.synchronize() is None and torch.cpu.set_device("cpu") is None
