"""Ready-made parametrizations: orthogonal weights, weight normalisation, spectral normalisation."""
from ...autograd import no_grad
from ...core.typeinfo import finfo
from ...ops import namespace as ops
from ..functional import normalize
from ..modules.module import Module
from . import parametrize
from ._spectral_norm import as_matrix, default_dim
from ._weight_norm import norm_except_dim, normed_weight

_MAPS = ("matrix_exp", "cayley", "householder")


# --- orthogonal -------------------------------------------------------------------------------------------------------
def _is_orthogonal(q):
    n, k = q.size(-2), q.size(-1)
    identity = ops.eye(k, dtype=q.dtype, device=q.device)
    return ops.allclose(q.mH @ q, identity, atol=10 * n * finfo(q.dtype).eps)


def _make_orthogonal(a):
    """An orthogonal matrix whose first columns span those of a; a itself where that is orthogonal."""
    x, tau = ops.geqrf(a)
    q = ops.linalg_householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix with orthonormal columns (rows, if there are fewer) from any one."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        n, k = x.size(-2), x.size(-1)
        transposed = n < k
        if transposed:
            x, n, k = x.mT, k, n
        q = self._by_reflections(x) if self.orthogonal_map == "householder" else self._by_rotation(x, n, k)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    def _by_rotation(self, x, n, k):
        """A function of the skew-symmetric matrix that x's lower triangle gives."""
        x = x.tril()
        if n != k:
            x = ops.cat([x, x.new_zeros((n, n - k)).expand(*x.shape[:-2], n, n - k)], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            q = ops.linalg_matrix_exp(skew)
        else:
            identity = ops.eye(n, dtype=skew.dtype, device=skew.device)
            q = ops.linalg_solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return q[..., :k] if n != k else q

    @staticmethod
    def _by_reflections(x):
        below = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        return ops.linalg_householder_product(below, tau) * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.")
        transposed = q.size(-2) < q.size(-1)
        if transposed:
            q = q.mT
        n, k = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            return self._reflections_of(q, transposed)
        if n == k:
            self.base = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            noise = ops.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            self.base = _make_orthogonal(ops.cat([q, noise], -1))
        start = ops.zeros_like(q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start.mT if transposed else start

    def _reflections_of(self, q, transposed):
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                                      "use_trivialization=False.")
        a, tau = ops.geqrf(q)
        a.diagonal(dim1=-2, dim2=-1).sign_()
        a.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return a.mT if transposed else a


def _weight_of(module, name):
    weight = getattr(module, name, None)
    if not hasattr(weight, "requires_grad"):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a weight's columns (rows, if there are fewer) orthonormal while it is learned. Returns the module.

    Args:
        name: a parameter of at least 2 dims; leading dims are batches.
        orthogonal_map: 'matrix_exp', 'cayley' or 'householder'; by default the first for square or complex weights, else the last.
        use_trivialization: learn around the weight's present value, which is kept as a buffer (Lezcano-Casado, 2019).

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    map_ = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, map_, unsafe=True)


# --- norms ------------------------------------------------------------------------------------------------------------
class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return normed_weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Learn the norm and the direction of a weight apart (Salimans and Kingma, 2016). Returns the module.

    Args:
        name: the parameter. dim: each slice along it has a norm of its own; None for one norm.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.size()
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(lambda state, prefix, *_: _rename(state, prefix, name))
    return module


def _rename(state_dict, prefix, name):
    """Take a state dict with the names of the older `weight_norm`."""
    old = f"{prefix}{name}_g", f"{prefix}{name}_v"
    if all(key in state_dict for key in old):
        for i, key in enumerate(old):
            state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % weight.ndim, eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            u, v = (matrix.new_empty(size).normal_(0, 1) for size in matrix.shape)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix, n_power_iterations):
        if matrix.ndim <= 1:
            raise AssertionError(f"Expected a matrix, got a tensor of {matrix.ndim} dims")
        for _ in range(n_power_iterations):
            self._u.copy_(normalize(ops.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(ops.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / ops.vdot(u, ops.mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value (Miyato et al., 2018). Returns the module.

    Args:
        name: the parameter; a vector is divided by its norm.
        n_power_iterations: steps of the estimate for each use in training.
        eps: the least norm in the normalisation of vectors.
        dim: the dim of outputs: 1 for transposed convolutions, else 0.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 40))
    >>> bool(abs(torch.linalg.matrix_norm(layer.weight, 2) - 1) < 0.1)
    True
    """
    weight = _weight_of(module, name)
    norm = _SpectralNorm(weight, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return parametrize.register_parametrization(module, name, norm)
