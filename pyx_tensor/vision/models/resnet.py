"""Residual networks (He et al., 2016), with groups (Xie et al., 2017) and wide ones (Zagoruyko, Komodakis, 2016)."""
from functools import partial

from ... import nn
from ._builder import builder
from ._weights import urls_of


def _conv3x3(channels, outputs, stride=1, groups=1, dilation=1):
    return nn.Conv2d(channels, outputs, 3, stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def _conv1x1(channels, outputs, stride=1):
    return nn.Conv2d(channels, outputs, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions of 3x3, and what goes around them."""

    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None):
        super().__init__()
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        if groups != 1 or base_width != 64:
            raise ValueError(f"BasicBlock only supports groups=1 and base_width=64, got groups={groups} and base_width={base_width}")
        if dilation > 1:
            raise NotImplementedError(f"Dilation > 1 not supported in BasicBlock, got {dilation}")
        self.conv1, self.bn1 = _conv3x3(inplanes, planes, stride), norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = _conv3x3(planes, planes), norm(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """Convolutions of 1x1, 3x3 and 1x1, and what goes around them; the step is in the second one."""

    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None):
        super().__init__()
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1, self.bn1 = _conv1x1(inplanes, width), norm(width)
        self.conv2, self.bn2 = _conv3x3(width, width, stride, groups, dilation), norm(width)
        self.conv3, self.bn3 = _conv1x1(width, planes * self.expansion), norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """Four stages of blocks, each with half the resolution and twice the channels.

    Args:
        block: `BasicBlock` or `Bottleneck`. layers: how many blocks each stage has.
        num_classes: how many scores there are.
        zero_init_residual: the last normalisation of each block starts with scale 0, so that the block is the identity.
        groups, width_per_group: of the 3x3 convolutions.
        replace_stride_with_dilation: for the last three stages, whether windows are widened instead of the resolution halved.
        norm_layer: makes normalisations, by default `BatchNorm2d`.

    Shapes: input (N, 3, H, W), about 224 wide; output (N, num_classes).
    """

    def __init__(self, block, layers, num_classes=1000, zero_init_residual=False, groups=1, width_per_group=64, replace_stride_with_dilation=None,
                 norm_layer=None):
        super().__init__()
        dilate = [False] * 3 if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self._norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(block, 64, layers[0])
        self.layer2 = self._stage(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._stage(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._stage(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, (BasicBlock, Bottleneck)):
                    nn.init.zeros_((module.bn3 if isinstance(module, Bottleneck) else module.bn2).weight)

    def _stage(self, block, planes, blocks, stride=1, dilate=False):
        before, downsample = self.dilation, None
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(_conv1x1(self.inplanes, planes * block.expansion, stride), self._norm_layer(planes * block.expansion))
        made = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width, before, self._norm_layer)]
        self.inplanes = planes * block.expansion
        made += [block(self.inplanes, planes, groups=self.groups, base_width=self.base_width, dilation=self.dilation, norm_layer=self._norm_layer)
                 for _ in range(1, blocks)]
        return nn.Sequential(*made)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def _resnet(block, layers, defaults, **kwargs):
    return ResNet(block, layers, **{**kwargs, **defaults})


def _define(name, block, layers, **defaults):
    return builder(name, partial(_resnet, block, layers, defaults), f"The residual network {name} (He et al., 2016), of {sum(layers)} blocks.")


resnet18 = _define("resnet18", BasicBlock, (2, 2, 2, 2))
resnet34 = _define("resnet34", BasicBlock, (3, 4, 6, 3))
resnet50 = _define("resnet50", Bottleneck, (3, 4, 6, 3))
resnet101 = _define("resnet101", Bottleneck, (3, 4, 23, 3))
resnet152 = _define("resnet152", Bottleneck, (3, 8, 36, 3))
resnext50_32x4d = _define("resnext50_32x4d", Bottleneck, (3, 4, 6, 3), groups=32, width_per_group=4)
resnext101_32x8d = _define("resnext101_32x8d", Bottleneck, (3, 4, 23, 3), groups=32, width_per_group=8)
resnext101_64x4d = _define("resnext101_64x4d", Bottleneck, (3, 4, 23, 3), groups=64, width_per_group=4)
wide_resnet50_2 = _define("wide_resnet50_2", Bottleneck, (3, 4, 6, 3), width_per_group=128)
wide_resnet101_2 = _define("wide_resnet101_2", Bottleneck, (3, 4, 23, 3), width_per_group=128)

model_urls = urls_of(
    "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2")
