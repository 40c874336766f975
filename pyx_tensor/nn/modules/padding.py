"""Padding layers."""
from .. import functional as F
from .module import Module
from .utils import _ntuple


class _PadNd(Module):
    _mode = None

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


_KINDS = {
    "ConstantPad": (_ConstantPadNd, None, "with ``value``"),
    "ZeroPad": (_ZeroPadNd, None, "with zeros"),
    "ReflectionPad": (_PadNd, "reflect", "with what lies on the other side of the border element"),
    "ReplicationPad": (_PadNd, "replicate", "with the border element"),
    "CircularPad": (_PadNd, "circular", "with what lies at the other end"),
}
_DIMS = {1: ("L", "one number or (left, right)"), 2: ("H, W", "one number or (left, right, top, bottom)"),
         3: ("D, H, W", "one number or (left, right, top, bottom, front, back)")}


def _layer(kind, dims):
    base, mode, text = _KINDS[kind]
    letters, numbers = _DIMS[dims]
    doc = f"""Pads the last {dims} dim{'s' * (dims > 1)} of (N, C, {letters}) or (C, {letters}) {text}.

    Args:
        padding: {numbers}; negative ones take away.
    """
    return type(f"{kind}{dims}d", (base,), {"_dims": dims, "_mode": mode, "__doc__": doc, "__module__": __name__})


ConstantPad1d, ConstantPad2d, ConstantPad3d = [_layer("ConstantPad", n) for n in (1, 2, 3)]
ZeroPad1d, ZeroPad2d, ZeroPad3d = [_layer("ZeroPad", n) for n in (1, 2, 3)]
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = [_layer("ReflectionPad", n) for n in (1, 2, 3)]
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = [_layer("ReplicationPad", n) for n in (1, 2, 3)]
CircularPad1d, CircularPad2d, CircularPad3d = [_layer("CircularPad", n) for n in (1, 2, 3)]
