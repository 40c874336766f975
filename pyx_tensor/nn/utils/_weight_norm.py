"""Weight normalisation as hooks (Salimans and Kingma, 2016); `parametrizations.weight_norm` is the newer form."""
import warnings

from ..parameter import Parameter


def norm_except_dim(v, dim):
    """The 2-norm over all dims but one (None or -1: over all), with those dims of size 1."""
    if dim is None or dim == -1:
        return v.norm(2)
    dims = tuple(d for d in range(v.dim()) if d != dim % v.dim())
    return v.norm(2, dims, keepdim=True) if dims else v.abs()


def normed_weight(v, g, dim):
    """g v / ‖v‖."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that computes the weight before each call."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight from the module's parameters `name_g` and `name_v`."""
        return normed_weight(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Replace the weight by its norm and direction."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).detach()))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Learn the norm and the direction of a weight apart: `name_g` and `name_v`. Returns the module.

    Args:
        name: the parameter. dim: each slice along it has a norm of its own; None for one norm.

    >>> nn.utils.weight_norm(nn.Linear(20, 40)).weight_g.size()
    torch.Size([40, 1])
    """
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning, stacklevel=2)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Undo :func:`weight_norm`: the weight is a parameter again, with the value that it has."""
    return remove_hook(module, WeightNorm, name, f"weight_norm of '{name}' not found in {module}")


def remove_hook(module, kind, name, complaint):
    """Remove the hook of a class for a parameter; ValueError where there is none."""
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(complaint)


