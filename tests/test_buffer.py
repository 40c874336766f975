"""The memory of tensors as Python buffers."""
import gc

import numpy as np
import pytest
import pyx_tensor as torch


def test_a_buffer_shares_memory():
    x = torch.arange(6.0).reshape(2, 3)
    view = memoryview(x)
    assert view.shape == (2, 3) and view.format == "f" and view.tolist() == x.tolist()
    np.asarray(view)[0, 0] = 7
    assert x[0, 0] == 7


def test_a_buffer_of_a_view_has_its_strides():
    x = torch.arange(6.0).reshape(2, 3).t()
    assert memoryview(x).strides == (4, 12)
    assert memoryview(x).tolist() == x.tolist()


def test_a_buffer_keeps_the_memory():
    view = memoryview(torch.full((4,), 3.0))
    gc.collect()
    others = [torch.full((4,), 1.0) for _ in range(20)]      # would take the memory, were it free
    assert view.tolist() == [3.0] * 4
    assert len(others) == 20


def test_the_graph_is_not_dropped_silently():
    x = torch.ones(2, requires_grad=True)
    for export in (memoryview, np.asarray, bytes):
        with pytest.raises((BufferError, RuntimeError, TypeError)):
            export(x)
    assert memoryview(x.detach()).tolist() == [1.0, 1.0]


def test_other_devices_have_no_buffer():
    with pytest.raises((BufferError, TypeError)):
        memoryview(torch.ones(2, device="reference"))


def test_small_arrays_are_used_again_only_when_nobody_sees_them():
    x = torch.ones(5)
    array = x.numpy()
    saved = (x + 1)
    del x
    for _ in range(50):
        torch.zeros(5) * 2 + 1
    assert array.tolist() == [1.0] * 5 and saved.tolist() == [2.0] * 5


def test_layout():
    assert torch.ones(1).layout is torch.strided and repr(torch.strided) == "torch.strided"
