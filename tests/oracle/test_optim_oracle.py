"""Optimizers and schedules against PyTorch: trajectories, checkpoints, texts."""
import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from nn_support import LIBRARIES, array, assert_close, assert_same_class_of_error, assert_same_error, both

import pyx_tensor as pt

OPTIMIZERS = {
    "SGD": lambda t, p: t.optim.SGD(p, lr=0.05),
    "SGD by default": lambda t, p: t.optim.SGD(p),
    "SGD with momentum": lambda t, p: t.optim.SGD(p, lr=0.02, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "SGD of Nesterov": lambda t, p: t.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True),
    "SGD upwards": lambda t, p: t.optim.SGD(p, lr=0.001, maximize=True, weight_decay=0.1),
    "SGD with tensor lr": lambda t, p: t.optim.SGD(p, lr=t.tensor(0.05)),
    "Adam": lambda t, p: t.optim.Adam(p, lr=0.05),
    "Adam with decay": lambda t, p: t.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
    "Adam with amsgrad": lambda t, p: t.optim.Adam(p, lr=0.05, amsgrad=True),
    "Adam upwards": lambda t, p: t.optim.Adam(p, lr=0.01, maximize=True),
    "AdamW": lambda t, p: t.optim.AdamW(p, lr=0.05, weight_decay=0.1),
    "AdamW with amsgrad": lambda t, p: t.optim.AdamW(p, lr=0.05, amsgrad=True),
    "RMSprop": lambda t, p: t.optim.RMSprop(p, weight_decay=0.01),
    "RMSprop with momentum": lambda t, p: t.optim.RMSprop(p, momentum=0.9, centered=True, maximize=True, lr=0.001),
    "Adagrad": lambda t, p: t.optim.Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.1),
    "Adadelta": lambda t, p: t.optim.Adadelta(p, weight_decay=0.01),
    "Adamax": lambda t, p: t.optim.Adamax(p, lr=0.01, weight_decay=0.01),
    "ASGD": lambda t, p: t.optim.ASGD(p, lr=0.05, lambd=0.01, t0=10, weight_decay=0.01),
    "Rprop": lambda t, p: t.optim.Rprop(p),
    "NAdam": lambda t, p: t.optim.NAdam(p, lr=0.01, weight_decay=0.01),
    "NAdam with decoupled decay": lambda t, p: t.optim.NAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "RAdam": lambda t, p: t.optim.RAdam(p, lr=0.05, betas=(0.8, 0.9), weight_decay=0.01),
    "RAdam with decoupled decay": lambda t, p: t.optim.RAdam(p, lr=0.01, weight_decay=0.1, decoupled_weight_decay=True),
}


def net_and_data(t, dtype="float64"):
    net = t.nn.Sequential(t.nn.Linear(3, 8), t.nn.Tanh(), t.nn.Linear(8, 2)).to(getattr(t, dtype))
    return net, t.randn(16, 3).to(getattr(t, dtype)), t.randn(16, 2).to(getattr(t, dtype))


