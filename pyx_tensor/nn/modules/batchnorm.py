"""Batch and instance normalisation."""
from .. import functional as F
from ...ops import namespace as ops
from .module import Module
from .normalization import _affine_parameter, _reset_affine


class _NormBase(Module):
    """Scale, shift and running statistics, one number per channel."""

    _version = 2
    _input_dims = ()

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        _affine_parameter(self, "weight", affine, num_features, device, dtype)
        _affine_parameter(self, "bias", affine and bias, num_features, device, dtype)
        shape, options = (num_features,), dict(device=device, dtype=dtype)
        for name, make in (("running_mean", ops.zeros), ("running_var", ops.ones)):
            self.register_buffer(name, make(shape, **options) if track_running_stats else None)
        count = ops.tensor(0, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Start the running statistics anew: mean zero, variance one."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Start with scale one and shift zero, and reset the running statistics."""
        self.reset_running_stats()
        _reset_affine(self)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _check_input_dim(self, input):
        if input.dim() not in self._input_dims:
            expected = " or ".join(f"{dims}D" for dims in self._input_dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked  # older checkpoints did not count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        updated = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if updated else None, self.running_var if updated else None,
                            self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over batch and positions (Ioffe, Szegedy, 2015).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: weight of the new batch in the running statistics; None for a plain average.
        affine: whether each channel is scaled by ``weight`` and shifted by ``bias``.
        track_running_stats: whether running statistics are kept, for use in evaluation.

    >>> nn.BatchNorm1d(100)(torch.randn(20, 100)).size()
    torch.Size([20, 100])
    """

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """:class:`BatchNorm1d` for (N, C, H, W)."""

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """:class:`BatchNorm1d` for (N, C, D, H, W)."""

    _input_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics processes may share; in one process the plain one, of (N, C, *).

    Args:
        process_group: accepted only as None: there is one process.
        The others are those of :class:`BatchNorm1d`.
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        if process_group is not None:
            raise NotImplementedError("SyncBatchNorm: groups of processes are not supported")
        self.process_group = None

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with all its batch norms replaced by SyncBatchNorm of the same parameters and statistics."""
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            converted = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            for store in ("_parameters", "_buffers"):
                getattr(converted, store).update(getattr(module, store))
            converted.training = module.training
            return converted
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module
