"""Autocast and gradient scaling."""
import pickle
import threading
import warnings

import pytest

import pyx_tensor as torch
from pyx_tensor import amp, nn
from pyx_tensor.nn import functional as F

BF16 = torch.bfloat16


def m(*shape, dtype=torch.float32):
    return torch.rand(*shape).to(dtype)


LOW = {
    "operator": lambda: m(3, 3) @ m(3, 3), "mm": lambda: torch.mm(m(2, 3), m(3, 2)), "bmm": lambda: torch.bmm(m(2, 3, 3), m(2, 3, 3)),
    "addmm": lambda: torch.addmm(m(3, 3), m(3, 3), m(3, 3)), "baddbmm": lambda: torch.baddbmm(m(2, 3, 3), m(2, 3, 3), m(2, 3, 3)),
    "linear": lambda: F.linear(m(2, 3), m(4, 3), m(4)), "module": lambda: nn.Linear(3, 2)(m(2, 3)), "mixed": lambda: m(3, 3) @ m(3, 3, dtype=BF16),
    "half": lambda: m(3, 3, dtype=torch.float16) @ m(3, 3, dtype=torch.float16), "prelu": lambda: F.prelu(m(3, 3), m(1)),
    "einsum": lambda: torch.einsum("ij,jk", m(3, 3), m(3, 3)), "chain": lambda: torch.chain_matmul(m(3, 3), m(3, 3), m(3, 3)),
}
HIGH = {
    "mse_loss": lambda x: F.mse_loss(x, x), "l1_loss": lambda x: F.l1_loss(x, x), "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2])),
    "nll_loss": lambda x: F.nll_loss(x, torch.tensor([0, 1, 2])), "kl_div": lambda x: F.kl_div(x, x), "prod": lambda x: x.prod(),
    "trace": lambda x: x.trace(), "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, x),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(x, x, torch.ones(3)), "margin": lambda x: F.multi_margin_loss(x, torch.tensor([0, 1, 2])),
}
KEPT = {
    "add": lambda x: x + x, "exp": lambda x: x.exp(), "softmax": lambda x: x.softmax(0), "sum": lambda x: x.sum(), "mv": lambda x: torch.mv(x, x[0]),
    "dot": lambda x: torch.dot(x[0], x[0]), "outer": lambda x: torch.outer(x[0], x[0]), "relu": lambda x: F.relu(x), "gelu": lambda x: F.gelu(x),
}


@pytest.mark.parametrize("name", LOW)
def test_what_computes_in_the_smaller_dtype(name):
    with torch.autocast("cpu"):
        assert LOW[name]().dtype == BF16
    with torch.autocast("cpu", dtype=torch.float16):
        assert LOW[name]().dtype == torch.float16
    with torch.autocast("cpu", enabled=False):
        assert name in ("half", "mixed") or LOW[name]().dtype == torch.float32


@pytest.mark.parametrize("name", HIGH)
def test_what_computes_in_float32(name):
    with torch.autocast("cpu"):
        assert HIGH[name](m(3, 3, dtype=BF16)).dtype == torch.float32


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("dtype", [torch.float32, BF16])
def test_what_keeps_its_dtype(name, dtype):
    with torch.autocast("cpu"):
        assert KEPT[name](m(3, 3, dtype=dtype)).dtype == dtype


def test_what_is_left_alone():
    with torch.autocast("cpu"):
        assert (m(2, 2).double() @ m(2, 2).double()).dtype == torch.float64
        assert (torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64)).dtype == torch.int64
        assert torch.mm(m(2, 2), m(2, 2), out=torch.empty(2, 2)).dtype == torch.float32
        assert m(2, 2).addmm_(m(2, 2), m(2, 2)).dtype == torch.float32
        assert torch.cat([m(2), m(2, dtype=BF16)]).dtype == torch.stack([m(2), m(2, dtype=BF16)]).dtype == torch.float32
        on_reference = torch.ones(2, 2, device="reference")
        assert (on_reference @ on_reference).dtype == torch.float32
    with torch.autocast("reference"):
        assert (on_reference @ on_reference).dtype == BF16 and (m(2, 2) @ m(2, 2)).dtype == torch.float32


