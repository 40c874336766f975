"""Types, devices and creation as a newcomer meets them: tensor types, dtypes, devices, 0-dim tensors, broadcasting."""
import numpy as np
import pytest

import pyx_tensor as torch


# --- broadcasting --------------------------------------------------------------------------------------------------
@pytest.mark.rows("S062")
def test_shapes_that_do_not_broadcast():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(4\) must match the size of tensor b \(5\)"):
        torch.ones(4) + torch.ones(5)


@pytest.mark.rows("S063", "S064")
def test_broadcasting():
    x = torch.arange(4.0)
    assert (x.view(4, 1) + torch.ones(5)).tolist() == [[k + 1.0] * 5 for k in range(4)]
    assert (x + torch.ones(3, 4)).tolist() == [[1, 2, 3, 4]] * 3
    with pytest.raises(RuntimeError):
        x.add_(torch.ones(3, 4))
    assert x.tolist() == [0, 1, 2, 3]
    a, b = torch.tensor([0.0, 10.0, 20.0, 30.0]), torch.tensor([0.0, 1.0, 2.0])
    crossed = a[:, None] + b
    assert crossed.shape == (4, 3) and torch.equal(crossed, a[:, np.newaxis] + b) and crossed[2, 1] == 21
    assert a[:, None].data_ptr() == a.data_ptr()


# --- types ---------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S095", "S096")
def test_the_class_and_the_type():
    x = torch.DoubleTensor([3, 1, 1])
    assert type(x) is torch.Tensor and str(type(x)) == "<class 'torch.Tensor'>"
    assert repr(type(torch.nn.Parameter(x))) == "<class 'torch.nn.parameter.Parameter'>"
    assert "here.Mine" in repr(type("Mine", (torch.Tensor,), {"__module__": "here"}))
    assert x.type() == "torch.DoubleTensor" and isinstance(x, torch.DoubleTensor) and not isinstance(x, torch.FloatTensor)


@pytest.mark.rows("S098")
def test_conversions():
    x = torch.arange(3)
    assert x.type(torch.DoubleTensor).dtype is x.type("torch.DoubleTensor").dtype is x.type(torch.float64).dtype is x.double().dtype is torch.float64
    assert x.double().tolist() == [0, 1, 2] and x.tolist() == [0, 1, 2] and x.dtype is torch.int64
    y = torch.tensor([1.9, -1.9, 0.5, -0.5])
    for whole in (y.long(), y.type(torch.LongTensor), y.type("torch.IntTensor"), y.char()):
        assert whole.tolist() == [1, -1, 0, 0]
    for same in (x.type(torch.LongTensor), x.type("torch.LongTensor"), x.type(torch.int64), x.long()):
        assert same is x


@pytest.mark.rows("S099")
def test_cuda_types_exist_without_cuda():
    assert repr(torch.cuda.FloatTensor) == "<class 'torch.cuda.FloatTensor'>" and torch.cuda.FloatTensor.is_cuda
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    assert torch.cuda.DoubleTensor is torch.cuda.DoubleTensor is not torch.DoubleTensor
    for kind in (torch.cuda.FloatTensor, torch.sparse.DoubleTensor, torch.cuda.sparse.DoubleTensor):
        assert isinstance(kind, type) and not isinstance(torch.ones(2, dtype=kind.dtype), kind)
    assert repr(torch.cuda.sparse.DoubleTensor) == "<class 'torch.cuda.sparse.DoubleTensor'>"
    assert repr(torch.sparse.DoubleTensor) == "<class 'torch.sparse.DoubleTensor'>" and not torch.sparse.DoubleTensor.is_cuda


@pytest.mark.rows("S100")
@pytest.mark.parametrize(("name", "alias"), [
    ("float32", "float"), ("float64", "double"), ("float16", "half"), ("int16", "short"), ("int32", "int"), ("int64", "long"), ("uint8", "uint8"),
    ("int8", "int8")])
def test_dtypes(name, alias):
    dtype = getattr(torch, name)
    assert isinstance(dtype, torch.dtype) and getattr(torch, alias) is dtype and repr(dtype) == f"torch.{name}"
    assert torch.zeros(1, dtype=dtype).dtype is dtype


@pytest.mark.rows("S101")
def test_devices():
    cpu, second = torch.device("cpu"), torch.device("cuda:1")
    assert (cpu.type, cpu.index, str(cpu)) == ("cpu", None, "cpu") and (second.type, second.index, str(second)) == ("cuda", 1, "cuda:1")
    assert second == torch.device("cuda", 1) != cpu and torch.ones(1).device == cpu
    cuda = torch.device("cuda")
    assert (cuda.type, cuda.index, str(cuda)) == ("cuda", None, "cuda") and cuda != second and repr(second) == "device(type='cuda', index=1)"


