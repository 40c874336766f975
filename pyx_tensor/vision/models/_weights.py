"""Weights that torchvision's authors publish: which there are of each model, and where."""
import enum
import re

BASE = "https://download.pytorch.org/models/"
_V1, _V2 = "IMAGENET1K_V1", "IMAGENET1K_V2"

# model -> (the enum's name in torchvision, file of the first training, file of the second where there is one)
_FILES = {
    "alexnet": ("AlexNet", "alexnet-owt-7be5be79"),
    "vgg11": ("VGG11", "vgg11-8a719046"), "vgg11_bn": ("VGG11_BN", "vgg11_bn-6002323d"),
    "vgg13": ("VGG13", "vgg13-19584684"), "vgg13_bn": ("VGG13_BN", "vgg13_bn-abd245e5"),
    "vgg16": ("VGG16", "vgg16-397923af"), "vgg16_bn": ("VGG16_BN", "vgg16_bn-6c64b313"),
    "vgg19": ("VGG19", "vgg19-dcbb9e9d"), "vgg19_bn": ("VGG19_BN", "vgg19_bn-c79401a0"),
    "resnet18": ("ResNet18", "resnet18-f37072fd"), "resnet34": ("ResNet34", "resnet34-b627a593"),
    "resnet50": ("ResNet50", "resnet50-0676ba61", "resnet50-11ad3fa6"),
    "resnet101": ("ResNet101", "resnet101-63fe2227", "resnet101-cd907fc2"),
    "resnet152": ("ResNet152", "resnet152-394f9c45", "resnet152-f82ba261"),
    "resnext50_32x4d": ("ResNeXt50_32X4D", "resnext50_32x4d-7cdf4587", "resnext50_32x4d-1a0047aa"),
    "resnext101_32x8d": ("ResNeXt101_32X8D", "resnext101_32x8d-8ba56ff5", "resnext101_32x8d-110c445d"),
    "resnext101_64x4d": ("ResNeXt101_64X4D", "resnext101_64x4d-173b62eb"),
    "wide_resnet50_2": ("Wide_ResNet50_2", "wide_resnet50_2-95faca4d", "wide_resnet50_2-9ba9bcbe"),
    "wide_resnet101_2": ("Wide_ResNet101_2", "wide_resnet101_2-32ee1156", "wide_resnet101_2-d733dc28"),
    "squeezenet1_0": ("SqueezeNet1_0", "squeezenet1_0-b66bff10"), "squeezenet1_1": ("SqueezeNet1_1", "squeezenet1_1-b8a52dc0"),
    "densenet121": ("DenseNet121", "densenet121-a639ec97"), "densenet161": ("DenseNet161", "densenet161-8d451a50"),
    "densenet169": ("DenseNet169", "densenet169-b2777c0a"), "densenet201": ("DenseNet201", "densenet201-c1103571"),
    "inception_v3": ("Inception_V3", "inception_v3_google-0cc3c7bd"),
}
_EARLY_NORM = re.compile(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\..*)$")      # DenseNet's names before torchvision 0.3


class WeightsEnum(enum.Enum):
    """The trainings of a model; a member's `url` is where its weights are."""

    @property
    def url(self):
        return f"{BASE}{self.value}.pth"

    def get_state_dict(self, progress=True, check_hash=True):
        """The weights, downloaded once into the hub's cache folder."""
        from ...hub import load_state_dict_from_url
        state = load_state_dict_from_url(self.url, progress=progress, check_hash=check_hash, map_location="cpu")
        return {_EARLY_NORM.sub(r"\1\2", name): value for name, value in state.items()}


def _make(name, *files):
    members = dict(zip((_V1, _V2), files))
    members["DEFAULT"] = files[-1]              # an alias of the latest training
    return WeightsEnum(f"{name}_Weights", members, module="pyx_tensor.vision.models")


weights_of = {model: _make(*entry) for model, entry in _FILES.items()}
enums = {kind.__name__: kind for kind in weights_of.values()}


def find_weights(model, weights, pretrained):
    """The member that a caller means by `weights` (itself, its name, 'Enum.name') or `pretrained`, None for none.

    Raises ValueError for weights that the model doesn't have.
    """
    if weights is None:
        weights = _V1 if pretrained else None
    if weights is None or model not in weights_of:
        if weights is not None:
            raise ValueError(f"{model}: there are no published weights")
        return None
    kind = weights_of[model]
    if isinstance(weights, str):
        name = weights.removeprefix(f"{kind.__name__}.")
        if name in kind.__members__:
            return kind[name]
    elif isinstance(weights, kind):
        return weights
    raise ValueError(f"{model}: weights must be one of {', '.join(kind.__members__)} or a member of {kind.__name__}, got {weights!r}")


def urls_of(*models):
    """model -> URL of its first training: early torchvision's `model_urls`."""
    return {model: weights_of[model][_V1].url for model in models}
