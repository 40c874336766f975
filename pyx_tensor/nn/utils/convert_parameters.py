"""All parameters as one vector, and back."""
from ...ops import namespace as ops
from ...core.frontend import Tensor


def parameters_to_vector(parameters):
    """The values of all ``parameters``, one after the other, in one vector."""
    parameters = list(parameters)
    _check_one_device(parameters)
    return ops.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Make slices of the vector ``vec`` the data of the ``parameters``, in their order."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_one_device(parameters)
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[start:start + count].view_as(parameter).data
        start += count


def _check_one_device(parameters):
    devices = {parameter.device for parameter in parameters}
    if len(devices) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported: "
                        + ", ".join(sorted(map(str, devices))))
