"""Layers that learn the number of input channels or features from their first input."""
import warnings

from ...autograd import no_grad
from ...ops import namespace as ops
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .linear import Linear


class LazyModuleMixin:
    """A layer with uninitialized parameters, which the first call initializes; it then becomes a ``cls_to_become``.

    A subclass defines ``initialize_parameters(*inputs)``, which gives them their shapes and values.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        warnings.warn("Lazy modules are a new feature under heavy development so changes to the API or functionality can happen at any moment.",
                      stacklevel=3)

    def _lazy_load_hook(self, state_dict, prefix, *_):
        """Give parameters the shapes of those that are loaded."""
        for name, tensor in self._persistent_state().items():
            source = state_dict.get(prefix + name)
            if is_lazy(tensor) and source is not None and not is_lazy(source):
                with no_grad():
                    tensor.materialize(source.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters shapes and values that fit an input."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module, args, kwargs=None):
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


def _uninitialized(module, names, device, dtype):
    for name in names:
        setattr(module, name, UninitializedParameter(device=device, dtype=dtype))


class LazyLinear(LazyModuleMixin, Linear):
    """:class:`Linear` whose ``in_features`` is the size of the first input's last dim.

    >>> layer = nn.LazyLinear(3)
    >>> layer(torch.randn(2, 5)).size(), layer
    (torch.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.out_features = out_features
        _uninitialized(self, ("weight", "bias") if bias else ("weight",), device, dtype)

    def reset_parameters(self):
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            self.in_features = self.weight.size(-1)


class _LazyConv(LazyModuleMixin):
    _options = ()

    def __init__(self, out_channels, kernel_size, *args, **kwargs):
        options = {**dict(zip(self._options, args)), **kwargs}
        bias, device, dtype = options.pop("bias", True), options.pop("device", None), options.pop("dtype", None)
        super().__init__(0, 0, kernel_size, bias=False, **options)
        self.out_channels = out_channels
        _uninitialized(self, ("weight", "bias") if bias else ("weight",), device, dtype)

    def _make_parameters(self, bias, device, dtype):
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)

    def reset_parameters(self):
        if self.in_channels and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            self.in_channels = self.in_channels or self.weight.size(0 if self.transposed else 1) * (1 if self.transposed else self.groups)
            return
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: "
                               f"{input.shape}")
        self.in_channels = input.shape[input.dim() - n - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        lead = (self.in_channels, self.out_channels // self.groups) if self.transposed else (self.out_channels, self.in_channels // self.groups)
        with no_grad():
            self.weight.materialize((*lead, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


_CONV_OPTIONS = ("stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype")
_TRANSPOSE_OPTIONS = ("stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode", "device", "dtype")


class _LazyNorm(LazyModuleMixin):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            _uninitialized(self, ("weight", "bias") if bias else ("weight",), device, dtype)
        if track_running_stats:
            for name in ("running_mean", "running_var"):
                self.register_buffer(name, UninitializedBuffer(device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", ops.tensor(0, device=device))

    def reset_parameters(self):
        if self.num_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            with no_grad():
                self.num_features = input.shape[1]
                for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                    if is_lazy(tensor):
                        tensor.materialize((self.num_features,))
                self.reset_parameters()
        elif self.num_features == 0:
            sized = [t for t in (self.weight, self.running_mean) if t is not None]
            self.num_features = sized[0].size(0) if sized else input.shape[1]


def _lazy(layer, base, what, **names):
    doc = f":class:`{layer.__name__}` whose {what} is that of the first input."
    return type("Lazy" + layer.__name__, (base, layer), {"cls_to_become": layer, "__doc__": doc, "__module__": __name__, **names})


LazyConv1d, LazyConv2d, LazyConv3d = [_lazy(c, _LazyConv, "``in_channels``", _options=_CONV_OPTIONS) for c in (Conv1d, Conv2d, Conv3d)]
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = [
    _lazy(c, _LazyConv, "``in_channels``", _options=_TRANSPOSE_OPTIONS) for c in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)]
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = [_lazy(c, _LazyNorm, "``num_features``") for c in (BatchNorm1d, BatchNorm2d, BatchNorm3d)]
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = [
    _lazy(c, _LazyNorm, "``num_features``") for c in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)]
