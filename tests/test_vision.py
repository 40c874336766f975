"""The models of images: parameter counts as published, what a pass gives, what is refused."""
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyx_tensor as torch
from pyx_tensor.vision import models
from pyx_tensor.vision.models import _weights

COUNTS = {      # parameters as torchvision's documentation has them; those of the other models stand in features/test_models.py
    "resnext50_32x4d": 25028904, "wide_resnet50_2": 68883240, "inception_v3": 27161264}


@pytest.fixture
def undrawn(monkeypatch):
    """All weights are the same: drawing takes seconds."""
    for name in ("uniform_", "normal_"):
        monkeypatch.setattr(torch.Tensor, name, lambda self, *args, **kwargs: self.fill_(0.01))


@pytest.mark.rows("S169")
@pytest.mark.parametrize("name", COUNTS)
def test_parameter_counts(name, undrawn):
    options = dict(init_weights=False) if name == "inception_v3" else {}
    assert sum(p.numel() for p in models.get_model(name, **options).parameters()) == COUNTS[name]


@pytest.mark.parametrize("name, size", [("resnet18", 33), ("squeezenet1_1", 33), ("densenet121", 33)])
def test_a_step_of_training(name, size):
    model = models.get_model(name, num_classes=3)
    scores = model(torch.randn(2, 3, size, size))
    assert scores.shape == (2, 3)
    torch.nn.functional.cross_entropy(scores, torch.tensor([0, 2])).backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())


@pytest.mark.rows("S169")
def test_auxiliary_scores(undrawn):
    model = models.inception_v3(num_classes=4, init_weights=False)
    with torch.no_grad():
        outputs = model(torch.randn(2, 3, 299, 299))
        assert outputs.logits.shape == outputs.aux_logits.shape == (2, 4) and outputs == (outputs.logits, outputs.aux_logits)
        assert model.eval()(torch.randn(1, 3, 80, 80)).shape == (1, 4)
    assert not any("AuxLogits" in name for name in models.inception_v3(aux_logits=False, init_weights=False).state_dict())


def test_variants(undrawn):
    model = models.resnet50(num_classes=2, replace_stride_with_dilation=[False, True, True])
    assert model.layer4[0].conv2.dilation == (2, 2) and model.layer4[1].conv2.dilation == (4, 4)
    with torch.no_grad():
        assert model.eval()(torch.randn(1, 3, 32, 32)).shape == (1, 2)
    assert float(models.resnet18(zero_init_residual=True).layer1[0].bn2.weight.sum()) == 0
    efficient = models.DenseNet(4, (2, 2), 8, num_classes=2, memory_efficient=True, drop_rate=0.1)
    efficient(torch.randn(2, 3, 32, 32)).sum().backward()


def test_refused():
    for weights in ("IMAGENET1K_V2", "none", models.ResNet50_Weights.DEFAULT, 3):
        with pytest.raises(ValueError, match="weights must be one of IMAGENET1K_V1, DEFAULT or a member of ResNet18_Weights"):
            models.resnet18(weights=weights)
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10"):
        models.resnet18(weights="DEFAULT", num_classes=10)
    with pytest.raises(ValueError, match="Unknown model"):
        models.get_model("resnet17")
    with pytest.raises(ValueError, match="3-element"):
        models.resnet50(replace_stride_with_dilation=[True])


def test_models_are_imported_when_asked_for():
    code = "import sys, pyx_tensor; pyx_tensor.nn; assert not any('pyx_tensor.vision' in m for m in sys.modules); pyx_tensor.vision.models.resnet18"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- published weights --------------------------------------------------------------------------------------------
@pytest.fixture
def published(tmp_path, monkeypatch):
    """publish(model name, state dict): as if torchvision's authors had published it, in a folder of this machine."""
    folder = tmp_path / "published"
    folder.mkdir()
    monkeypatch.setattr(_weights, "BASE", folder.as_uri() + "/")
    torch.hub.set_dir(tmp_path / "hub")

    def publish(name, state):
        torch.save(state, folder / "new")
        file = f"{name}-{hashlib.sha256((folder / 'new').read_bytes()).hexdigest()[:8]}"
        (folder / "new").rename(folder / f"{file}.pth")
        monkeypatch.setitem(_weights.weights_of, name, _weights._make(_weights.weights_of[name].__name__.removesuffix("_Weights"), file))
        return _weights.weights_of[name]
    yield publish
    torch.hub._dir = None


@pytest.mark.rows("S170")
def test_published_weights(published):
    torch.manual_seed(3)
    made = models.squeezenet1_1().eval()
    kind = published("squeezenet1_1", made.state_dict())
    x = torch.randn(1, 3, 64, 64)
    expected = made(x).tolist()
    for options in (dict(weights="DEFAULT"), dict(weights="IMAGENET1K_V1"), dict(weights=kind.DEFAULT), dict(pretrained=True),
                    dict(weights="SqueezeNet1_1_Weights.DEFAULT", num_classes=1000)):
        assert models.squeezenet1_1(progress=False, **options).eval()(x).tolist() == expected
    next(Path(torch.hub.get_dir(), "checkpoints").iterdir()).write_bytes(b"cut short")
    with pytest.raises(RuntimeError, match="neither a zip"):
        models.squeezenet1_1(weights="DEFAULT", progress=False)


def test_densenets_early_names(published):
    state = models.densenet121().state_dict()
    early = {re.sub(r"(denselayer\d+\.(?:norm|conv))([12])\.", r"\1.\2.", name): value for name, value in state.items()}
    assert early.keys() != state.keys()
    published("densenet121", early)
    assert torch.equal(models.densenet121(weights="DEFAULT", progress=False).features.denseblock1.denselayer1.conv1.weight,
                       state["features.denseblock1.denselayer1.conv1.weight"])


def test_the_files_names():
    """Every model has weights, and every file's name ends in the digits that are checked."""
    assert set(_weights.weights_of) == set(models.list_models())
    urls = [member.url for kind in _weights.weights_of.values() for member in kind.__members__.values()]
    assert all(re.fullmatch(r"https://download\.pytorch\.org/models/\w+(-owt)?-[0-9a-f]{8}\.pth", url) for url in urls)
    assert models.ResNet50_Weights.DEFAULT is models.ResNet50_Weights.IMAGENET1K_V2 and models.ResNet18_Weights["DEFAULT"].value == "resnet18-f37072fd"