def train(t, make, steps=50, dtype="float64"):
    net, x, y = net_and_data(t, dtype)
    optimizer = make(t, net.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, optimizer, losses


def assert_same_state(ours, theirs, rtol=1e-9):
    """Equal state dictionaries, tensors up to rounding."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same_state(ours[key], theirs[key], rtol)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            assert_same_state(a, b, rtol)
    elif isinstance(theirs, torch.Tensor):
        assert_close(ours, theirs, rtol=rtol, atol=1e-12 if rtol < 1e-3 else 1e-3)
    else:
        assert type(ours) is type(theirs) and ours == theirs


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_trajectory(name):
    (net, ours, our_losses), (other, theirs, their_losses) = both(lambda t: train(t, OPTIMIZERS[name]))
    np.testing.assert_allclose(our_losses, their_losses, rtol=1e-6, atol=1e-9)
    for p, q in zip(net.parameters(), other.parameters()):
        assert_close(p, q, rtol=1e-6, atol=1e-9)
    assert repr(ours) == repr(theirs)
    assert_same_state(ours.state_dict(), theirs.state_dict())


@pytest.mark.parametrize("options", [dict(lr=0.1), dict(lr=0.5, history_size=3, max_iter=7),
                                     dict(line_search_fn="strong_wolfe"),
                                     dict(line_search_fn="strong_wolfe", lr=0.01, max_iter=5, history_size=2),
                                     dict(line_search_fn="strong_wolfe", max_iter=2), dict(line_search_fn="strong_wolfe", lr=1e-4, max_eval=4),
                                     dict(line_search_fn="strong_wolfe", lr=20, max_eval=7), dict(line_search_fn="strong_wolfe", max_eval=1)])
def test_lbfgs(options):
    def run(t):
        net, x, y = net_and_data(t)
        optimizer = t.optim.LBFGS(net.parameters(), **options)
        losses = []

        def closure():
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return losses, optimizer

    (ours, optimizer), (theirs, other) = both(run)
    assert len(ours) == len(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    assert repr(optimizer) == repr(other)


@pytest.mark.parametrize("name", ["SGD with momentum", "AdamW with amsgrad"])
def test_trajectory_in_single_precision(name):
    (_, _, ours), (_, _, theirs) = both(lambda t: train(t, OPTIMIZERS[name], 20, "float32"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name not in ("SGD", "SGD by default", "SGD with tensor lr")])
def test_resuming_goes_on_as_without_a_break(name):
    """From a checkpoint of the library itself, a pickle, a copy, and a checkpoint of PyTorch's."""
    make = OPTIMIZERS[name]

    def resumed(transfer):
        pt.manual_seed(0)
        net, optimizer, _ = train(pt, make, 10)
        pt.manual_seed(0)
        fresh, x, y = net_and_data(pt)
        fresh.load_state_dict(net.state_dict())
        other = make(pt, fresh.parameters())
        other.load_state_dict(transfer(optimizer.state_dict()))
        for _ in range(5):
            other.zero_grad()
            ((fresh(x) - y) ** 2).mean().backward()
            other.step()
        return fresh

    pt.manual_seed(0)
    expected, _, _ = train(pt, make, 15)
    for transfer in (copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state)), _from_torch(make)):
        for p, q in zip(resumed(transfer).parameters(), expected.parameters()):
            np.testing.assert_allclose(array(p), array(q), rtol=1e-8)


def _from_torch(make):
    def convert(state):
        torch.manual_seed(0)
        theirs = train(torch, make, 10)[1].state_dict()
        assert list(theirs) == list(state)
        return _with_our_tensors(theirs)

    return convert


def _with_our_tensors(value):
    if isinstance(value, torch.Tensor):
        return pt.from_numpy(value.numpy().copy())
    if isinstance(value, dict):
        return {key: _with_our_tensors(entry) for key, entry in value.items()}
    return value


def _parameter(t):
    return t.nn.Parameter(t.ones(3))


