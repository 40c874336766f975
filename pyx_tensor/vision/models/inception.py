"""Inception v3 (Szegedy et al., 2016)."""
import warnings
from collections import namedtuple

from ... import nn
from ...ops import namespace as ops
from ._builder import builder
from ._weights import urls_of

F = nn.functional

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
InceptionOutputs.__doc__ = "The scores, and in training those of the auxiliary classifier."


class BasicConv2d(nn.Module):
    """Convolution, normalisation and ReLU."""

    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class _Block(nn.Module):
    """Branches side by side, made from rows (name, inputs, outputs, kernel, stride, padding)."""

    def __init__(self, conv_block, *rows):
        super().__init__()
        make = BasicConv2d if conv_block is None else conv_block
        for name, inputs, outputs, kernel, stride, padding in rows:
            setattr(self, name, make(inputs, outputs, kernel_size=kernel, stride=stride, padding=padding))

    def chain(self, x, *names):
        """x through several convolutions."""
        for name in names:
            x = getattr(self, name)(x)
        return x

    def pooled(self, x):
        return self.branch_pool(F.avg_pool2d(x, 3, stride=1, padding=1))


class InceptionA(_Block):
    def __init__(self, in_channels, pool_features, conv_block=None):
        super().__init__(
            conv_block, ("branch1x1", in_channels, 64, 1, 1, 0), ("branch5x5_1", in_channels, 48, 1, 1, 0), ("branch5x5_2", 48, 64, 5, 1, 2),
            ("branch3x3dbl_1", in_channels, 64, 1, 1, 0), ("branch3x3dbl_2", 64, 96, 3, 1, 1), ("branch3x3dbl_3", 96, 96, 3, 1, 1),
            ("branch_pool", in_channels, pool_features, 1, 1, 0))

    def forward(self, x):
        return ops.cat([self.branch1x1(x), self.chain(x, "branch5x5_1", "branch5x5_2"),
                        self.chain(x, "branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"), self.pooled(x)], 1)


class InceptionB(_Block):
    def __init__(self, in_channels, conv_block=None):
        super().__init__(
            conv_block, ("branch3x3", in_channels, 384, 3, 2, 0), ("branch3x3dbl_1", in_channels, 64, 1, 1, 0),
            ("branch3x3dbl_2", 64, 96, 3, 1, 1), ("branch3x3dbl_3", 96, 96, 3, 2, 0))

    def forward(self, x):
        return ops.cat([self.branch3x3(x), self.chain(x, "branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"), F.max_pool2d(x, 3, 2)], 1)


class InceptionC(_Block):
    def __init__(self, in_channels, channels_7x7, conv_block=None):
        n, wide, high = channels_7x7, (1, 7), (7, 1)
        super().__init__(
            conv_block, ("branch1x1", in_channels, 192, 1, 1, 0),
            ("branch7x7_1", in_channels, n, 1, 1, 0), ("branch7x7_2", n, n, wide, 1, (0, 3)), ("branch7x7_3", n, 192, high, 1, (3, 0)),
            ("branch7x7dbl_1", in_channels, n, 1, 1, 0), ("branch7x7dbl_2", n, n, high, 1, (3, 0)), ("branch7x7dbl_3", n, n, wide, 1, (0, 3)),
            ("branch7x7dbl_4", n, n, high, 1, (3, 0)), ("branch7x7dbl_5", n, 192, wide, 1, (0, 3)), ("branch_pool", in_channels, 192, 1, 1, 0))

    def forward(self, x):
        return ops.cat([self.branch1x1(x), self.chain(x, *[f"branch7x7_{i}" for i in range(1, 4)]),
                        self.chain(x, *[f"branch7x7dbl_{i}" for i in range(1, 6)]), self.pooled(x)], 1)


class InceptionD(_Block):
    def __init__(self, in_channels, conv_block=None):
        super().__init__(
            conv_block, ("branch3x3_1", in_channels, 192, 1, 1, 0), ("branch3x3_2", 192, 320, 3, 2, 0), ("branch7x7x3_1", in_channels, 192, 1, 1, 0),
            ("branch7x7x3_2", 192, 192, (1, 7), 1, (0, 3)), ("branch7x7x3_3", 192, 192, (7, 1), 1, (3, 0)), ("branch7x7x3_4", 192, 192, 3, 2, 0))

    def forward(self, x):
        return ops.cat([self.chain(x, "branch3x3_1", "branch3x3_2"), self.chain(x, *[f"branch7x7x3_{i}" for i in range(1, 5)]),
                        F.max_pool2d(x, 3, 2)], 1)