@pytest.mark.rows("S103")
def test_layout():
    assert isinstance(torch.strided, torch.layout) and torch.ones(2).layout is torch.strided
    assert isinstance(torch.sparse_coo, torch.layout) and torch.eye(2).to_sparse().layout is torch.sparse_coo is not torch.strided
    assert (repr(torch.strided), repr(torch.sparse_coo)) == ("torch.strided", "torch.sparse_coo")


@pytest.mark.rows("S104")
def test_sparse_tensors():
    i, v = torch.LongTensor([[0, 1, 1, 1], [2, 0, 2, 2]]), torch.DoubleTensor([3, 4, 5, 7])
    for s in (torch.sparse_coo_tensor(i, v, torch.Size([2, 3])), torch.sparse.DoubleTensor(i, v, torch.Size([2, 3]))):
        dense = s.to_dense()
        assert s.is_sparse and s.layout is torch.sparse_coo and s.type() == "torch.sparse.DoubleTensor" and s.shape == (2, 3)
        assert dense.tolist() == [[0, 0, 3], [4, 0, 12]] and not dense.is_sparse and dense.type() == "torch.DoubleTensor"
    empty = torch.zeros(2, 3, layout=torch.sparse_coo)
    assert empty.is_sparse and empty.to_dense().tolist() == [[0] * 3] * 2
    back = dense.to_sparse()
    assert back.is_sparse and back.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and back.values().tolist() == [3, 4, 12]


# --- creation ------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S105", "S110")
def test_creation_takes_attributes():
    x = torch.randn(3, 3, dtype=torch.float64, device=torch.device("cpu"), requires_grad=True)
    assert x.shape == (3, 3) and x.dtype is torch.float64 and x.requires_grad and x.is_leaf
    assert torch.zeros(2, dtype=torch.int32, layout=torch.strided).dtype is torch.int32
    assert x.device == torch.device("cpu") and x.layout is torch.strided
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        for shape in ((2, 3), [2, 3], torch.Size([2, 3])):
            assert make(shape).shape == make(2, 3).shape == (2, 3)


@pytest.mark.rows("S107")
def test_the_fitting_type():
    assert torch.tensor([1, 2.3]).dtype is torch.float32 and torch.tensor([1, 2]).dtype is torch.int64
    assert torch.tensor([True]).dtype is torch.bool and torch.tensor(np.ones(2, np.int16)).dtype is torch.int16


@pytest.mark.rows("S108", "S109")
def test_like_and_new():
    x = torch.ones(2, 3, dtype=torch.float64)
    for made in (torch.zeros_like(x), torch.ones_like(x), torch.empty_like(x), torch.full_like(x, 4), torch.rand_like(x), torch.randn_like(x),
                 torch.randint_like(x, 5)):
        assert made.shape == (2, 3) and made.dtype is torch.float64 and made.device == x.device and made.layout is torch.strided
    assert torch.zeros_like(x).tolist() == [[0] * 3] * 2 and torch.ones_like(x.long()).tolist() == [[1] * 3] * 2
    assert torch.zeros_like(torch.ones(2, device="reference")).device.type == "reference" and torch.zeros_like(x.to_sparse()).is_sparse
    assert torch.zeros_like(x, dtype=torch.int64).dtype is torch.int64
    for made in (x.new_ones(2), x.new_zeros(2), x.new_zeros((2,)), x.new_full((2,), 3), x.new_empty(2), x.new_tensor([1, 2])):
        assert made.shape == (2,) and made.dtype is torch.float64 and made.device == x.device
    assert x.new_ones(2).tolist() == [1, 1] and x.new_zeros(2, 1).tolist() == [[0], [0]] and x.new_ones(2, dtype=torch.int32).dtype is torch.int32
    assert torch.full_like(x, 4)[0, 0] == 4 and x.new_full((2,), 3).tolist() == [3, 3] and x.new_tensor([1, 2]).tolist() == [1, 2]


