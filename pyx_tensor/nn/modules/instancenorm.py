"""Instance normalisation."""
import warnings

from .. import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check_input_dim(input)
        channel_dim = input.dim() - self._input_dims[0]
        if input.size(channel_dim) != self.num_features:
            problem = (f"expected input's size at dim={channel_dim} to match num_features ({self.num_features}), "
                       f"but got: {input.size(channel_dim)}.")
            if self.affine:
                raise ValueError(problem)
            warnings.warn(f"input's size at dim={channel_dim} does not match num_features. You can silence this "
                          "warning by not passing in num_features, which is not used because affine=False",
                          stacklevel=2)
        if input.dim() == self._input_dims[0]:
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)

    def _normalize(self, input):
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats,
                               0.0 if self.momentum is None else self.momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, L) or (C, L) over its positions (Ulyanov et al., 2017)."""

    _input_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """:class:`InstanceNorm1d` for (N, C, H, W) or (C, H, W)."""

    _input_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """:class:`InstanceNorm1d` for (N, C, D, H, W) or (C, D, H, W)."""

    _input_dims = (4, 5)