class InceptionE(_Block):
    def __init__(self, in_channels, conv_block=None):
        wide, high = ((1, 3), 1, (0, 1)), ((3, 1), 1, (1, 0))
        super().__init__(
            conv_block, ("branch1x1", in_channels, 320, 1, 1, 0), ("branch3x3_1", in_channels, 384, 1, 1, 0), ("branch3x3_2a", 384, 384, *wide),
            ("branch3x3_2b", 384, 384, *high), ("branch3x3dbl_1", in_channels, 448, 1, 1, 0), ("branch3x3dbl_2", 448, 384, 3, 1, 1),
            ("branch3x3dbl_3a", 384, 384, *wide), ("branch3x3dbl_3b", 384, 384, *high), ("branch_pool", in_channels, 192, 1, 1, 0))

    def forward(self, x):
        narrow, double = self.branch3x3_1(x), self.chain(x, "branch3x3dbl_1", "branch3x3dbl_2")
        return ops.cat([self.branch1x1(x), self.branch3x3_2a(narrow), self.branch3x3_2b(narrow), self.branch3x3dbl_3a(double),
                        self.branch3x3dbl_3b(double), self.pooled(x)], 1)


class InceptionAux(nn.Module):
    """The auxiliary classifier."""

    def __init__(self, in_channels, num_classes, conv_block=None):
        super().__init__()
        make = BasicConv2d if conv_block is None else conv_block
        self.conv0 = make(in_channels, 128, kernel_size=1)
        self.conv1 = make(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x):
        x = self.conv1(self.conv0(F.avg_pool2d(x, 5, 3)))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Inception3(nn.Module):
    """Inception v3.

    Args:
        num_classes: how many scores there are.
        aux_logits: whether there is an auxiliary classifier, which scores in training: the result is then `InceptionOutputs`.
        transform_input: the input is normalised by ImageNet's statistics, and is to be so to mean 0.5 and deviation 0.5.
        inception_blocks: seven functions that make the parts, instead of the classes here.
        init_weights: draw weights from a normal distribution cut off at two deviations; None is True.
        dropout: the probability of the dropout ahead of the last layer.

    Shapes: input (N, 3, H, W), about 299 wide; output (N, num_classes).
    """

    def __init__(self, num_classes=1000, aux_logits=True, transform_input=False, inception_blocks=None, init_weights=None, dropout=0.5):
        super().__init__()
        blocks = inception_blocks or [BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux]
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        if init_weights is None:
            warnings.warn("The default weight initialization of inception_v3 will be changed in future releases of torchvision. If you wish to keep "
                          "the old behavior, please set init_weights=True.", FutureWarning, stacklevel=2)
            init_weights = True
        conv, a, b, c, d, e, aux = blocks
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3, self.Conv2d_2a_3x3 = conv(3, 32, kernel_size=3, stride=2), conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(3, stride=2)
        self.Conv2d_3b_1x1, self.Conv2d_4a_3x3 = conv(64, 80, kernel_size=1), conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(3, stride=2)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = a(192, pool_features=32), a(256, pool_features=64), a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b, self.Mixed_6c = c(768, channels_7x7=128), c(768, channels_7x7=160)
        self.Mixed_6d, self.Mixed_6e = c(768, channels_7x7=160), c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a, self.Mixed_7b, self.Mixed_7c = d(768), e(1280), e(2048)
        self.avgpool, self.dropout = nn.AdaptiveAvgPool2d((1, 1)), nn.Dropout(dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    nn.init.trunc_normal_(module.weight, mean=0.0, std=float(getattr(module, "stddev", 0.1)), a=-2, b=2)

    def _normalized(self, x):
        """Channels by the statistics with which the published weights were trained."""
        parts = [(0.229 / 0.5, (0.485 - 0.5) / 0.5), (0.224 / 0.5, (0.456 - 0.5) / 0.5), (0.225 / 0.5, (0.406 - 0.5) / 0.5)]
        return ops.cat([x[:, i:i + 1] * scale + shift for i, (scale, shift) in enumerate(parts)], 1)

    def forward(self, x):
        x = self._normalized(x) if self.transform_input else x
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        for name in ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e"):
            x = getattr(self, f"Mixed_{name}")(x)
        aux = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x


inception_v3 = builder("inception_v3", Inception3, "Inception v3 (Szegedy et al., 2016).", transform_input=True, init_weights=False)

model_urls = urls_of("inception_v3")