@pytest.mark.parametrize("call", [
    lambda t, p: t.optim.SGD(p, 0.1),
    lambda t, p: t.optim.SGD([], 0.1),
    lambda t, p: t.optim.SGD([3], 0.1),
    lambda t, p: t.optim.SGD([p * 2], 0.1),
    lambda t, p: t.optim.SGD([{"params": {p}}], 0.1),
    lambda t, p: t.optim.SGD([{"params": [p]}, {"params": [p]}], 0.1),
    lambda t, p: t.optim.SGD([("a", p), p], 0.1),
    lambda t, p: t.optim.SGD([p], -1.0),
    lambda t, p: t.optim.SGD([p], t.ones(2)),
    lambda t, p: t.optim.SGD([p], 0.1, momentum=-1),
    lambda t, p: t.optim.SGD([p], 0.1, weight_decay=-1),
    lambda t, p: t.optim.SGD([p], 0.1, nesterov=True),
    lambda t, p: t.optim.SGD([p], 0.1, foreach=True, fused=True),
    lambda t, p: t.optim.SGD([p], 0.1).add_param_group([p]),
    lambda t, p: t.optim.SGD([p], 0.1).add_param_group({"params": [p]}),
    lambda t, p: t.optim.SGD([p], 0.1).load_state_dict({"state": {}, "param_groups": []}),
    lambda t, p: t.optim.SGD([p], 0.1).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    lambda t, p: t.optim.Adam([p], eps=-1.0),
    lambda t, p: t.optim.Adam([p], betas=(1.0, 0.5)),
    lambda t, p: t.optim.Adam([p], betas=(0.5, -0.5)),
    lambda t, p: t.optim.AdamW([p], weight_decay=-0.5),
    lambda t, p: t.optim.Adam([p], lr=t.ones(2)),
    lambda t, p: t.optim.RMSprop([p], alpha=-1.0),
    lambda t, p: t.optim.RMSprop([p], momentum=-1.0),
    lambda t, p: t.optim.Adagrad([p], lr_decay=-1.0),
    lambda t, p: t.optim.Adadelta([p], rho=2.0),
    lambda t, p: t.optim.Adamax([p], betas=(2.0, 0.5)),
    lambda t, p: t.optim.Rprop([p], etas=(2.0, 0.5)),
    lambda t, p: t.optim.NAdam([p], momentum_decay=-1.0),
    lambda t, p: t.optim.RAdam([p], eps=-1.0),
    lambda t, p: t.optim.ASGD([p], weight_decay=-1.0),
    lambda t, p: t.optim.LBFGS([{"params": [p]}, {"params": [_parameter(t)]}]),
    lambda t, p: t.optim.lr_scheduler.StepLR(p, 3),
    lambda t, p: t.optim.lr_scheduler.LambdaLR(t.optim.SGD([p], 0.1), [len, len]),
    lambda t, p: t.optim.lr_scheduler.ReduceLROnPlateau(t.optim.SGD([p], 0.1), "middle"),
    lambda t, p: t.optim.lr_scheduler.ReduceLROnPlateau(t.optim.SGD([p], 0.1), factor=1.0),
    lambda t, p: t.optim.lr_scheduler.OneCycleLR(t.optim.SGD([p], 0.1, momentum=0.5), 0.1),
    lambda t, p: t.optim.lr_scheduler.OneCycleLR(t.optim.SGD([p], 0.1, momentum=0.5), 0.1, total_steps=-1),
    lambda t, p: t.optim.lr_scheduler.OneCycleLR(t.optim.SGD([p], 0.1, momentum=0.5), 0.1, 5, anneal_strategy="steep"),
    lambda t, p: t.optim.lr_scheduler.CyclicLR(t.optim.Adadelta([p]), 0.1, 0.2),
    lambda t, p: t.optim.lr_scheduler.CyclicLR(t.optim.SGD([p]), 0.1, 0.2, mode="square"),
    lambda t, p: t.optim.lr_scheduler.LinearLR(t.optim.SGD([p], 0.1), start_factor=0.0),
    lambda t, p: t.optim.lr_scheduler.CosineAnnealingWarmRestarts(t.optim.SGD([p], 0.1), 0),
])
def test_errors(call):
    assert_same_error(lambda t: call(t, _parameter(t)))


@pytest.mark.filterwarnings("ignore:The epoch parameter in")
@pytest.mark.parametrize("make", [
    lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), s.ReduceLROnPlateau(o)]),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.ReduceLROnPlateau(o)], [3]),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.ChainedScheduler([s.StepLR(o, 2)])], [1]).step(),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.StepLR(o, 3)], [1]).get_lr()])
def test_errors_of_combined_schedules(make):
    def run(t):
        optimizer = t.optim.SGD([_parameter(t)], 0.1)
        optimizer.step()
        make(t.optim.lr_scheduler, optimizer)
    assert_same_class_of_error(run)


def _swappable(t, name):
    """An optimizer that has made a step, with two groups of a parameter each, and others for them with their state."""
    def make(start):
        p, q = t.nn.Parameter(t.full((2,), start)), t.nn.Parameter(t.full((3,), 2 * start))
        p.grad, q.grad = t.tensor([0.5, -2.0]), t.tensor([1.0, 3.0, -1.0])
        optimizer = getattr(t.optim, name)([{"params": [q]}, {"params": [p], "lr": 0.5}], **(dict(momentum=0.9) if name == "SGD" else {}))
        optimizer.step()
        return optimizer
    own, other = make(1.0), make(7.0)
    for _ in range(2):
        other.step()
    return own, {str(place): group["params"][0] for place, group in enumerate(other.param_groups)}, other.state_dict()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad"])
