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

# Names whose parts of the library are still to come. A name that has come is taken off this list.
STILL_TO_COME = set("""
Tensor.is_pinned Tensor.pin_memory Tensor.storage().is_pinned Tensor.storage().pin_memory nn.DataParallel torchvision.models.alexnet
torchvision.models.densenet121 torchvision.models.densenet161 torchvision.models.densenet169 torchvision.models.densenet201
torchvision.models.inception_v3 torchvision.models.resnet101 torchvision.models.resnet152 torchvision.models.resnet18
torchvision.models.resnet34 torchvision.models.resnet50 torchvision.models.squeezenet.model_urls torchvision.models.squeezenet1_0
torchvision.models.squeezenet1_1 torchvision.models.vgg11 torchvision.models.vgg11_bn torchvision.models.vgg13 torchvision.models.vgg13_bn
torchvision.models.vgg16 torchvision.models.vgg16_bn torchvision.models.vgg19 torchvision.models.vgg19_bn
""".split())


def find(name):
    if name in OF_OBJECTS:
        return OF_OBJECTS[name]()
    found = torch
    for part in name.split("."):
        called = re.fullmatch(r"(\w+)\(\)", part)
        found = getattr(found, called.group(1))(torch.ones(1)) if called else getattr(found, part)
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in STILL_TO_COME])
def test_name(name):
    find(name)


def test_nothing_on_the_list_of_missing_names_is_there():
    assert STILL_TO_COME <= set(NAMES)


# --- the page of early names ---------------------------------------------------------------------------------------
PAGE = (Path(__file__).parents[1] / "docs" / "early_names.md").read_text()


def test_every_early_function_stands_on_the_page():
    early = ("gesv gels btrifact btrisolve potrf potri potrs pstrf trtrs symeig eig orgqr ormqr geqrf ger addbmm baddbmm range svd qr inverse linspace "
             "set_default_tensor_type creator Variable volatile new median mode kthvalue masked_select tril triu normal cat addcdiv addcmul").split()
    assert not [name for name in early if not re.search(rf"\b{name}\b", PAGE)]


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