def test_nesting_threads_decorators_and_switches():
    @torch.autocast("cpu")
    def product():
        return (m(2, 2) @ m(2, 2)).dtype

    assert product() == BF16 and not torch.is_autocast_enabled("cpu")
    found = []
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (m(2, 2) @ m(2, 2)).dtype == torch.float32 and not torch.is_autocast_cpu_enabled()
        assert (m(2, 2) @ m(2, 2)).dtype == BF16 and torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        thread = threading.Thread(target=lambda: found.append(torch.is_autocast_enabled("cpu")))
        thread.start(), thread.join()
    assert found == [False] and (m(2, 2) @ m(2, 2)).dtype == torch.float32
    assert torch.get_autocast_dtype("cpu") == torch.get_autocast_cpu_dtype() == BF16 and torch.get_autocast_gpu_dtype() == torch.float16
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        with torch.autocast("cpu"):
            assert (m(2, 2) @ m(2, 2)).dtype == torch.float16
    finally:
        torch.set_autocast_dtype("cpu", BF16)
    with pytest.raises(ZeroDivisionError):
        with torch.autocast("cpu"):
            1 / 0
    assert not torch.is_autocast_enabled("cpu")


def test_gradients_have_the_dtype_of_their_parameters():
    model, x = nn.Linear(3, 2), m(4, 3)
    with torch.autocast("cpu"):
        y = model(x)
        loss = F.mse_loss(y, m(4, 2))
    loss.backward()
    assert y.dtype == BF16 and loss.dtype == torch.float32
    assert model.weight.grad.dtype == torch.float32 and torch.isfinite(model.weight.grad).all()
    exact = nn.Linear(3, 2)
    exact.load_state_dict(model.state_dict())
    exact(x).sum().backward()
    model.zero_grad()
    with torch.autocast("cpu"):
        y = model(x)
    y.sum().backward()
    assert torch.allclose(model.weight.grad, exact.weight.grad, rtol=2e-2)


def test_parameters_are_cast_once_and_anew_in_the_next_block():
    from pyx_tensor.core import autocast as state
    w = torch.nn.Parameter(torch.ones(2, 2))
    for value in (1.0, 5.0):
        with torch.no_grad():
            w.fill_(value)
        with torch.autocast("cpu"):
            y = m(2, 2) @ w
            z = y @ w
            assert len(state._state.cache) == 1
            with torch.no_grad():
                assert not (m(2, 2) @ w).requires_grad
        z.sum().backward()
        assert not state._state.cache and z.requires_grad
    with torch.autocast("cpu", cache_enabled=False):
        assert (m(2, 2) @ w).requires_grad and not state._state.cache
    assert torch.is_autocast_cache_enabled()


def test_checkpoints_compute_again_with_the_same_autocast():
    seen = []

    def part(x, w):
        y = x @ w
        seen.append(y.dtype)
        return y

    w = torch.ones(3, 3, requires_grad=True)
    for reentrant in (True, False):
        with torch.autocast("cpu"):
            y = torch.utils.checkpoint.checkpoint(part, m(3, 3).requires_grad_(), w, use_reentrant=reentrant)
        y.sum().backward()
    assert seen == [BF16] * 4


