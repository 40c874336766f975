"""Spectral normalisation as hooks (Miyato et al., 2018); `parametrizations.spectral_norm` is the newer form."""
from ...autograd import no_grad
from ...ops import namespace as ops
from ..functional import normalize
from ..parameter import Parameter
from ._weight_norm import remove_hook


def default_dim(module):
    """The dim of a module's outputs in its weight: 1 for transposed convolutions, else 0."""
    return 1 if type(module).__name__.startswith("ConvTranspose") else 0


def as_matrix(weight, dim):
    """The weight with one dim as rows and all others as columns."""
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.size(0), -1)


class SpectralNorm:
    """The hook that computes the weight before each call, and follows its largest singular value by power iteration."""

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module, do_power_iteration):
        """The weight over its largest singular value; the estimates `name_u` and `name_v` move where asked."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(ops.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(ops.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()
        return weight / ops.dot(u, ops.mv(matrix, v))

    def remove(self, module):
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Replace the weight by `name_orig` and the estimates of its singular vectors."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            rows, columns = as_matrix(weight, dim).shape
            u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)      # a plain attribute, so that `_apply` and `state_dict` leave it alone
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        return hook


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, in each call (Miyato et al., 2018). Returns the module.

    Args:
        name: the parameter.
        n_power_iterations: steps of the estimate in each call in training.
        eps: the least norm in the normalisation of vectors.
        dim: the dim of outputs: 1 for transposed convolutions, else 0.

    >>> nn.utils.spectral_norm(nn.Linear(20, 40)).weight_u.size()
    torch.Size([40])
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Undo :func:`spectral_norm`: the weight is a parameter again, with the value that it has."""
    return remove_hook(module, SpectralNorm, name, f"spectral_norm of '{name}' not found in {module}")
