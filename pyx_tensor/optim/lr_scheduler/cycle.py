"""Schedules that go up and down, with the momentum going the other way (Smith, 2015 and 2017)."""
import math

from .base import LRScheduler, attributes_of, check_optimizer, one_for_each_group, plain, restore_attributes, set_lr


class _MomentumCycle(LRScheduler):
    """Adds to a schedule of the rate one of the momentum: ``momentum``, or the first of ``betas``."""

    cycle_momentum = False

    def _uses_betas(self):
        return "betas" in self.optimizer.defaults

    def _check_momentum(self):
        if not {"momentum", "betas"} & set(self.optimizer.defaults):
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")

    def _set_momentum(self, group, momentum):
        if self._uses_betas():
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_MomentumCycle):
    """Up from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and down again, over and over.

    Args:
        optimizer: its groups' ``lr`` is changed.
        base_lr, max_lr: the bounds, numbers or lists of one for each group.
        step_size_up, step_size_down: the steps of each half; as many down as up by default.
        mode: ``"triangular"``; ``"triangular2"`` halves the height of each cycle; ``"exp_range"`` scales it by
            ``gamma`` ** step.
        scale_fn, scale_mode: a height of one's own, a function of the ``"cycle"`` (from 1) or of the ``"iterations"``.
        cycle_momentum, base_momentum, max_momentum: the momentum goes from the larger to the smaller and back.
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0,
                 scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        self.optimizer = check_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        base_lrs = one_for_each_group("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                set_lr(group, lr)
        self.max_lrs = one_for_each_group("max_lr", max_lr, optimizer)
        step_size_down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = float(step_size_up) + step_size_down
        self.step_ratio = float(step_size_up) / self.total_size
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._check_momentum()
            self.use_beta1 = self._uses_betas()
            self.base_momentums = one_for_each_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = one_for_each_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                    self._set_momentum(group, high)
                    group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def state_dict(self):
        """The state without a function of one's own; a callable object is saved by its attributes."""
        return {**super().state_dict(), "_scale_fn_custom": attributes_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict):
        """Take over what :meth:`state_dict` has returned."""
        state = dict(state_dict)
        restore_attributes(self._scale_fn_custom, state.pop("_scale_fn_custom", None))
        super().load_state_dict(state)

    def scale_fn(self, x):
        """The height of a cycle, or of an iteration where ``scale_mode`` is ``"iterations"``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def get_lr(self):
        self._current()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        share = place / self.step_ratio if place <= self.step_ratio else (place - 1) / (self.step_ratio - 1)
        share *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * share)
        return [base + (top - base) * share for base, top in zip(self.base_lrs, self.max_lrs)]


class OneCycleLR(_MomentumCycle):
    """Up to ``max_lr`` and down to nearly nothing, once, within ``total_steps`` steps.

    Args:
        optimizer: its groups' ``lr`` is changed.
        max_lr: the top, a number or a list of one for each group.
        total_steps: the number of steps, or None for ``epochs`` · ``steps_per_epoch``.
        pct_start: the share of the steps that goes up.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum, base_momentum, max_momentum: the momentum goes from the larger to the smaller and back.
        div_factor, final_div_factor: the first rate is ``max_lr`` / ``div_factor``, the last that / ``final_div_factor``.
        three_phase: go down as long as up first, and then on to the last rate.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        self.optimizer = check_optimizer(optimizer)
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = self._phases(pct_start, three_phase)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, one_for_each_group("max_lr", max_lr, optimizer)):
                group.update(initial_lr=top / div_factor, max_lr=top, min_lr=top / div_factor / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._check_momentum()
            self.use_beta1 = self._uses_betas()
            if last_epoch == -1:
                highs = one_for_each_group("max_momentum", max_momentum, optimizer)
                lows = one_for_each_group("base_momentum", base_momentum, optimizer)
                for group, high, low in zip(optimizer.param_groups, highs, lows):
                    self._set_momentum(group, high)
                    group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start, three_phase):
        up, down = ("initial_lr", "max_lr", "max_momentum", "base_momentum"), ("max_lr", "initial_lr", "base_momentum", "max_momentum")
        top = float(pct_start * self.total_steps) - 1
        if three_phase:
            out = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
            ends = ((top, up), (2 * pct_start * self.total_steps - 2, down), (self.total_steps - 1, out))
        else:
            ends = ((top, up), (self.total_steps - 1, ("max_lr", "min_lr", "base_momentum", "max_momentum")))
        names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        return [{"end_step": end, **dict(zip(names, keys))} for end, keys in ends]

    def _between(self, start, end, share):
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self):
        self._current()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}")
        begin = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        share = (self.last_epoch - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return [self._between(plain(group[phase["start_lr"]]), plain(group[phase["end_lr"]]), share)
                for group in self.optimizer.param_groups]


def _total_steps(total_steps, epochs, steps_per_epoch):
    """The number of steps, given as such or as epochs of steps."""
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if value <= 0 or not isinstance(value, int):
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        return epochs * steps_per_epoch
    if total_steps <= 0 or not isinstance(total_steps, int):
        raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
    return total_steps
