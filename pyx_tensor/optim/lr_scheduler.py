"""Schedules of the learning rate. ``scheduler.step()`` is called after the optimizer's steps of an epoch."""
import math
import warnings
from bisect import bisect_right
from collections import Counter

from ..core.frontend import Tensor
from .optimizer import Optimizer


def _plain(value):
    """A number for a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value


def _set_lr(group, lr):
    """Change the learning rate of a group; a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(_plain(lr))
    else:
        group["lr"] = lr


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


class _Stateful:
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


class LRScheduler(_Stateful):
    """Base class: a subclass defines ``get_lr``, which computes the rates of ``self.last_epoch`` from the current ones.

    Args:
        optimizer: its groups' ``lr`` is changed.
        last_epoch: -1 to begin; to resume, the epoch before the next one.
    """

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = _check_optimizer(optimizer)
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _plain(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler "
                               "with last_epoch >= 0: load the optimizer's state first")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._initial_step()

    def _initial_step(self):
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
        if epoch is None:
            self.last_epoch += 1
            self._set(self._called_within_step(self.get_lr))
        else:
            warnings.warn("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
                          "possible.", UserWarning, stacklevel=2)
            self.last_epoch = epoch
            self._set(self._called_within_step(getattr(self, "_get_closed_form_lr", self.get_lr)))

    def _called_within_step(self, get_lr):
        self._get_lr_called_within_step = True
        try:
            return get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _set(self, rates):
        groups = self.optimizer.param_groups
        for group, lr in zip(groups, rates):
            _set_lr(group, lr)
        self._last_lr = [_plain(group["lr"]) for group in groups]

    def _current(self):
        """The groups' learning rates as they stand; for ``get_lr``, which makes new ones of them."""
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)
        return [_plain(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        return [lr * factor for lr in self._current()]


_LRScheduler = LRScheduler


class LambdaLR(LRScheduler):
    """The initial rate times ``lr_lambda(epoch)``; one function, or a list with one for each group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = _one_for_each_group("lr_lambda", lr_lambda, _check_optimizer(optimizer))
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """The state without functions; callable objects are saved by their attributes."""
        state = {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}
        state["lr_lambdas"] = [None if _is_function(fn) else dict(fn.__dict__) for fn in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        """Take over what :meth:`state_dict` has returned."""
        state = dict(state_dict)
        saved = state.pop("lr_lambdas")
        super().load_state_dict(state)
        for fn, attributes in zip(self.lr_lambdas, saved):
            if attributes is not None:
                fn.__dict__.update(attributes)

    def get_lr(self):
        self._current()
        return [base * fn(self.last_epoch) for fn, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """The rate before times ``lr_lambda(epoch)``."""

    def get_lr(self):
        rates = self._current()
        if self._is_initial:
            return rates
        return [lr * fn(self.last_epoch) for fn, lr in zip(self.lr_lambdas, rates)]


class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma) if due else self._current()

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each epoch in ``milestones``."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        times = self.milestones.get(self.last_epoch, 0)
        return self._scaled(self.gamma ** times) if times else self._current()

    def _get_closed_form_lr(self):
        times = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** times for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The initial rate times ``factor``, and the full one from epoch ``total_iters`` on."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._current()

    def _get_closed_form_lr(self):
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The initial rate times a factor that goes evenly from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        slope = self.end_factor - self.start_factor
        return self._scaled(1.0 + slope / (self.total_iters * self.start_factor + (self.last_epoch - 1) * slope))

    def _get_closed_form_lr(self):
        progress = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * progress)
                for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times ``gamma`` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._current() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters) ** power."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        left, left_before = self.total_iters - self.last_epoch, self.total_iters - self.last_epoch + 1
        return self._scaled(((left / self.total_iters) / (left_before / self.total_iters)) ** self.power)

    def _get_closed_form_lr(self):
        factor = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return [base * factor for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """From the initial rate to ``eta_min`` in ``T_max`` epochs along half a cosine (Loshchilov, Hutter, 2016)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        rates = self._current()
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return [low + (base - low) * (1 + math.cos(epoch * math.pi / self.T_max)) / 2 for base in self.base_lrs]
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the denominator below is zero
            return [lr + (base - low) * (1 - math.cos(math.pi / self.T_max)) / 2
                    for lr, base in zip(rates, self.base_lrs)]
        ratio = ((1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max)))
        return [ratio * (lr - low) + low for lr in rates]

    def _get_closed_form_lr(self):
        cosine = math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * (1 + cosine) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to ``eta_min`` in ``T_0`` epochs, then again, each time ``T_mult`` times as long."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        for name, value, bound in (("T_0", T_0, "positive integer T_0"), ("T_mult", T_mult, "integer T_mult >= 1")):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"Expected {bound}, but got {value}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._current()
        cosine = math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * (1 + cosine) / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """Go on by one epoch, or to ``epoch``, which may be a fraction, and set the learning rates."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._find_period(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self._called_within_step(self.get_lr))

    def _find_period(self, epoch):
        if self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
            return
        restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
        self.T_i = self.T_0 * self.T_mult**restarts


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` whenever a metric has not improved for more than ``patience`` epochs.

    Args:
        optimizer: its groups' ``lr`` is changed.
        mode: ``"min"`` or ``"max"``: what an improvement of the metric is.
        factor, patience: see above.
        threshold, threshold_mode: improvements below this count as none: a fraction of the best (``"rel"``) or a
            difference (``"abs"``).
        cooldown: epochs to wait after a change.
        min_lr: a bound, or a list of one for each group.
        eps: smaller changes are not made.
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel",
                 cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.optimizer = _check_optimizer(optimizer)
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _one_for_each_group("min_lr", min_lr, optimizer)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = [_plain(group["lr"]) for group in optimizer.param_groups]
        self._reset()

    def _reset(self):
        """Forget the best metric and the counts of epochs."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics, epoch=None):
        """Note the metric of an epoch, and lower the learning rates if it is time."""
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(metric, self.best):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [_plain(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce_lr(self):
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            old = _plain(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _set_lr(group, new)

    @property
    def in_cooldown(self):
        """Whether a change was made less than ``cooldown`` epochs ago."""
        return self.cooldown_counter > 0

    def is_better(self, a, best):
        """Whether ``a`` improves on ``best`` by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return sign * a < sign * best * (1 - sign * self.threshold)
        return sign * a < sign * best - self.threshold


class ChainedScheduler(_Stateful):
    """Steps several schedules of one optimizer one after the other."""

    def __init__(self, schedulers, optimizer=None):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = _common_optimizer("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = [_plain(group["lr"]) for group in self.optimizer.param_groups]

    def step(self):
        """Step all of them."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_plain(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self):
        """The state of all of them."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Take over what :meth:`state_dict` has returned."""
        state = dict(state_dict)
        for scheduler, saved in zip(self._schedulers, state.pop("_schedulers")):
            scheduler.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(ChainedScheduler):
    """Schedules that take turns: each from its entry of ``milestones`` on."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        super().__init__(schedulers, optimizer)
        if len(milestones) != len(self._schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the "
                             f"number of milestone points, but got number of schedulers {len(self._schedulers)} and "
                             f"the number of milestones to be equal to {len(milestones)}")
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # undo what the constructors of the schedules have done
            _set_lr(group, group["initial_lr"])
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self):
        """Go on by one epoch."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _common_optimizer(name, schedulers, optimizer):
    """The optimizer of all ``schedulers``, which must be ``optimizer`` if given."""
    optimizer = schedulers[0].optimizer if optimizer is None else optimizer
    for place, scheduler in enumerate(schedulers):
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                             f"{type(scheduler).__name__} at index {place} which is different.")
    return optimizer


def _one_for_each_group(name, value, optimizer):
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"Expected {groups} {name}s, but got {len(value)}")
    return list(value)


def _is_function(value):
    return not hasattr(value, "__dict__") or type(value).__name__ == "function"
