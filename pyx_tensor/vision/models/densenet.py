"""Densely connected networks (Huang et al., 2017)."""
from collections import OrderedDict
from functools import partial

from ... import nn
from ...ops import namespace as ops
from ...utils.checkpoint import checkpoint
from ._builder import builder
from ._weights import urls_of


class _DenseLayer(nn.Module):
    """New channels from all those before."""

    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(num_input_features), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, bn_size * growth_rate, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(bn_size * growth_rate), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, 3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def bn_function(self, *inputs):
        """The first half, which the memory efficient form computes again for the gradient."""
        return self.conv1(self.relu1(self.norm1(ops.cat(list(inputs), 1))))

    def forward(self, input):
        inputs = input if isinstance(input, (list, tuple)) else [input]
        if self.memory_efficient and any(t.requires_grad for t in inputs):
            narrow = checkpoint(self.bn_function, *inputs, use_reentrant=False)
        else:
            narrow = self.bn_function(*inputs)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return nn.functional.dropout(new, self.drop_rate, self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    """Layers that each see what all before them gave."""

    def __init__(self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False):
        super().__init__()
        for i in range(num_layers):
            layer = _DenseLayer(num_input_features + i * growth_rate, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{i + 1}", layer)

    def forward(self, x):
        features = [x]
        for layer in self.values():
            features.append(layer(features))
        return ops.cat(features, 1)


class _Transition(nn.Sequential):
    """Half the channels and half the resolution."""

    def __init__(self, channels, outputs):
        super().__init__(OrderedDict(norm=nn.BatchNorm2d(channels), relu=nn.ReLU(inplace=True), conv=nn.Conv2d(channels, outputs, 1, bias=False),
                                     pool=nn.AvgPool2d(2, 2)))


class DenseNet(nn.Module):
    """Four dense blocks with transitions between them.

    Args:
        growth_rate: how many channels a layer adds. block_config: how many layers each block has.
        num_init_features: channels of the first convolution.
        bn_size: channels of a layer's inner convolution, in growth rates.
        drop_rate: the probability of dropout behind each layer.
        num_classes: how many scores there are.
        memory_efficient: compute part of each layer again for the gradient instead of keeping it.

    Shapes: input (N, 3, H, W), about 224 wide; output (N, num_classes).
    """

    def __init__(self, growth_rate=32, block_config=(6, 12, 24, 16), num_init_features=64, bn_size=4, drop_rate=0, num_classes=1000,
                 memory_efficient=False):
        super().__init__()
        self.features = nn.Sequential(OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, 7, stride=2, padding=3, bias=False), norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True), pool0=nn.MaxPool2d(3, stride=2, padding=1)))
        channels = num_init_features
        for i, layers in enumerate(block_config, 1):
            self.features.add_module(f"denseblock{i}", _DenseBlock(layers, channels, bn_size, growth_rate, drop_rate, memory_efficient))
            channels += layers * growth_rate
            if i < len(block_config):
                self.features.add_module(f"transition{i}", _Transition(channels, channels // 2))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


def _define(name, growth_rate, block_config, num_init_features):
    make = partial(DenseNet, growth_rate, block_config, num_init_features)
    return builder(name, make, f"The densely connected network {name} (Huang et al., 2017).")


densenet121 = _define("densenet121", 32, (6, 12, 24, 16), 64)
densenet161 = _define("densenet161", 48, (6, 12, 36, 24), 96)
densenet169 = _define("densenet169", 32, (6, 12, 32, 32), 64)
densenet201 = _define("densenet201", 32, (6, 12, 48, 32), 64)

model_urls = urls_of("densenet121", "densenet161", "densenet169", "densenet201")
