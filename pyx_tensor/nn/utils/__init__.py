"""Helpers for the parameters of modules, and for sequences."""
from . import rnn  # noqa: F401
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm  # noqa: F401
from .convert_parameters import parameters_to_vector, vector_to_parameters  # noqa: F401

# What few programs use is imported when it is first asked for.
_LAZY = {
    **dict.fromkeys(("parametrize", "parametrizations", "prune", "stateless", "fusion"), None),
    **dict.fromkeys(("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"), "fusion"),
    **dict.fromkeys(("weight_norm", "remove_weight_norm"), "_weight_norm"),
    **dict.fromkeys(("spectral_norm", "remove_spectral_norm"), "_spectral_norm"),
    **dict.fromkeys(("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"), "_memory_format"),
    "skip_init": "init",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from importlib import import_module
    where = _LAZY[name]
    module = import_module(f"{__name__}.{where or name}")
    found = module if where is None else getattr(module, name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_LAZY})
