"""Linear maps."""
from ...core.autocast import computed_as_it_is
from ...ops import namespace as ops
from ._arguments import takes_tensors

linear = ops.linear


@takes_tensors(3)
@computed_as_it_is
def bilinear(input1, input2, weight, bias=None):
    """y_k = Σ_ij x1_i W_kij x2_j + b_k over the last dimensions of ``input1`` and ``input2``."""
    out_features, in1_features, in2_features = weight.shape
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} "
                           f"and {list(input2.shape)}")
    for place, (input, size) in enumerate(((input1, in1_features), (input2, in2_features)), 1):
        if input.size(-1) != size:
            raise RuntimeError(f"bilinear(): input{place} size does not match weight size: got {input.size(-1)} "
                               f"but expected {size}")
    columns = weight.permute(1, 0, 2).reshape(in1_features, out_features * in2_features)
    products = (input1 @ columns).reshape(*input1.shape[:-1], out_features, in2_features)
    output = (products @ input2.unsqueeze(-1)).squeeze(-1)
    return output if bias is None else output + bias
