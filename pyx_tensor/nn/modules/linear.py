"""Linear layers."""
import math

from .. import functional as F
from .. import init
from ...ops import namespace as ops
from ..parameter import Parameter
from .module import Module


class Identity(Module):
    """Returns its input; any arguments of the constructor are ignored.

    >>> nn.Identity(54, unused=True)(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """An affine map of the last dimension: y = x Wᵀ + b.

    Args:
        in_features, out_features: sizes of the last dimension before and after.
        bias: whether to add b.

    Shapes: input (*, in_features), output (*, out_features), ``weight`` (out_features, in_features),
    ``bias`` (out_features). Both start even in ±1/√in_features.

    >>> nn.Linear(20, 30)(torch.randn(128, 20)).size()
    torch.Size([128, 30])
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(ops.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """:class:`Linear` under the name that PyTorch gives the output projection of attention."""


class Bilinear(Module):
    """A bilinear map of two inputs: y = x1ᵀ W x2 + b.

    Args:
        in1_features, in2_features, out_features: sizes of the last dimensions.
        bias: whether to add b.

    Shapes: inputs (*, in1_features) and (*, in2_features), output (*, out_features),
    ``weight`` (out_features, in1_features, in2_features), ``bias`` (out_features).

    >>> nn.Bilinear(20, 30, 40)(torch.randn(128, 20), torch.randn(128, 30)).size()
    torch.Size([128, 40])
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(ops.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial weights."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")
