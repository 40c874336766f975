"""Pruning: parameters times masks of zeros and ones."""
from abc import ABC, abstractmethod
from collections.abc import Iterable
from numbers import Integral

from ...autograd import no_grad
from ...ops import namespace as ops


class BasePruningMethod(ABC):
    """A hook that multiplies a parameter by a mask before each call. A subclass computes masks and says what kind it is.

    `PRUNING_TYPE` is 'unstructured', 'structured' (whole slices along `dim`) or 'global'.
    """

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask of tensor `t`, which refines `default_mask`."""

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module):
        """The parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune a parameter of the module: `name_orig` is the parameter then, `name_mask` a buffer, `name` their product.

        A parameter that is pruned already is pruned further, by a :class:`PruningContainer`. Returns the hook.
        """
        previous = _hook_of(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if previous is not None:
            container = previous
            if not isinstance(previous, PruningContainer):
                container = PruningContainer()
                container._tensor_name = name
                container.add_pruning_method(previous)
            container.add_pruning_method(method)
            for key in [key for key, hook in module._forward_pre_hooks.items() if hook is previous]:
                del module._forward_pre_hooks[key]
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if previous is None:
            default = ops.ones_like(original)
            parameter = module._parameters.pop(name)
            module.register_parameter(name + "_orig", parameter)
        else:
            default = getattr(module, name + "_mask").detach().clone()
        try:
            with no_grad():
                mask = method.compute_mask(scores, default_mask=default)
        except Exception:
            if previous is None:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """Tensor `t` times the mask that its scores (by default its own numbers) give."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default = ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module):
        """Make the pruned parameter a parameter of its own again; what was pruned stays 0."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.detach()
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hook_of(module, name):
    """The pruning hook of a parameter, or None."""
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return hook
    return None


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other, each on what the others left."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if not isinstance(args, Iterable) or len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and getattr(self, "_tensor_name", method._tensor_name) != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. Found "
                             f"'{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, at):
        return self._pruning_methods[at]

    def compute_mask(self, t, default_mask):
        """The mask of the last method on what the others left, joined with theirs."""
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "global":
            left = ops.ones_like(mask).bool()
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = tuple(d for d in range(t.dim()) if d != dim)
            kept = (mask.sum(others) if others else mask) != 0
            left = kept.reshape([-1 if d == dim else 1 for d in range(t.dim())]).expand_as(mask)
            refined = mask.clone()
            shape = [int(kept.sum()) if d == dim else t.size(d) for d in range(t.dim())]
            refined[left] = method.compute_mask(t[left].reshape(shape), default_mask=mask[left].reshape(shape)).reshape(-1)
            return refined
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        refined = mask.clone()
        refined[left] = method.compute_mask(t[left], default_mask=mask[left])
        return refined


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the parameter and its mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


def _check_amount(amount):
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if isinstance(amount, Integral) and amount < 0 or not isinstance(amount, Integral) and not 0 <= amount <= 1:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _number_to_prune(amount, size):
    """How many of `size` the amount is: a number, or a fraction of them."""
    if isinstance(amount, Integral):
        if amount > size:
            raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
        return amount
    return round(amount * size)


class _ByAmount(BasePruningMethod):
    """Prunes a number of elements, or a fraction of them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        count = _number_to_prune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._lowest(t, count)] = 0
        return mask


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    def _lowest(self, t, count):
        return ops.topk(ops.rand_like(t).view(-1), count).indices

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(_ByAmount):
    """Prunes the elements of least magnitude."""

    def _lowest(self, t, count):
        return ops.topk(t.abs().reshape(-1), count, largest=False).indices

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prunes whole slices along a dim."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                             f"{t.shape} with {t.dim()} dims")
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = _number_to_prune(self.amount, size)
        if count == 0:
            return default_mask
        kept = ops.zeros(size, dtype=default_mask.dtype, device=t.device)
        kept[self._kept(t, size, count)] = 1
        return default_mask * kept.reshape([-1 if d == self.dim % t.dim() else 1 for d in range(t.dim())])


class RandomStructured(_Structured):
    """Prunes slices along a dim at random."""

    def _kept(self, t, size, count):
        return ops.rand(size).topk(size - count).indices

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices along a dim of least n-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, size, count):
        others = tuple(d for d in range(t.dim()) if d != self.dim % t.dim())
        return t.norm(self.n, others).topk(size - count).indices

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask shape {self.mask.shape} does not match default_mask shape {default_mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


# --- functions --------------------------------------------------------------------------------------------------------
def identity(module, name):
    """Give a parameter a mask of ones. Returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune a number of elements, or a fraction of them, at random. Returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of least magnitude (of the scores, where given), a number or a fraction. Returns the module.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(2, 3), "weight", amount=0.5)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune slices along a dim at random, a number or a fraction. Returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the slices along a dim of least n-norm, a number or a fraction. Returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune several parameters as if they were one.

    Args:
        parameters: pairs (module, name). pruning_method: a class of unstructured pruning; further arguments are for it.
        importance_scores: {(module, name): scores} where they aren't the parameters themselves.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters, given = list(parameters), importance_scores or {}
    scores = [given.get((module, name), getattr(module, name)).reshape(-1) for module, name in parameters]
    masks = [getattr(module, name + "_mask", ops.ones_like(getattr(module, name))).reshape(-1) for module, name in parameters]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError("Only \"unstructured\" PRUNING_TYPE supported for the `pruning_method`. Found method {} of type {}".format(
            pruning_method, method.PRUNING_TYPE))
    with no_grad():
        final = container.compute_mask(ops.cat(scores), ops.cat(masks))
    start = 0
    for module, name in parameters:
        weight = getattr(module, name)
        custom_from_mask(module, name, mask=final[start:start + weight.numel()].view_as(weight))
        start += weight.numel()


def custom_from_mask(module, name, mask):
    """Prune where the mask is 0. Returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Make a pruned parameter a parameter of its own again; what was pruned stays 0. Returns the module."""
    hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    for key in [key for key, other in module._forward_pre_hooks.items() if other is hook]:
        del module._forward_pre_hooks[key]
    return module


def is_pruned(module):
    """Whether the module or one below it has a pruned parameter."""
    return any(isinstance(hook, BasePruningMethod) for _, m in module.named_modules() for hook in m._forward_pre_hooks.values())


