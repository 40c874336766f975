"""Weights of convolutions in another memory format."""


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay the weights of all 2-d convolutions below the module out in a memory format. Returns the module."""
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay the weights of all 3-d convolutions below the module out in a memory format. Returns the module."""
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))


def _convert(module, memory_format, names):
    for layer in module.modules():
        if any(cls.__name__ in names for cls in type(layer).__mro__):
            layer.weight.data = layer.weight.detach().clone().contiguous(memory_format=memory_format)
    return module