def test_functions_of_the_users_own():
    seen = []

    class Cast(torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x, others):
            seen.append((x.dtype, others[0].dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(torch.is_autocast_enabled("cpu"))
            return g * 2, None

    class Plain(Cast):
        @staticmethod
        @amp.custom_fwd(device_type="cpu")
        def forward(ctx, x, others):
            seen.append((x.dtype, others[0].dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

    x = torch.ones(2, dtype=BF16, requires_grad=True)
    for function, expected in ((Cast, [(torch.float32, torch.float32, False), False]), (Plain, [(BF16, BF16, True), True])):
        seen.clear()
        with torch.autocast("cpu"):
            y = function.apply(x, [m(1, dtype=BF16)])
        y.sum().backward()
        assert seen == expected


def test_what_autocast_refuses():
    with pytest.raises(ValueError, match="`device_type` of type `str`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="no backend"):
        torch.autocast("abacus")
    with pytest.warns(UserWarning, match="only supports dtypes of torch.bfloat16, torch.float16"):
        with torch.autocast("cpu", dtype=torch.float64):
            assert (m(2, 2) @ m(2, 2)).dtype == torch.float32
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available. Disabling"):
            torch.autocast("cuda")
    assert amp.is_autocast_available("cpu")


# --- GradScaler --------------------------------------------------------------------------------------------------------
def scaled_steps(factors):
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler = amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen = []
    for factor in factors:
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((w[0].item(), scaler.get_scale()))
    return seen, scaler, optimizer, w


def test_scaling_by_hand():
    seen, scaler, _, _ = scaled_steps([1.0, float("inf"), 1.0, 1.0, 1.0])
    assert seen == [(0, 4), (0, 2), (-1, 2), (-2, 4), (-3, 4)]
    assert scaler.state_dict() == {"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1}
    other = amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4 and pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()
    ones = scaler.scale((torch.ones(1), [torch.ones(1)]))
    assert ones[0].item() == ones[1][0].item() == 4 and isinstance(ones, tuple)


def test_clipping_between_unscaling_and_the_step():
    _, scaler, optimizer, w = scaled_steps([1.0])
    optimizer.zero_grad()
    scaler.scale((w * 3).sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3, 3]
    nn.utils.clip_grad_value_([w], 0.5)
    assert scaler.step(optimizer) is None
    assert w.tolist() == [-0.5, -0.5]
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called since"):
        scaler.step(optimizer)


def test_what_scalers_refuse():
    _, scaler, optimizer, w = scaled_steps([1.0])
    with pytest.raises(AssertionError, match="No inf checks were recorded prior"):
        scaler.update()
    optimizer.zero_grad()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="only be pickled"):
        pickle.dumps(scaler)
    for wrong in (dict(growth_factor=1.0), dict(backoff_factor=1.0)):
        with pytest.raises(AssertionError):
            amp.GradScaler("cpu", **wrong)
    fresh = amp.GradScaler("cpu")
    for call in (lambda: fresh.step(optimizer), lambda: fresh.unscale_(optimizer), lambda: fresh.update(2.0)):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    with pytest.raises(RuntimeError, match="empty"):
        fresh.load_state_dict({})
    with pytest.raises(ValueError, match="iterable of Tensors"):
        fresh.scale(3)
    half = nn.Parameter(torch.ones(2, dtype=torch.float16))
    half.grad = torch.ones(2, dtype=torch.float16)
    fresh.scale(torch.ones(1))
    with pytest.raises(ValueError, match="FP16"):
        fresh.unscale_(torch.optim.SGD([half]))
    with pytest.raises(AssertionError, match="for this optimizer"):
        fresh.step(torch.optim.SGD([nn.Parameter(torch.ones(1))]))


def test_disabled_scalers_pass_everything_on():
    scaler = amp.GradScaler("cpu", enabled=False)
    w = nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    optimizer = torch.optim.SGD([w], lr=1.0)
    assert scaler.scale(3) == 3 and scaler.get_scale() == 1 and scaler.state_dict() == {}
    scaler.step(optimizer), scaler.update()
    assert w.item() == 0


def test_names_of_the_cpu():
    with pytest.warns(FutureWarning, match=r"torch.amp.autocast\('cpu'"), torch.cpu.amp.autocast(dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16
    with pytest.warns(FutureWarning, match=r"torch.amp.GradScaler\('cpu'"):
        scaler = torch.cpu.amp.GradScaler(init_scale=4.0)
    copied = pickle.loads(pickle.dumps(scaler))
    assert type(copied) is torch.cpu.amp.GradScaler and copied.is_enabled() and copied.get_scale() == 4.0


def test_names_of_cuda():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.cuda.amp.autocast():
            pass
        scaler = torch.cuda.amp.GradScaler()
    assert any("torch.amp.autocast('cuda'" in str(w.message) for w in caught) and scaler.is_enabled() == torch.cuda.is_available()
