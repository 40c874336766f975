"""Every name that programs of early PyTorch use stands where they look for it (tests/early_names.txt lists them)."""
import re
from pathlib import Path

import pytest

import pyx_tensor as torch

LINES = [line.split("#")[0].split("[")[0].strip() for line in (Path(__file__).parent / "early_names.txt").read_text().splitlines()]
NAMES = sorted({line for line in LINES if line})
OF_OBJECTS = {"nn.Module.training": lambda: torch.nn.Linear(1, 1).training,      # made in __init__: no attributes of the class
              "optim.Optimizer.param_groups": lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1).param_groups,
              "Tensor.indices": lambda: torch.ones(1).to_sparse().coalesce().indices(), "Tensor.values": lambda: torch.ones(1).to_sparse().coalesce().values()}


def find(name):
    if name in OF_OBJECTS:
        return OF_OBJECTS[name]()
    found = torch
    for part in name.replace("torchvision.", "vision.").split("."):
        called = re.fullmatch(r"(\w+)\(\)", part)
        found = getattr(found, called.group(1))(torch.ones(1)) if called else getattr(found, part)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_name(name):
    find(name)


# --- the page of early names ---------------------------------------------------------------------------------------
PAGE = (Path(__file__).parents[1] / "docs" / "early_names.md").read_text()


def test_every_early_function_stands_on_the_page():
    early = ("gesv gels btrifact btrisolve potrf potri potrs pstrf trtrs symeig eig orgqr ormqr geqrf ger addbmm baddbmm range svd qr inverse linspace "
             "set_default_tensor_type creator Variable volatile new median mode kthvalue masked_select tril triu normal cat addcdiv addcmul").split()
    assert not [name for name in early if not re.search(rf"\b{name}\b", PAGE)]


@pytest.mark.rows("S213", "S227", "S237", "S328")
def test_calls_of_the_page_answer_alike():
    x, y = torch.arange(4.0).view(2, 2), torch.ones(2, 2)
    pairs = [
        (lambda: torch.add(x, 2, y), lambda: torch.add(x, y, alpha=2)), (lambda: torch.sub(x, 2, y), lambda: torch.sub(x, y, alpha=2)),
        (lambda: torch.addcmul(x, 2, x, y), lambda: torch.addcmul(x, x, y, value=2)), (lambda: torch.ger(x[0], y[0]), lambda: torch.outer(x[0], y[0])),
        (lambda: torch.addmm(2, x, 3, x, y), lambda: torch.addmm(x, x, y, beta=2, alpha=3)), (lambda: torch.range(1, 4), lambda: torch.arange(1.0, 5)),
        (lambda: torch.cat(inputs=(x, y), dimension=1), lambda: torch.cat((x, y), dim=1)), (lambda: torch.tril(x, k=-1), lambda: torch.tril(x, diagonal=-1)),
        (lambda: torch.normal(means=x, std=0 * y), lambda: x), (lambda: x.new([1, 2]), lambda: x.new_tensor([1, 2])),
        (lambda: x.type(torch.DoubleTensor), lambda: x.double()), (lambda: torch.squeeze(x[:1], out=torch.empty(0)), lambda: x[0])]
    for then, now in pairs:
        then, now = then(), now()
        assert then.dtype is now.dtype and torch.equal(then, now)
    with pytest.warns(UserWarning, match="deprecated"):
        assert x.resize(4, 1).shape == (4, 1)


def test_names_without_the_underscore_warn():
    w = torch.empty(2, 3)
    with pytest.warns(FutureWarning, match="constant_"):
        assert torch.nn.init.constant(w, 3.0) is w and (w == 3).all()
    w.grad = torch.full((2, 3), 2.0)
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        torch.nn.utils.clip_grad_norm([w], 1.0)
    assert w.grad.norm().item() == pytest.approx(1, abs=1e-5)