def test_other_parameters_and_state_for_a_while(name):
    def run(t):
        optimizer, others, state = _swappable(t, name)
        groups, own_state, own = optimizer.param_groups, optimizer.state, [group["params"][0] for group in optimizer.param_groups]
        schedule = t.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        state["param_groups"] = [dict(group, lr=0.25, initial_lr=0.25) for group in state["param_groups"]]
        try:
            with t.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
                assert [group["params"][0] for group in optimizer.param_groups] == [others["0"], others["1"]]
                optimizer.step(), schedule.step()
                inside = optimizer.state_dict()
                raise KeyError("inside")
        except KeyError:
            assert optimizer.param_groups is groups and optimizer.state is own_state
        optimizer.step()
        return own, list(others.values()), inside, state, optimizer.state_dict()

    ours, theirs = both(run)
    for a, b in zip(ours[0] + ours[1], theirs[0] + theirs[1]):
        assert_close(a, b, rtol=1e-6)
    for a, b in zip(ours[2:], theirs[2:]):
        assert_same_state(a, b, rtol=1e-6)


@pytest.mark.parametrize("spoil", [
    lambda t, o, p, s: o.state.clear(), lambda t, o, p, s: p.popitem(), lambda t, o, p, s: s.pop("state"), lambda t, o, p, s: s.update(param_groups=3),
    lambda t, o, p, s: s["param_groups"].pop(), lambda t, o, p, s: s["param_groups"][1].pop("lr"), lambda t, o, p, s: s["state"].update({5: {}}),
    lambda t, o, p, s: s["param_groups"][0]["params"].append(1)])
def test_what_can_not_be_swapped_in(spoil):
    def run(t):
        optimizer, others, state = _swappable(t, "SGD")
        own = [group["params"][0] for group in optimizer.param_groups]
        spoil(t, optimizer, others, state)
        try:
            with t.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
                pass
        finally:
            assert all(group["params"][0] is p for group, p in zip(optimizer.param_groups, own))
    assert_same_class_of_error(run)


SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], gamma=0.5),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, [lambda epoch: 0.9, lambda epoch: 0.8]),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.5, 0.8, 4),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.7),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 40, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 3, 2, mode="triangular2"),
    "CyclicLR by powers": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 2, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "CyclicLR of one's own": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 2, scale_fn=lambda x: 1 / x),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.1, 0.2], total_steps=55),
    "OneCycleLR in three phases": lambda s, o: s.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=30, three_phase=True, anneal_strategy="linear"),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.7)]),
    "SequentialLR of several": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.CosineAnnealingLR(o, 10), s.ExponentialLR(o, 0.9)], [5, 20]),
    "ChainedScheduler of a sequence": lambda s, o: s.ChainedScheduler([s.SequentialLR(o, [s.LinearLR(o, 0.5, 1.0, 4), s.StepLR(o, 2)], [4]),
                                                                       s.MultiStepLR(o, [6, 30], gamma=0.5)]),
    "SequentialLR of a sequence": lambda s, o: s.SequentialLR(o, [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [3]),
                                                                  s.StepLR(o, 2)], [7]),
    "SequentialLR of a chain": lambda s, o: s.SequentialLR(o, [s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
                                                               s.StepLR(o, 2)], [7]),
    "SequentialLR": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.5, 1.0, 4), s.StepLR(o, 2)], [4]),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=1, cooldown=1, min_lr=[0.001, 0.02]),
    "ReduceLROnPlateau upwards": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.5, 0, 0.1, "abs"),
}
METRICS = [3.0, 2.0, 2.0, 2.0, 1.9999, 2.0, 3.0, 4.0, *[1.0] * 6, *[1 / (1 + step % 7) for step in range(36)]]