@pytest.mark.rows("S111", "S112")
def test_to_copies_nothing_needlessly():
    x = torch.ones(2)
    assert x.to("cpu") is x and x.to(torch.device("cpu")) is x and x.to(torch.float32) is x and x.to(x) is x
    assert x.to("cpu", torch.float64).dtype is x.to(torch.ones(1, dtype=torch.float64)).dtype is torch.float64
    for copied in (x.to(torch.float32, False, True), x.to("cpu", torch.float32, False, True), x.to(x, False, True), x.to(x, copy=True), x.to("cpu", copy=True)):
        assert copied is not x and copied.data_ptr() != x.data_ptr() and copied.tolist() == [1, 1] and copied.dtype is torch.float32
    for wrong in ((torch.float32, torch.float64), ("cpu", "cpu"), (torch.float64, "cpu"), (1.5,), (True,), (x, x), (x, False, True, True)):
        with pytest.raises(TypeError):
            x.to(*wrong)
    with pytest.raises(TypeError, match="'dtype'"):
        x.to("cpu", torch.float32, dtype=torch.float64)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    assert x.to(device).tolist() == [1, 1] and x.to(device).device == device
    module = torch.nn.BatchNorm1d(2)
    assert module.to("cpu") is module and module.to(torch.float64) is module
    assert module.weight.dtype is module.running_mean.dtype is torch.float64 and module.num_batches_tracked.dtype is torch.int64


# --- 0-dim tensors -------------------------------------------------------------------------------------------------
@pytest.mark.rows("S113", "S114", "S115", "S116")
def test_scalars():
    x = torch.tensor(3)
    assert x.size() == torch.Size([]) and x.dim() == 0 and x.numel() == 1 and torch.Tensor(3).shape == (3,)
    assert torch.arange(2, 6)[3].shape == () and torch.arange(2, 6)[3].item() == 5
    total = torch.tensor([2, 3]).sum()
    assert total.shape == () and total.dtype is torch.int64 and total.item() == 5
    for value, kind in ((torch.tensor(1.5), float), (torch.tensor([[2]]), int), (torch.tensor(True), bool)):
        assert type(value.item()) is kind
    assert (torch.tensor(1.5).item(), torch.tensor([[2]]).item(), torch.tensor(True).item()) == (1.5, 2, True)
    with pytest.raises(RuntimeError):
        torch.ones(2).item()
    with pytest.raises(IndexError, match="item()"):
        torch.tensor(0.5).data[0]


@pytest.mark.rows("S117")
def test_accumulating_numbers_keeps_no_history():
    w = torch.ones(1, requires_grad=True)
    history, numbers = 0, 0
    for _ in range(3):
        loss = (w * 2).sum()
        history = history + loss
        numbers += loss.item()
    assert history.requires_grad and history.grad_fn is not None and type(numbers) is float and numbers == 6


def test_mixed_devices_are_refused():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2) + torch.ones(2, device="reference")
    assert (torch.ones(2, device="reference") * torch.tensor(2.0)).tolist() == [2, 2]


@pytest.mark.rows("S132")
def test_copy_converts_and_broadcasts():
    x = torch.zeros(2, 3)
    assert x.copy_(torch.tensor([1, 2, 3])) is x and x.tolist() == [[1, 2, 3]] * 2 and x.dtype is torch.float32
    assert x.copy_(torch.ones(3, device="reference", dtype=torch.float64)).device.type == "cpu" and x.sum() == 6
    with pytest.raises(RuntimeError):
        x.copy_(torch.ones(2))
    whole = torch.zeros(2, dtype=torch.int32)
    assert whole.copy_(torch.tensor([1.9, -1.9])) is whole and whole.tolist() == [1, -1] and whole.dtype is torch.int32


@pytest.mark.rows("S141")
def test_a_statement_has_run_when_it_returns():
    x = torch.full((300, 300), 2.0)
    seen = x.numpy()
    y = x @ x
    assert y[0, 0].item() == 1200 and y.numpy()[-1, -1] == 1200 and repr(y[:1, :2]) == "tensor([[1200., 1200.]])"
    x.add_(1)
    assert seen.min() == seen.max() == 3
    with pytest.raises(RuntimeError):
        x @ x[:5]                                   # at the statement, not where its result is read
    with pytest.raises(IndexError):
        x.index_select(0, torch.tensor([300]))


# --- memory for other languages ------------------------------------------------------------------------------------
def test_compiled_code_reads_and_writes_tensor_memory():
    import ctypes

    class Negate(torch.autograd.Function):
        """Through a pointer, as a C library would."""

        @staticmethod
        def forward(ctx, x):
            y = torch.empty(x.shape)
            source = (ctypes.c_float * x.numel()).from_address(x.data_ptr())
            target = (ctypes.c_float * y.numel()).from_address(y.data_ptr())
            target[:] = [-value for value in source]
            return y

        @staticmethod
        def backward(ctx, grad):
            return -grad

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = Negate.apply(x)
    y.sum().backward()
    assert y.tolist() == [-1, 2] and x.grad.tolist() == [-1, -1]
