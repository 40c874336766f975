"""Schedules of the learning rate: bookkeeping, warnings, states."""
import warnings

import pytest

import pyx_tensor as torch
from pyx_tensor import optim
from pyx_tensor.optim.lr_scheduler import (CosineAnnealingWarmRestarts, ExponentialLR, LambdaLR, LinearLR, ReduceLROnPlateau, SequentialLR,
                                           StepLR)


def sgd(lr=1.0, groups=1, **options):
    return optim.SGD([{"params": [torch.nn.Parameter(torch.ones(1))]} for _ in range(groups)], lr=lr, **options)


def test_schedule_sets_rates_and_warns_about_order():
    optimizer = sgd()
    schedule = StepLR(optimizer, 2, gamma=0.5)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    optimizer.step()
    rates = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            schedule.step()
            rates.append(schedule.get_last_lr()[0])
    assert rates == [0.5, 0.5, 0.25]
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with pytest.raises(KeyError, match="initial_lr"):
        StepLR(sgd(), 2, last_epoch=3)


def test_schedule_of_a_tensor_rate_keeps_the_tensor():
    lr = torch.tensor(1.0)
    optimizer = sgd(lr)
    schedule = ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.5


def test_schedule_with_callable_objects_saves_their_state():
    class Factor:
        def __init__(self, base):
            self.base = base

        def __call__(self, epoch):
            return self.base**epoch

    def make(base):
        return LambdaLR(sgd(), Factor(base))

    state = make(0.5).state_dict()
    other = make(0.1)
    other.load_state_dict(state)
    assert other.lr_lambdas[0].base == 0.5


def test_a_sequence_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = sgd(momentum=0.5)
        parts = LinearLR(optimizer, 0.5, 1.0, 2), StepLR(optimizer, 2, gamma=0.5), CosineAnnealingWarmRestarts(optimizer, 2)
        schedule = SequentialLR(optimizer, parts, [2, 5])
        rates = schedule.get_last_lr()
        for _ in range(8):
            optimizer.step()
            schedule.step()
            rates += schedule.get_last_lr()
    assert rates == pytest.approx([0.5, 0.75, 1.0, 1.0, 0.5, 1.0, 0.5, 1.0, 0.5])


def test_rates_that_are_tensors_are_given_as_copies():
    lr = torch.tensor(1.0)
    optimizer = sgd(lr)
    for schedule in (ExponentialLR(optimizer, 0.5), ReduceLROnPlateau(optimizer)):
        given = schedule.get_last_lr()[0]
        given.fill_(7.0)
        assert lr.item() == 1.0 and given is not lr


@pytest.mark.parametrize("epoch", [2, 3, 8])
def test_restarts_go_on_from_any_epoch(epoch):
    """Resumed by `last_epoch`, later than the first period: along half a cosine of two epochs that is 1, 1/2, 1, 1/2 …"""
    optimizer = sgd()
    optimizer.param_groups[0]["initial_lr"] = 1.0
    schedule = CosineAnnealingWarmRestarts(optimizer, 2, last_epoch=epoch)
    for later in (epoch + 1, epoch + 2):
        assert schedule.get_last_lr() == pytest.approx([0.5 if later % 2 else 1.0])
        optimizer.step()
        schedule.step()


def test_epochs_are_deprecated():
    for schedule, metric in ((StepLR(sgd(), 2), ()), (ReduceLROnPlateau(sgd()), (1.0,))):
        schedule.optimizer.step()
        with pytest.warns(UserWarning, match="epoch parameter"):
            schedule.step(*metric, epoch=5)
        assert schedule.last_epoch == 5


def test_groups_added_later():
    optimizer = sgd(0.5)
    plateau, listed = ReduceLROnPlateau(optimizer, patience=0), ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1])
    schedule = LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))], "lr": 2.0})
    for _ in range(2):
        plateau.step(1.0)
    assert plateau.get_last_lr() == pytest.approx([0.05, 0.2])
    listed.step(1.0)
    with pytest.raises(RuntimeError, match="min_lrs"):
        listed.step(1.0)
    optimizer.step()
    with pytest.raises(ValueError, match="1 parameter groups, but the optimizer has 2"):
        schedule.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)
