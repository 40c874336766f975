"""Convolutions of each kind, for any library with PyTorch's functions."""

# name: (function(nn.functional, input, weight, bias), shapes of input and weight); four output channels each
CONVOLUTIONS = {
    "1-d": (lambda F, x, w, b: F.conv1d(x, w, b, stride=2, padding=1), (2, 3, 11), (4, 3, 3)),
    "2-d": (lambda F, x, w, b: F.conv2d(x, w, b, padding=1), (2, 3, 7, 6), (4, 3, 3, 3)),
    "windows that skip pixels": (lambda F, x, w, b: F.conv2d(x, w, b, stride=(3, 2), padding=(0, 2), dilation=(2, 1)), (2, 3, 9, 8), (4, 3, 3, 2)),
    "groups": (lambda F, x, w, b: F.conv2d(x, w, b, groups=2), (2, 4, 5, 6), (4, 2, 3, 3)),
    "depthwise": (lambda F, x, w, b: F.conv2d(x, w, b, groups=4, padding="same"), (1, 4, 5, 6), (4, 1, 3, 3)),
    "3-d": (lambda F, x, w, b: F.conv3d(x, w, b, stride=(1, 2, 1)), (2, 2, 4, 5, 4), (4, 2, 2, 3, 2)),
    "transposed 1-d": (lambda F, x, w, b: F.conv_transpose1d(x, w, b, stride=2, output_padding=1), (2, 3, 5), (3, 4, 3)),
    "transposed 2-d": (lambda F, x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, groups=2, output_padding=(1, 0)), (2, 4, 3, 5), (4, 2, 3, 3)),
    "one image": (lambda F, x, w, b: F.conv2d(x, w, b), (3, 5, 5), (4, 3, 2, 2)),
}
