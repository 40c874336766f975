"""Schedules of schedules."""
from bisect import bisect_right

from .base import LRScheduler, current_lrs, set_lr
from .plateau import ReduceLROnPlateau


class ChainedScheduler(LRScheduler):
    """Steps several schedules of one optimizer one after the other."""

    def __init__(self, schedulers, optimizer=None):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = _common_optimizer("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = current_lrs(self.optimizer)

    def step(self):
        """Step all of them."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = current_lrs(self.optimizer)

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
            set_lr(group, group["initial_lr"])
        for scheduler in self._schedulers:
            _take_back(scheduler)
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self):
        """Go on by one epoch."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn > 0 and self._milestones[turn - 1] == self.last_epoch:
            if isinstance(scheduler, ChainedScheduler):
                raise NotImplementedError(f"a {type(scheduler).__name__} can only be the first of the schedules of a SequentialLR")
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _take_back(scheduler):
    """Take back the step that a schedule, or each of those in it, has made when it was made."""
    if isinstance(scheduler, ChainedScheduler):
        for part in scheduler._schedulers:
            _take_back(part)
    else:
        scheduler.last_epoch -= 1


def _common_optimizer(name, schedulers, optimizer):
    """The optimizer of all ``schedulers``, which must be ``optimizer`` if given."""
    optimizer = schedulers[0].optimizer if optimizer is None else optimizer
    for place, scheduler in enumerate(schedulers):
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler, whose steps need a metric, but got one at index {place}")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                             f"{type(scheduler).__name__} at index {place} which is different.")
    return optimizer
