"""A schedule that follows a metric."""
import math
import warnings

from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, current_lrs, one_for_each_group, plain, set_lr


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
        self.optimizer = check_optimizer(optimizer)
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = one_for_each_group("min_lr", min_lr, optimizer)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = current_lrs(optimizer)
        self._reset()

    def _reset(self):
        """Forget the best metric and the counts of epochs."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics, epoch=None):
        """Note the metric of an epoch, and lower the learning rates if it is time."""
        metric = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
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
        self._last_lr = current_lrs(self.optimizer)

    def _reduce_lr(self):
        if len(self.min_lrs) != len(self.optimizer.param_groups):       # one was added
            if self.default_min_lr is None:
                raise RuntimeError(f"the optimizer has {len(self.optimizer.param_groups)} parameter groups by now, but ReduceLROnPlateau was made "
                                   f"with {len(self.min_lrs)} values of min_lr: set min_lrs to one for each group")
            self.min_lrs = [self.default_min_lr] * len(self.optimizer.param_groups)
        for group, least in zip(self.optimizer.param_groups, self.min_lrs):
            old = plain(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_lr(group, new)

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