def scheduled(t, name, steps=50, resume_at=None):
    def start():
        groups = [{"params": [_parameter(t)]}, {"params": [_parameter(t)], "lr": 0.3}]
        optimizer = t.optim.SGD(groups, lr=0.1, momentum=0.5)
        return optimizer, SCHEDULES[name](t.optim.lr_scheduler, optimizer)

    optimizer, scheduler = start()
    rates = []
    for step in range(steps):
        if step == resume_at:
            states = optimizer.state_dict(), scheduler.state_dict()
            optimizer, scheduler = start()
            optimizer.load_state_dict(states[0])
            scheduler.load_state_dict(states[1])
        optimizer.step()
        scheduler.step(*([METRICS[step]] if name.startswith("Reduce") else []))
        assert [group["lr"] for group in optimizer.param_groups] == scheduler.get_last_lr()
        rates.append([*scheduler.get_last_lr(), *(group["momentum"] for group in optimizer.param_groups)])
    return rates, scheduler


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (ours, scheduler), (theirs, other) = (scheduled(t, name) for t in LIBRARIES)
        resumed = [scheduled(pt, name, resume_at=step)[0] for step in (1, 7, 29)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    for rates in resumed:
        np.testing.assert_allclose(rates, ours, rtol=1e-12)
    assert set(other.state_dict()) == set(scheduler.state_dict())
    other.load_state_dict(scheduler.state_dict())
    scheduler.load_state_dict(other.state_dict())


def test_schedule_stepped_to_an_epoch():
    def run(t):
        rates = []
        for name in ("StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR", "LinearLR", "PolynomialLR",
                     "ConstantLR", "CosineAnnealingWarmRestarts"):
            optimizer = t.optim.SGD([_parameter(t)], lr=0.1)
            scheduler = SCHEDULES[name](t.optim.lr_scheduler, optimizer)
            optimizer.step()
            scheduler.step(4)
            rates.append(scheduler.get_last_lr())
        return rates

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(*both(run), rtol=1e-12)


def _with_their_tensors(value):
    if isinstance(value, pt.Tensor):
        return torch.from_numpy(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {key: _with_their_tensors(entry) for key, entry in value.items()}
    return value


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "SGD with tensor lr"])
def test_pytorch_goes_on_from_our_checkpoints(name):
    make = OPTIMIZERS[name]
    pt.manual_seed(0)
    ours = train(pt, make, 10)[1].state_dict()

    def goes_on(state):
        torch.manual_seed(0)
        net, theirs, _ = train(torch, make, 10)
        theirs.load_state_dict(state or theirs.state_dict())
        x = torch.randn(16, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        for _ in range(5):
            theirs.zero_grad()
            (net(x) ** 2).mean().backward()
            theirs.step()
        return net

    for p, q in zip(goes_on(_with_their_tensors(ours)).parameters(), goes_on(None).parameters()):
        np.testing.assert_allclose(array(p), array(q), rtol=1e-7, atol=1e-12)


# --- Adafactor and Muon, complex and recorded steps, averages ----------------------------------------------------------
MORE = {
    "Adafactor": lambda t, p: t.optim.Adafactor(p, lr=0.05),
    "Adafactor with decay": lambda t, p: t.optim.Adafactor(p, lr=0.1, beta2_decay=-0.5, eps=(1e-8, 1e-2), d=1.5, weight_decay=0.1, maximize=True),
    "Muon": lambda t, p: t.optim.Muon([q for q in p if q.ndim == 2], lr=0.01),
    "Muon by another rate": lambda t, p: t.optim.Muon([q for q in p if q.ndim == 2], lr=0.01, nesterov=False, momentum=0.5, weight_decay=0,
                                                      adjust_lr_fn="match_rms_adamw"),
}


@pytest.mark.parametrize("name", MORE)
def test_trajectory_of_the_later_ones(name):
    (net, ours, our_losses), (other, theirs, their_losses) = both(lambda t: train(t, MORE[name]))
    rtol = 1e-3 if "Muon" in name else 1e-6         # Muon rounds to bfloat16, now and then to the other side
    np.testing.assert_allclose(our_losses, their_losses, rtol=rtol, atol=1e-9)
    for p, q in zip(net.parameters(), other.parameters()):
        assert_close(p, q, rtol=rtol, atol=rtol)
    assert repr(ours) == repr(theirs)
    assert_same_state(ours.state_dict(), theirs.state_dict(), rtol)


@pytest.mark.parametrize("make", [
    lambda t, p: t.optim.Adafactor(p, lr=-1), lambda t, p: t.optim.Adafactor(p, eps=(-1, 0)), lambda t, p: t.optim.Adafactor(p, d=0.5),
    lambda t, p: t.optim.Adafactor(p, beta2_decay=1), lambda t, p: t.optim.Muon(p, momentum=-1), lambda t, p: t.optim.Muon(p, adjust_lr_fn="x"),
    lambda t, p: t.optim.SparseAdam(p, lr=0), lambda t, p: t.optim.SparseAdam(p, betas=(1.0, 0)),
    lambda t, p: t.optim.Adam(p, fused=True, differentiable=True), lambda t, p: t.optim.Muon([t.nn.Parameter(t.ones(2))])])
def test_refused_alike(make):
    assert_same_error(lambda t: make(t, [t.nn.Parameter(t.ones(2, 2))]))


COMPLEX = [name for name in OPTIMIZERS if name not in ("SGD by default",)]


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_parameters(name):
    def run(t):
        p = t.nn.Parameter(t.tensor([[1 + 2j, -0.5j], [0.3 - 1j, 2.0]], dtype=t.complex128))
        target = t.tensor([[1j, 1.0], [-1.0, 0.5 + 0.5j]], dtype=t.complex128)
        optimizer = OPTIMIZERS[name](t, [p])
        for _ in range(20):
            optimizer.zero_grad()
            ((p - target).abs() ** 2).sum().backward()
            optimizer.step()
        return p, optimizer.state_dict()
    (ours, our_state), (theirs, their_state) = both(run)
    assert_close(ours, theirs, rtol=1e-6, atol=1e-9)
    assert_same_state(our_state, their_state)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "ASGD"])   # PyTorch's Adamax fails