def test_small_methods():
    x = torch.tensor([[1.0, -2.0], [-3.0, 4.0]])
    assert x.prelu(torch.tensor([0.5, 0.1])).tolist() == [[1, pytest.approx(-0.2)], [-1.5, 4]] and x.prelu(torch.tensor(0.0)).min() == 0
    z = torch.tensor([1 + 2j])
    assert z.conj_physical_() is z and z.item() == 1 - 2j and x.conj_physical_() is x
    assert x.dim_order() == (0, 1) and x.t().dim_order() == (1, 0) and x.is_set_to(x) and not x.is_set_to(x[0])
    assert torch.arange(3).apply_(lambda v: v * 2).tolist() == [0, 2, 4] and x.clone().map_(x, lambda a, b: a - b).abs().sum() == 0
    assert x.clone().map2_(x, x, lambda a, b, c: a + b - c).tolist() == x.tolist() and torch.tensor([0.0, 2.0]).logical_not_().tolist() == [1, 0]
    assert x.where(x > 0, 0.0).tolist() == [[1, 0], [0, 4]] and x.double().float_power_(2).tolist() == [[1, 4], [9, 16]]
    with pytest.raises(RuntimeError):
        x.float_power_(2)
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).apply_(abs)
    with pytest.raises(RuntimeError, match="removed"):
        x.reinforce(1)
    assert torch.ones(1).new(2, 3).shape == (2, 3) and x.long().new([1, 2]).dtype is torch.int64 and x.new().shape == (0,)
    assert not (x.is_meta or x.is_quantized or x.is_nested) and x.name is None and torch.is_conj(x) is False and torch.get_device(x) == -1
    assert torch.slice_copy(x, 1, 0, 1).tolist() == [[1], [-3]] and torch.detach_copy(x).equal(x) and torch.zero_(x.clone()).sum() == 0


def test_library_level_forms():
    """Functions of `torch` whose arguments differ from those of nn.functional."""
    x, F = torch.tensor([[0.5, -1.0], [2.0, 0.25]]), torch.nn.functional
    assert torch.equal(torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False), F.batch_norm(x, None, None, training=True))
    assert torch.equal(torch.kl_div(x, x.abs(), 2), F.kl_div(x, x.abs(), reduction="sum"))
    assert torch.equal(torch.binary_cross_entropy_with_logits(x, x.sigmoid(), None, None, 0), F.binary_cross_entropy_with_logits(x, x.sigmoid(), reduction="none"))
    assert torch.equal(torch.hinge_embedding_loss(x, x.sign()), F.hinge_embedding_loss(x, x.sign()))
    assert torch.celu(x).equal(F.celu(x))
    assert torch.equal(torch.alpha_dropout(x, 0.5, False), x) and torch.native_dropout(x, 0.5, False)[1].all()
    y, kept = torch.native_dropout(torch.ones(200), 0.25, True)
    assert torch.allclose(y, kept / 0.75) and 100 < kept.sum() < 190
    assert torch.norm_except_dim(x, 2, 0).shape == (2, 1) and torch.norm_except_dim(x, 2, -1).item() == pytest.approx(x.norm().item())
    assert torch.return_types.sort._fields == ("values", "indices") and isinstance(torch.sort(x), torch.return_types.sort)


def test_settings_that_are_taken():
    torch.set_deterministic_debug_mode("warn")
    assert torch.get_deterministic_debug_mode() == 1 and torch.are_deterministic_algorithms_enabled()
    torch.set_deterministic_debug_mode(0)
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError):
        torch.set_deterministic_debug_mode("perhaps")
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    torch.set_num_interop_threads(4)
    assert torch.get_num_interop_threads() == 1
    torch.set_anomaly_enabled(True)
    assert torch.is_anomaly_enabled()
    torch.set_anomaly_enabled(False)
    assert not torch.is_anomaly_enabled() and issubclass(torch.OutOfMemoryError, RuntimeError)


def test_what_the_conformance_page_calls_missing_is_missing():
    page = (Path(__file__).parents[1] / "docs" / "conformance.md").read_text().partition("## What is missing")[2]
    names = [name for row in page.splitlines() if row.startswith("| ") for name in re.findall(r"`([A-Za-z_0-9]+)`", row.split("|")[1])]
    assert len(names) > 10 and [name for name in names if hasattr(torch, name)] == []
