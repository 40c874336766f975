"""Networks that classify images, with torchvision's names of functions, layers and parameters.

A state dict that torchvision has written loads into the model of the same name.
"""
from ._weights import enums as _enums
from .alexnet import AlexNet, alexnet  # noqa: F401
from .densenet import DenseNet, densenet121, densenet161, densenet169, densenet201  # noqa: F401
from .inception import Inception3, InceptionOutputs, inception_v3  # noqa: F401
from .resnet import (  # noqa: F401
    ResNet, resnet18, resnet34, resnet50, resnet101, resnet152, resnext50_32x4d, resnext101_32x8d, resnext101_64x4d, wide_resnet50_2,
    wide_resnet101_2)
from .squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1  # noqa: F401
from .vgg import VGG, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn  # noqa: F401

globals().update(_enums)           # ResNet18_Weights and so on

_BUILDERS = {name: function for name, function in list(globals().items()) if callable(function) and name.islower() and not name.startswith("_")}


def list_models():
    """The names of the functions that make models.

    >>> 'resnet18' in torch.vision.models.list_models()
    True
    """
    return sorted(_BUILDERS)


def get_model(name, **config):
    """The model that the function of this name makes with these arguments.

    Raises:
        ValueError: there is no such function.
    """
    if name.lower() not in _BUILDERS:
        raise ValueError(f"Unknown model {name}")
    return _BUILDERS[name.lower()](**config)
