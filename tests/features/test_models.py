"""Models of images under torchvision's names: parameters, the state dict's keys, what a pass gives, published weights."""
import itertools

import pytest

import pyx_tensor as torch
from pyx_tensor.vision import models


@pytest.fixture
def undrawn(monkeypatch):
    """All weights are the same: drawing takes seconds."""
    for name in ("uniform_", "normal_"):
        monkeypatch.setattr(torch.Tensor, name, lambda self, *args, **kwargs: self.fill_(0.01))


def test_the_modules_are_the_same_under_both_names():
    import pyx_tensor.torchvision.models as same
    from pyx_tensor.torchvision.models.squeezenet import model_urls
    assert same is torch.torchvision.models is torch.vision.models and model_urls is models.squeezenet.model_urls


def linear(*names):
    return [f"{name}.{part}" for name in names for part in ("weight", "bias")]


def norm(name):
    return [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]


def resnet_keys(blocks, convolutions):
    """torchvision's names: a block has so many convolutions, and the first of a stage leads round them where sizes change."""
    keys = ["conv1.weight", *norm("bn1")]
    for stage, count in enumerate(blocks, 1):
        for block in range(count):
            name = f"layer{stage}.{block}"
            for i in range(1, convolutions + 1):
                keys += [f"{name}.conv{i}.weight", *norm(f"{name}.bn{i}")]
            if block == 0 and (stage > 1 or convolutions == 3):
                keys += [f"{name}.downsample.0.weight", *norm(f"{name}.downsample.1")]
    return keys + linear("fc")


def squeezenet_keys(fires, last):
    layers = [f"features.{fire}.{part}" for fire in fires for part in ("squeeze", "expand1x1", "expand3x3")]
    return linear("features.0", *layers, f"classifier.{last}")


def densenet_keys(blocks):
    keys = ["features.conv0.weight", *norm("features.norm0")]
    for block, count in enumerate(blocks, 1):
        for layer, i in itertools.product(range(1, count + 1), (1, 2)):
            name = f"features.denseblock{block}.denselayer{layer}"
            keys += [*norm(f"{name}.norm{i}"), f"{name}.conv{i}.weight"]
        if block < len(blocks):
            keys += [*norm(f"features.transition{block}.norm"), f"features.transition{block}.conv.weight"]
    return keys + norm("features.norm5") + linear("classifier")


VGG_HEAD = linear(*(f"classifier.{i}" for i in (0, 3, 6)))


@pytest.mark.parametrize(("name", "count", "keys"), [
    pytest.param("alexnet", 61_100_840, linear(*(f"features.{i}" for i in (0, 3, 6, 8, 10)), *(f"classifier.{i}" for i in (1, 4, 6))),
                 marks=pytest.mark.rows("S164")),
    pytest.param("vgg11", 132_863_336, linear(*(f"features.{i}" for i in (0, 3, 6, 8, 11, 13, 16, 18))) + VGG_HEAD, marks=pytest.mark.rows("S165")),
    pytest.param("vgg11_bn", 132_868_840, [key for i in (0, 4, 8, 11, 15, 18, 22, 25) for key in linear(f"features.{i}") + norm(f"features.{i + 1}")] + VGG_HEAD,
                 marks=pytest.mark.rows("S165")),
    pytest.param("resnet18", 11_689_512, resnet_keys((2, 2, 2, 2), 2), marks=pytest.mark.rows("S166")),
    pytest.param("resnet34", 21_797_672, resnet_keys((3, 4, 6, 3), 2), marks=pytest.mark.rows("S166")),
    pytest.param("resnet50", 25_557_032, resnet_keys((3, 4, 6, 3), 3), marks=pytest.mark.rows("S166")),
    pytest.param("squeezenet1_0", 1_248_424, squeezenet_keys((3, 4, 5, 7, 8, 9, 10, 12), 1), marks=pytest.mark.rows("S167")),
    pytest.param("squeezenet1_1", 1_235_496, squeezenet_keys((3, 4, 6, 7, 9, 10, 11, 12), 1), marks=pytest.mark.rows("S167")),
    pytest.param("densenet121", 7_978_856, densenet_keys((6, 12, 24, 16)), marks=pytest.mark.rows("S168")),
])
def test_parameters_and_keys(name, count, keys, undrawn):
    model = getattr(models, name)(pretrained=False)
    assert sum(p.numel() for p in model.parameters()) == count
    assert list(model.state_dict()) == keys


@pytest.mark.rows("S164", "S167")
@pytest.mark.parametrize("name", ["alexnet", "squeezenet1_1"])
def test_a_pass_over_an_image(name, undrawn):
    model = getattr(torch.torchvision.models, name)(pretrained=False).eval()
    with torch.no_grad():
        scores = model(torch.ones(1, 3, 224, 224))
    assert scores.shape == (1, 1000) and scores.dtype is torch.float32 and scores.isfinite().all()


@pytest.mark.rows("S165", "S166", "S168")
def test_every_member_of_the_families(undrawn, monkeypatch):
    """The larger ones have more parameters: by what torchvision's documentation says."""
    counts = {"vgg13": 133_047_848, "vgg16": 138_357_544, "vgg19": 143_667_240, "resnet101": 44_549_160, "resnet152": 60_192_808,
              "densenet161": 28_681_000, "densenet169": 14_149_480, "densenet201": 20_013_928}
    monkeypatch.setattr(torch.Tensor, "fill_", lambda self, *args: self)        # no memory is touched
    for name, count in counts.items():
        assert sum(p.numel() for p in getattr(models, name)().parameters()) == count, name


@pytest.mark.rows("S170")
def test_pretrained_weights_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    torch.manual_seed(5)
    published = models.squeezenet1_1().eval()
    file = models.squeezenet.model_urls["squeezenet1_1"].rsplit("/", 1)[1]
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    torch.save(published.state_dict(), tmp_path / "hub" / "checkpoints" / file)
    model = models.squeezenet1_1(pretrained=True)
    assert all(torch.equal(value, published.state_dict()[name]) for name, value in model.state_dict().items())
    for family, name in (("vgg", "vgg16"), ("resnet", "resnet50"), ("densenet", "densenet121"), ("inception", "inception_v3")):
        assert getattr(models, family).model_urls[name].startswith(f"https://download.pytorch.org/models/{name}")
    assert "resnet134" not in models.resnet.model_urls
