"""The base of schedules."""
import warnings
from types import FunctionType

from ...core.frontend import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = ("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Where it is given, "
                             "the closed form is used instead of the new chainable form, where there is one.")


def plain(value):
    """A number for a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value


def current_lrs(optimizer):
    """The learning rates of the groups, for users: of tensors copies, which they may change."""
    return [group["lr"].clone() if isinstance(group["lr"], Tensor) else group["lr"] for group in optimizer.param_groups]


def set_lr(group, lr):
    """Change the learning rate of a group; a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(plain(lr))
    else:
        group["lr"] = lr


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


class Stateful:
    """Saves and loads everything but the optimizer."""

    def state_dict(self):
        """The schedule's state, without the optimizer's."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take over what :meth:`state_dict` has returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rates last set, one for each group."""
        return self._last_lr


class LRScheduler(Stateful):
    """Base class: a subclass defines ``get_lr``, which computes the rates of ``self.last_epoch`` from the current ones.

    Args:
        optimizer: its groups' ``lr`` is changed.
        last_epoch: -1 to begin; to resume, the epoch before the next one.
    """

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = check_optimizer(optimizer)
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", plain(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler "
                               "with last_epoch >= 0: load the optimizer's state first")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self):
        """The learning rates of the groups in the epoch ``last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} is missing the method get_lr")

    def step(self, epoch=None):
        """Go on by one epoch (or, deprecated, to ``epoch``) and set the learning rates."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
                          "later, you should call them in the opposite order: `optimizer.step()` before "
                          "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value "
                          "of the learning rate schedule.", UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        """Set the learning rates of an epoch, the next one by default."""
        if epoch is None:
            self.last_epoch += 1
            self._set(self._called_within_step(self.get_lr))
        else:
            self.last_epoch = epoch
            self._set(self._called_within_step(getattr(self, "_get_closed_form_lr", self.get_lr)))

    def _called_within_step(self, get_lr):
        self._get_lr_called_within_step = True
        try:
            return get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _set(self, rates):
        groups, rates = self.optimizer.param_groups, list(rates)
        if len(rates) != len(groups):
            raise ValueError(f"the scheduler was made for {len(rates)} parameter groups, but the optimizer has {len(groups)} by now")
        for group, lr in zip(groups, rates):
            set_lr(group, lr)
        self._last_lr = current_lrs(self.optimizer)

    def _current(self):
        """The groups' learning rates as they stand; for ``get_lr``, which makes new ones of them."""
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)
        return [plain(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        return [lr * factor for lr in self._current()]


def one_for_each_group(name, value, optimizer):
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"Expected {groups} {name}s, but got {len(value)}")
    return list(value)


def attributes_of(function):
    """What a state dict holds of a user's function: of a callable object its attributes, else None."""
    return None if not hasattr(function, "__dict__") or isinstance(function, FunctionType) else dict(function.__dict__)


def restore_attributes(function, attributes):
    """Give a callable object the attributes from a state dict."""
    if attributes is not None:
        function.__dict__.update(attributes)