def test_gradients_through_steps(name):
    def run(t):
        start = t.tensor([1.0, -2.0, 0.5], dtype=t.float64, requires_grad=True)
        p = start.clone()
        p.retain_grad()
        optimizer = getattr(t.optim, name)([p], lr=0.1, differentiable=True)
        for factor in (1.0, 0.5):
            p.grad = (start * start * factor)
            optimizer.step()
        p.sum().backward()
        return start.grad
    assert_close(*both(run), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["swa", "ema", "ema function", "swa function"])
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_models(kind, use_buffers):
    def run(t):
        swa = t.optim.swa_utils
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 1))
        options = {"swa": {}, "ema": dict(multi_avg_fn=swa.get_ema_multi_avg_fn(0.9)), "ema function": dict(avg_fn=swa.get_ema_avg_fn(0.9)),
                   "swa function": dict(avg_fn=swa.get_swa_avg_fn())}[kind]
        average = swa.AveragedModel(model, use_buffers=use_buffers, **options)
        optimizer = t.optim.SGD(model.parameters(), lr=0.5)
        schedule = swa.SWALR(optimizer, 0.05, anneal_epochs=3)
        x, rates = t.randn(12, 3), []
        for _ in range(6):
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()
            average.update_parameters(model)
            schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
        swa.update_bn([x[:6], x[6:]], average)
        return average.state_dict(), rates, average(x), schedule.state_dict()
    (ours, our_rates, ours_of_x, schedule), (theirs, their_rates, theirs_of_x, other) = both(run)
    assert list(ours) == list(theirs) and schedule == other
    for key in theirs:
        assert_close(ours[key], theirs[key], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(our_rates, their_rates, rtol=1e-12)
    assert_close(ours_of_x, theirs_of_x, rtol=1e-4, atol=1e-5)


def test_wrong_averages_are_refused_alike():
    for make in (lambda t: t.optim.swa_utils.get_ema_avg_fn(2), lambda t: t.optim.swa_utils.SWALR(t.optim.SGD([t.ones(1)]), 0.1, anneal_strategy="x"),
                 lambda t: t.optim.swa_utils.SWALR(t.optim.SGD([t.ones(1)]), 0.1, anneal_epochs=-1),
                 lambda t: t.optim.swa_utils.SWALR(t.optim.SGD([t.ones(1)]), [0.1, 0.2]),
                 lambda t: t.optim.swa_utils.AveragedModel(t.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)):
        assert_same_error(make)
