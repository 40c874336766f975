"""Streams, events, graphs, pinned memory, sharing with CuPy and PyTorch, errors, and memory over 1,000 steps."""
import time

from start import STANDIN, Part, torch

cuda = torch.cuda
part = Part("runtime")
DEVICE = "cuda"

with part.check("streams"):
    side, x = cuda.Stream(), torch.ones(1 << 20, device=DEVICE)
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        y = x * 2
        for _ in range(20):
            y = y + 1
    cuda.current_stream().wait_stream(side)
    y.record_stream(cuda.current_stream())
    assert float(y.sum()) == 22 * (1 << 20) and side.query()

with part.check("events"):
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    (x @ x)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0 and end.query()

with part.check("pinned memory and copies in the background"):
    host = torch.arange(1 << 20, dtype=torch.float32).pin_memory()
    assert host.is_pinned()
    for _ in range(5):
        on_device = host.to(DEVICE, non_blocking=True)
        back = (on_device + 1).to("cpu", non_blocking=True)
        cuda.synchronize()
        assert torch.equal(back, host + 1)
    target = torch.empty(1 << 20, device=DEVICE)
    target.copy_(host, non_blocking=True)
    assert torch.equal(target.cpu(), host)

with part.check("a graph of inference"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 8), torch.nn.Softmax(-1)).to(DEVICE)
    given = torch.zeros(32, 64, device=DEVICE)
    warm = cuda.Stream()
    with cuda.stream(warm), torch.no_grad():
        for _ in range(3):
            model(given)
    cuda.synchronize()
    graph = cuda.CUDAGraph()
    with cuda.graph(graph), torch.no_grad():
        result = model(given)
    for seed in range(3):
        data = torch.randn(32, 64)
        given.copy_(data)
        graph.replay()
        if not STANDIN:      # which records no work
            torch.testing.assert_close(result, model(data.to(DEVICE)), rtol=1e-5, atol=1e-6)

with part.check("a graph of a training step"):
    def trained(captured):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).to(DEVICE)
        optimizer = torch.optim.Adam(model.parameters(), 1e-2, capturable=True)
        data, target = torch.zeros(8, 16, device=DEVICE), torch.zeros(8, 1, device=DEVICE)
        batches = [(torch.randn(8, 16), torch.randn(8, 1)) for _ in range(8)]

        def step():
            optimizer.zero_grad(set_to_none=True)
            loss = torch.nn.functional.mse_loss(model(data), target)
            loss.backward()
            optimizer.step()
            return loss

        def load(batch):
            data.copy_(batch[0])
            target.copy_(batch[1])

        side = cuda.Stream()
        with cuda.stream(side):
            for batch in batches[:3]:
                load(batch)
                step()
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        if captured:
            optimizer.zero_grad(set_to_none=True)
            with cuda.graph(graph):
                step()
        for batch in batches[3:]:
            load(batch)
            graph.replay() if captured else step()
        return [p.detach().cpu() for p in model.parameters()]

    for a, b in zip(trained(True), trained(False)):
        if not STANDIN:
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

with part.check("what a graph refuses"):
    try:
        with cuda.graph(cuda.CUDAGraph()):
            x.sum().item()
    except RuntimeError as error:
        assert "captured" in str(error), error
    else:
        raise AssertionError("item() in a graph was not refused")
    assert float(torch.ones(2, device=DEVICE).sum()) == 2      # all is well afterwards

if not STANDIN:
    with part.check("sharing with CuPy"):
        import cupy
        a = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
        t = torch.as_tensor(a)
        assert t.is_cuda and t.data_ptr() == a.data.ptr
        assert cupy.asarray(t).data.ptr == t.data_ptr() and cupy.from_dlpack(t).data.ptr == t.data_ptr()
        t.mul_(2)
        assert float(a.sum()) == 30

    with part.check("sharing with PyTorch"):
        import torch as pytorch
        theirs = pytorch.arange(6, dtype=pytorch.float32, device="cuda")
        ours = torch.from_dlpack(theirs)
        assert ours.data_ptr() == theirs.data_ptr() and pytorch.from_dlpack(ours).data_ptr() == theirs.data_ptr()
        ours.add_(1)
        assert float(theirs.sum()) == 21
        assert pytorch.as_tensor(ours, device="cuda").data_ptr() == theirs.data_ptr()

    with part.check("out of memory"):
        try:
            torch.empty(1 << 42, device=DEVICE)
        except torch.OutOfMemoryError as error:
            assert "CUDA out of memory" in str(error) and "total capacity" in str(error), error
        else:
            raise AssertionError("4 TiB were not refused")
        assert float(torch.ones(2, device=DEVICE).sum()) == 2

with part.check("a wrong device"):
    for wrong in (99, "cuda:99"):
        try:
            torch.zeros(1, device=wrong if isinstance(wrong, str) else torch.device("cuda", wrong))
        except RuntimeError as error:
            assert "invalid device ordinal" in str(error), error
        else:
            raise AssertionError("device 99 was not refused")

with part.check("atomic additions in a fixed order"):
    places, values = torch.randint(0, 50, (100000,)).to(DEVICE), torch.randn(100000).to(DEVICE)
    torch.use_deterministic_algorithms(True)
    try:
        first, second = (torch.zeros(50, device=DEVICE).index_add(0, places, values) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(first, second)
    torch.testing.assert_close(first, torch.zeros(50, device=DEVICE).index_add(0, places, values), rtol=1e-3, atol=1e-3)

with part.check("memory over 1,000 steps"):
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 10)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    data, target = torch.randn(32, 64).to(DEVICE), torch.randint(0, 10, (32,)).to(DEVICE)
    begun, sizes = time.monotonic(), []
    for step in range(100 if STANDIN else 1000):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data), target).backward()
        optimizer.step()
        if step % 50 == 49:
            sizes.append((cuda.memory_allocated(), cuda.memory_reserved()))
    print(f"   allocated and reserved after 50 steps {sizes[0]}, at the end {sizes[-1]}; {time.monotonic() - begun:.1f} s")
    assert sizes[-1] == sizes[0], sizes

part.end()
