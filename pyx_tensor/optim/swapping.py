"""Other parameters and another state for an optimizer, for a while."""
from collections import defaultdict
from contextlib import contextmanager

from ..core.naming import typename

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Within a ``with`` block the optimizer has other parameters and another state; at its end its own again, as they were.

    Args:
        optimizer: one that has a state, by a step or a checkpoint.
        swapin_parameters: a dictionary of tensors, in the order of the optimizer's parameters; its names don't matter.
        swapin_optim_state: what ``state_dict`` of such an optimizer gives: the state and the options of the groups. A step changes
            its tensors in place; what else is changed within the block isn't written to it.

    Raises:
        RuntimeError: the optimizer has no state, or the numbers of groups, parameters or options don't match.

    >>> import pyx_tensor as torch
    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> p.grad = torch.ones(1)
    >>> optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.9)
    >>> optimizer.step()
    >>> other = torch.tensor([10.0])
    >>> other.grad = torch.ones(1)
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"p": other}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> other, p.detach()
    (tensor([9.0500]), tensor([0.5000]))
    """
    groups, state = optimizer.param_groups, optimizer.state
    swapped_groups, swapped_state = _swapped(optimizer, list(swapin_parameters.values()), swapin_optim_state)
    own = [dict(group) for group in groups]
    try:
        optimizer.state = swapped_state
        _refill(groups, swapped_groups)
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, state
        _refill(groups, own)


def _refill(groups, contents):
    """Give the groups, which schedules hold, other contents."""
    for group, content in zip(groups, contents):
        group.clear()
        group.update(content)


def _swapped(optimizer, parameters, saved):
    """(contents of the groups, state) with the given parameters, of which the saved groups give the numbers."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state: make a step or load a state dict first")
    _check_saved(optimizer, saved)
    remaining, by_number, groups = iter(parameters), {}, []
    if len(parameters) < sum(len(group["params"]) for group in optimizer.param_groups):
        raise RuntimeError(f"{_NAME} got {len(parameters)} swapin_parameters, fewer than optimizer.param_groups has")
    for group in saved["param_groups"]:
        params = [by_number.setdefault(number, next(remaining)) for number in group["params"]]
        groups.append({**group, "params": params})
    extra = [number for number in saved["state"] if number not in by_number]
    if extra:
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to have numbers of parameters alone as its keys, got {extra} too")
    state = defaultdict(dict, {by_number[number]: dict(entry) for number, entry in saved["state"].items()})
    return groups, state


def _check_saved(optimizer, saved):
    """Raise unless a state dict fits the optimizer's groups."""
    if not isinstance(saved, dict):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state to be a dict as of optimizer.state_dict(), got {typename(saved)}")
    for key, kind in (("state", dict), ("param_groups", list)):
        if not isinstance(saved.get(key), kind):
            raise RuntimeError(f"{_NAME} requires swapin_optim_state[{key!r}] to be a {kind.__name__}, got {typename(saved.get(key))}")
    if len(saved["param_groups"]) != len(optimizer.param_groups):
        raise RuntimeError(f"swapin_optim_state has {len(saved['param_groups'])} parameter groups, the optimizer {len(optimizer.param_groups)}")
    for place, (given, group) in enumerate(zip(saved["param_groups"], optimizer.param_groups)):
        if given.keys() != group.keys():
            raise RuntimeError(f"{_NAME} requires group {place} to have the options {sorted(group)}, got {sorted(given)}")
        if len(given["params"]) != len(group["params"]):
            raise RuntimeError(f"swapin_optim_state's parameter group {place} has {len(given['params'])} params, the optimizer's {len(group['params'])}")
