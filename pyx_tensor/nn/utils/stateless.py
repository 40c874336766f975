"""Calls of modules with other parameters than their own."""
from contextlib import contextmanager



def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """The module's output with its parameters and buffers replaced by the given tensors; gradients flow to those.

    Args:
        parameters_and_buffers: dotted name -> tensor; what isn't named keeps its own.
        args, kwargs: arguments of the call; one that is no tuple is the only one.
        tie_weights: a tensor given for one of a module's shared parameters stands for all its names.
        strict: raise a RuntimeError unless exactly the module's parameters and buffers are named.

    >>> layer = nn.Linear(2, 1)
    >>> functional_call = nn.utils.stateless.functional_call
    >>> functional_call(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(3, 2))
    tensor([[2.],
            [2.],
            [2.]])
    """
    if not isinstance(parameters_and_buffers, dict):
        raise ValueError("Expected parameters_and_buffers to be a dict of tensors, but got " + type(parameters_and_buffers).__name__)
    if strict:
        _check_names(module, parameters_and_buffers)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, _with_shared_names(module, parameters_and_buffers) if tie_weights else parameters_and_buffers):
        return module(*args, **(kwargs or {}))


def _names(module):
    """dotted name -> tensor, with all names of a shared one."""
    return {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}


def _check_names(module, given):
    own = _names(module)
    missing, unexpected = [n for n in own if n not in given], [n for n in given if n not in own]
    if missing or unexpected:
        messages = []
        if unexpected:
            messages.append("Unexpected key(s): " + ", ".join(map(repr, unexpected)) + ".")
        if missing:
            messages.append("Missing key(s): " + ", ".join(map(repr, missing)) + ".")
        raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(messages)))


def _with_shared_names(module, given):
    """`given` under all names of the tensors that it replaces; ValueError where these names would get different ones."""
    groups = {}
    for name, tensor in _names(module).items():
        groups.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in groups.values():
        values = {id(given[name]): given[name] for name in names if name in given}
        if len(values) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(n for n in names if n in given)}, which are tied. Consider using "
                             "tie_weights=False")
        for value in values.values():
            result.update(dict.fromkeys(names, value))
    return result


@contextmanager
def _replaced(module, tensors):
    """The module with other tensors in the stores of its parameters and buffers, until the end of the block."""
    before = []
    try:
        for name, tensor in tensors.items():
            path, _, key = name.rpartition(".")
            owner = module.get_submodule(path)
            store = owner._parameters if key in owner._parameters else owner._buffers
            if key not in store:
                raise AttributeError(f"{owner._get_name()} has no attribute `{key}`")
            before.append((store, key, store[key]))
            store[key] = tensor
        yield
        # what the call itself changed (running statistics) belongs to the caller's tensors
    finally:
        for store, key, tensor in reversed(before):
            store[key] = tensor


