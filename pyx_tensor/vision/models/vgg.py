"""VGG networks (Simonyan, Zisserman, 2015)."""
from functools import partial

from ... import nn
from ._builder import builder
from ._weights import urls_of

_PLANS = {      # channels of each convolution; P: pooling
    11: "64 P 128 P 256 256 P 512 512 P 512 512 P", 13: "64 64 P 128 128 P 256 256 P 512 512 P 512 512 P",
    16: "64 64 P 128 128 P 256 256 256 P 512 512 512 P 512 512 512 P",
    19: "64 64 P 128 128 P 256 256 256 256 P 512 512 512 512 P 512 512 512 512 P"}


class VGG(nn.Module):
    """Convolutions of 3x3 and three linear layers.

    Args:
        features: the convolutions.
        num_classes: how many scores there are.
        init_weights: draw weights by He et al. (2015) instead of the layers' own way.
        dropout: the probability of the dropout between the linear layers.

    Shapes: input (N, 3, H, W), about 224 wide; output (N, num_classes).
    """

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(dropout), nn.Linear(4096, num_classes))
        if init_weights:
            for module in self.modules():
                _start(module)

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _start(module):
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
        nn.init.zeros_(module.bias)


def _features(plan, batch_norm):
    layers, channels = [], 3
    for part in plan.split():
        if part == "P":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        layers.append(nn.Conv2d(channels, int(part), 3, padding=1))
        channels = int(part)
        layers += [nn.BatchNorm2d(channels)] * batch_norm + [nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def _vgg(depth, batch_norm, **kwargs):
    return VGG(_features(_PLANS[depth], batch_norm), **kwargs)


def _define(depth, batch_norm):
    name = f"vgg{depth}_bn" if batch_norm else f"vgg{depth}"
    return builder(name, partial(_vgg, depth, batch_norm), f"VGG of {depth} layers{' with batch normalisation' * batch_norm} (Simonyan, Zisserman, 2015).",
                   init_weights=False)


vgg11, vgg13, vgg16, vgg19 = [_define(depth, False) for depth in _PLANS]
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = [_define(depth, True) for depth in _PLANS]

model_urls = urls_of("vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn")
