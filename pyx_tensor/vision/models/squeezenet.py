"""SqueezeNet (Iandola et al., 2016)."""
from functools import partial

from ... import nn
from ...ops import namespace as ops
from ._builder import builder
from ._weights import urls_of

_FIRES = {      # squeeze and expand channels of each fire module; None: pooling
    "1_0": ((96, 7), [(16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256)]),
    "1_1": ((64, 3), [(16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)])}


class Fire(nn.Module):
    """Few channels, then many by 1x1 and 3x3 convolutions side by side."""

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        return ops.cat([self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """Fire modules and a convolution that scores.

    Args:
        version: '1_0', or '1_1' with less to compute.
        num_classes: how many scores there are.
        dropout: the probability of the dropout ahead of the last convolution.

    Shapes: input (N, 3, H, W), about 224 wide; output (N, num_classes).
    """

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        self.num_classes = num_classes
        if version not in _FIRES:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        (channels, kernel), fires = _FIRES[version]
        layers = [nn.Conv2d(3, channels, kernel, stride=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True)]
        for fire in fires:
            if fire is None:
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            else:
                layers.append(Fire(channels, fire[0], fire[1], fire[1]))
                channels = 2 * fire[1]
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, 1)
        self.classifier = nn.Sequential(nn.Dropout(dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, 0.0, 0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.features(x)).flatten(1)


squeezenet1_0 = builder("squeezenet1_0", partial(SqueezeNet, "1_0"), "SqueezeNet 1.0 (Iandola et al., 2016).")
squeezenet1_1 = builder("squeezenet1_1", partial(SqueezeNet, "1_1"), "SqueezeNet 1.1, with 2.4 times less to compute than 1.0.")

model_urls = urls_of("squeezenet1_0", "squeezenet1_1")
