"""Modules as functions of their parameters (what PyTorch has under `torch.func` for them)."""
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.utils import stateless
from ..ops import namespace as ops


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """The module's output with its parameters and buffers replaced by the given tensors; gradients flow to those.

    Args:
        parameter_and_buffer_dicts: dotted name -> tensor, or several such dictionaries without common names.
        args, kwargs: arguments of the call; one that is no tuple is the only one.
        tie_weights: a tensor given for one of a module's shared parameters stands for all its names.
        strict: raise a RuntimeError unless exactly the module's parameters and buffers are named.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.ones(2))
    tensor([2.])
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, (list, tuple)):
            raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}")
        if not all(isinstance(part, dict) for part in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for part in given for name in part]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for part in given for name, tensor in part.items()}
    return stateless.functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """(parameters, buffers) of several modules of one class, each stacked along a new first dim, by name.

    >>> parameters, buffers = torch.func.stack_module_state([nn.Linear(2, 1) for _ in range(3)])
    >>> parameters["weight"].shape
    torch.Size([3, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {name: ops.stack([p[name].detach() for p in parameters]).requires_grad_(parameters[0][name].requires_grad) for name in parameters[0]}
    return stacked, {name: ops.stack([b[name].detach() for b in buffers]) for name in buffers[0]}


def replace_all_batch_norm_modules_(root):
    """Let all batch norms in a module compute with each batch's own statistics, and keep none; returns the module."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
