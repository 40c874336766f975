"""Activation functions as layers; their formulas stand in ``nn.functional``. Input and output have one shape."""
from .. import functional as F
from ...ops import namespace as ops
from ..parameter import Parameter
from .module import Module


class _Inplace(Module):
    """A layer whose only option is to work in place."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


def _with_inplace(text, inplace):
    return text + (", inplace=True" if inplace else "")


class ReLU(_Inplace):
    """max(0, x).

    >>> nn.ReLU()(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    def forward(self, input):
        return F.relu(input, self.inplace)


class SELU(_Inplace):
    """Scaled exponential linear unit (Klambauer et al., 2017)."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class SiLU(_Inplace):
    """x · sigmoid(x), also called swish."""

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """x · tanh(softplus(x)) (Misra, 2019)."""

    def forward(self, input):
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """x · relu6(x + 3) / 6 (Howard et al., 2019)."""

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


class Hardsigmoid(_Inplace):
    """relu6(x + 3) / 6."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class Hardtanh(Module):
    """x cut off to [``min_val``, ``max_val``].

    >>> nn.Hardtanh(-2, 2)(torch.tensor([-3., 1.]))
    tensor([-2.,  1.])
    """

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """x cut off to [0, 6]."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """x where it is greater than ``threshold``, else ``value``."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class _Alpha(Module):
    """A layer with the scale ``alpha`` of its negative side."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def extra_repr(self):
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class ELU(_Alpha):
    """x where positive, else alpha · (eˣ - 1) (Clevert et al., 2015)."""

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """max(0, x) + min(0, alpha · (e^(x/alpha) - 1)) (Barron, 2017)."""

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """x where positive, else ``negative_slope`` · x.

    >>> nn.LeakyReLU(0.5)(torch.tensor([-1., 2.]))
    tensor([-0.5000,  2.0000])
    """

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class RReLU(Module):
    """Leaky ReLU whose slope is drawn for each element in training (Xu et al., 2015)."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class PReLU(Module):
    """Leaky ReLU with a learned slope, one or one per channel (He et al., 2015).

    Args:
        num_parameters: 1, or the number of channels (dimension 1).
        init: where the slopes start.

    >>> nn.PReLU()(torch.tensor([-1.])).item()
    -0.25
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ops.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Set all slopes to ``init``."""
        self.weight.detach().fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Sigmoid(Module):
    """1 / (1 + e⁻ˣ)."""

    def forward(self, input):
        return ops.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input):
        return ops.tanh(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + \\|x\\|)."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input):
        return F.tanhshrink(input)


class GELU(Module):
    """x · Φ(x), Φ the normal distribution (Hendrycks, Gimpel, 2016); ``approximate="tanh"`` takes a formula for it."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half of ``dim`` times the sigmoid of the second half; halves that dimension."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softplus(Module):
    """log(1 + e^(beta · x)) / beta, and x itself where beta · x is greater than ``threshold``."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    """A layer that sets [-``lambd``, ``lambd``] to zero."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x where \\|x\\| is greater than ``lambd``, else 0."""

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by ``lambd``, and 0 where \\|x\\| is less."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class _AlongDim(Module):
    """A layer that normalises along one dimension."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """eˣ divided by its sum over ``dim``.

    >>> nn.Softmax(dim=1)(torch.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """Softmax of -x."""

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of softmax."""

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
