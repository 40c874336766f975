"""Optimizers: known values, bookkeeping, hooks."""
import copy
import pickle

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor import optim
from pyx_tensor_cpu import level


def parameter(*numbers):
    p = torch.tensor(numbers, dtype=torch.float64).requires_grad_()
    p.grad = torch.ones_like(p)
    return p


def values(tensor):
    return tensor.detach().numpy()


@pytest.mark.rows("S368")
def test_sgd_by_hand():
    p = parameter(1.0, 2.0)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.5, weight_decay=0.1)
    optimizer.step()
    np.testing.assert_allclose(values(p), [1 - 0.1 * 1.1, 2 - 0.1 * 1.2])
    expected = values(p) - 0.1 * (0.5 * np.array([1.1, 1.2]) + 1 + 0.1 * values(p))
    optimizer.step()
    np.testing.assert_allclose(values(p), expected)


@pytest.mark.rows("S369")
def test_adam_by_hand():
    p = parameter(1.0)
    optimizer = optim.Adam([p], lr=0.1, betas=(0.5, 0.75))
    m = v = 0.0
    x = 1.0
    for t, g in enumerate((1.0, -2.0, 0.5), 1):
        p.grad.fill_(g)
        optimizer.step()
        m, v = 0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g * g
        x -= 0.1 * (m / (1 - 0.5**t)) / ((v / (1 - 0.75**t)) ** 0.5 + 1e-8)
        np.testing.assert_allclose(p.item(), x, rtol=1e-12)
    assert optimizer.state[p]["step"].item() == 3


def test_adamw_decays_apart_from_the_gradient():
    p, q = parameter(1.0), parameter(1.0)
    for x in (p, q):
        x.grad.zero_()
    optim.AdamW([p], lr=0.1, weight_decay=0.5).step()
    optim.Adam([q], lr=0.1, weight_decay=0.5, decoupled_weight_decay=True).step()
    assert p.item() == q.item() == pytest.approx(0.95)


@pytest.mark.rows("S372")
@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, amsgrad=True)])
def test_parameters_without_gradient_and_of_several_dtypes(make):
    still, single, double = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), parameter(1.0, 1.0)
    single.grad = torch.ones(2)
    optimizer = make([still, single, double])
    optimizer.step()
    assert values(still).tolist() == [1, 1] and still not in optimizer.state
    assert (values(single) < 1).all() and (values(double) < 1).all()
    assert single.dtype == torch.float32 and optimizer.state[double][next(
        key for key in optimizer.state[double] if key != "step")].dtype == torch.float64
    assert single.is_leaf and single.grad_fn is None


@pytest.mark.rows("S372")
def test_groups_have_options_of_their_own():
    p, q = parameter(1.0), parameter(1.0)
    optimizer = optim.SGD([{"params": [p], "lr": 0.5}, {"params": q}], lr=0.1)
    optimizer.step()
    assert (p.item(), q.item()) == (0.5, 0.9)
    r = parameter(1.0)
    optimizer.add_param_group({"params": r, "lr": 1.0})
    optimizer.step()
    assert r.item() == 0 and len(optimizer.param_groups) == 3
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [p]})
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p], lr=0.1)


def test_closure_is_run_with_gradients():
    p = parameter(3.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9
    assert p.item() == pytest.approx(3 - 0.6)


def test_zero_grad():
    p = parameter(1.0)
    optimizer = optim.SGD([p], lr=0.1)
    gradient = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is gradient and gradient.item() == 0
    optimizer.zero_grad()
    assert p.grad is None


def test_state_dict_round_trip():
    p, q = parameter(1.0), parameter(2.0)
    optimizer = optim.Adam([{"params": [p]}, {"params": [q], "lr": 0.5}])
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    assert list(state["state"]) == [0, 1] and [g["params"] for g in state["param_groups"]] == [[0], [1]]
    half = [torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)]
    other = optim.Adam([{"params": [half[0]]}, {"params": [half[1]]}])
    other.load_state_dict(state)
    assert other.param_groups[1]["lr"] == 0.5 and other.param_groups[0]["params"][0] is half[0]
    entry = other.state[half[1]]
    assert entry["exp_avg"].dtype == torch.float32 and entry["step"].item() == 1
    state["param_groups"][0]["lr"] = 99
    assert other.param_groups[0]["lr"] != 99
    bare = optim.SGD([p], lr=0.1)
    bare.load_state_dict({"state": {}, "param_groups": [{"params": [0], "lr": 0.3}]})
    assert bare.param_groups[0]["lr"] == 0.3


def test_pickle_keeps_the_optimizer_working():
    p = parameter(1.0)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    optimizer.step()
    for other in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        q = other.param_groups[0]["params"][0]
        assert q is not p and list(other.state) == [q]
        q.grad = torch.ones_like(q)
        other.step()
        assert q.item() == pytest.approx(0.9 - 0.19)


def test_step_hooks():
    from pyx_tensor.optim import optimizer as module
    p, calls = parameter(1.0), []
    optimizer = optim.SGD([p], lr=0.1)
    handles = [optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("pre")),
               optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("post")),
               module.register_optimizer_step_pre_hook(lambda o, args, kwargs: calls.append("global pre")),
               module.register_optimizer_step_post_hook(lambda o, args, kwargs: calls.append("global post"))]
    optimizer.step()
    assert calls == ["global pre", "pre", "post", "global post"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 4
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((args[0], lambda: calls.append("closure")), {}))
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(args[0] is o and len(args)))
    optimizer.step()
    assert calls[4:] == ["closure", 2]
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 5)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_state_hooks():
    p = parameter(1.0)
    optimizer, calls = optim.SGD([p], lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("save"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: calls.append(state.pop("extra")))
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    assert calls == ["save", 1, "loaded"] and "extra" in state


def test_an_optimizer_of_ones_own():
    class Signs(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, dict(lr=lr))

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    with torch.no_grad():
                        p.sub_(p.grad.sign(), alpha=group["lr"])

    p = parameter(1.0)
    optimizer = Signs([p], 0.25)
    optimizer.step()
    assert p.item() == 0.75 and repr(optimizer) == "Signs (\nParameter Group 0\n    lr: 0.25\n)"
    with pytest.raises(NotImplementedError):
        optim.Optimizer([p], {}).step()


def test_named_parameters():
    p = parameter(1.0)
    optimizer = optim.SGD([("weight", p)], lr=0.1)
    optimizer.step()
    assert p.item() == 0.9 and optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight"]


# --- the later ones ----------------------------------------------------------------------------------------------------
def test_adafactor_by_hand():
    p = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64))
    p.grad = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64)
    optimizer = optim.Adafactor([p], lr=0.1, weight_decay=0.5)
    x, g = values(p).copy(), values(p.grad)
    optimizer.step()
    rows, columns = (g * g).mean(1, keepdims=True), (g * g).mean(0, keepdims=True)
    update = g / np.sqrt(rows @ columns / rows.mean())
    size = 0.1 * np.sqrt((x * x).mean()) / max(1, np.sqrt((update**2).mean()))
    np.testing.assert_allclose(values(p), x * (1 - 0.1 * 0.5) - size * update, rtol=1e-12)
    assert optimizer.state[p]["row_var"].shape == (2, 1)


def test_muon_orthogonalizes():
    p = torch.nn.Parameter(torch.zeros(6, 4))
    p.grad = torch.randn(6, 4)
    optim.Muon([p], lr=1.0, weight_decay=0, ns_steps=10).step()
    singular = np.linalg.svd(values(p), compute_uv=False) / (6 / 4) ** 0.5
    assert ((0.6 < singular) & (singular < 1.3)).all()
    with pytest.raises(ValueError, match="only supports 2D"):
        optim.Muon([torch.nn.Parameter(torch.ones(3))])
    with pytest.raises(ValueError, match="less than 100"):
        optim.Muon([p], ns_steps=100).step()


def test_steps_of_complex_parameters_are_those_of_their_parts():
    for make in (optim.RMSprop, optim.Adagrad, optim.Adadelta, optim.Adamax, optim.NAdam, optim.RAdam, optim.ASGD, optim.Rprop, optim.Adam):
        z = torch.nn.Parameter(torch.tensor([1 + 2j, -3j], dtype=torch.complex128))
        parts = torch.nn.Parameter(torch.view_as_real(z.detach().clone()).clone())
        z.grad = torch.tensor([0.5 - 1j, 2 + 0.25j], dtype=torch.complex128)
        parts.grad = torch.view_as_real(z.grad).clone()
        ours, theirs = make([z]), make([parts])
        for _ in range(3):
            ours.step(), theirs.step()
        np.testing.assert_allclose(torch.view_as_real(z.detach()).numpy(), values(parts), rtol=1e-12)
        assert all(s.dtype == torch.complex128 for s in ours.state[z].values() if torch.is_tensor(s) and s.ndim)
    for make in (optim.Adafactor, optim.Muon):
        p = torch.nn.Parameter(torch.ones(2, 2, dtype=torch.complex64))
        p.grad = torch.ones_like(p)
        with pytest.raises(RuntimeError, match="does not support complex parameters"):
            make([p]).step()


def test_foreach_and_fused_are_taken_and_change_nothing():
    taken = {"foreach": ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor"],
             "fused": ["SGD", "Adam", "AdamW", "Adagrad"], "capturable": ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]}
    for option, names in taken.items():
        for name in names:
            plain, other = parameter(1.0, -2.0), parameter(1.0, -2.0)
            getattr(optim, name)([plain]).step()
            getattr(optim, name)([other], **{option: option != "capturable"}).step()
            assert torch.equal(plain, other) and not torch.equal(plain.detach(), torch.tensor([1.0, -2.0], dtype=torch.float64)), (option, name)


@pytest.mark.parametrize(("make", "options"), [
    (optim.SGD, {}), (optim.SGD, dict(momentum=0.9, nesterov=True)), (optim.Adam, {}), (optim.Adam, dict(amsgrad=True, maximize=True)),
    (optim.AdamW, dict(amsgrad=True)), (optim.Adamax, {}), (optim.NAdam, {}), (optim.RAdam, {}), (optim.RMSprop, dict(centered=True, momentum=0.5)),
    (optim.Adagrad, dict(lr_decay=0.1)), (optim.Adadelta, {}), (optim.ASGD, dict(t0=1.0)), (optim.Rprop, {})])
def test_gradients_through_a_step(make, options):
    """Of the parameters after two steps along x² and 2 x², by gradcheck."""
    def after_two_steps(start):
        p = start.clone()
        p.retain_grad()
        optimizer = make([p], lr=0.1, differentiable=True, **options)
        for step in (1.0, 2.0):
            p.grad = step * start * start
            optimizer.step()
        return p
    assert torch.autograd.gradcheck(after_two_steps, (torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True),))


# --- averages ----------------------------------------------------------------------------------------------------------
def test_averages():
    model = torch.nn.Linear(1, 1, bias=False)
    mean, moving = optim.swa_utils.AveragedModel(model), optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.5))
    for value in (1.0, 3.0, 8.0):
        with torch.no_grad():
            model.weight.fill_(value)
        mean.update_parameters(model), moving.update_parameters(model)
    assert mean.module.weight.item() == pytest.approx(4) and moving.module.weight.item() == pytest.approx(5) and mean.n_averaged == 3
    assert mean(torch.ones(1, 1)).item() == pytest.approx(4)
    assert model.weight.item() == 8


def test_batch_statistics_anew():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    batches = [torch.randn(8, 2) * 3 + 5 for _ in range(4)]
    optim.swa_utils.update_bn([(batch, None) for batch in batches], model.eval())
    np.testing.assert_allclose(model[0].running_mean.numpy(), np.mean([b.numpy().mean(0) for b in batches], 0), rtol=1e-5)
    assert model[0].momentum == 0.1 and not model.training


# --- resume ------------------------------------------------------------------------------------------------------------
class Run:
    """A training with shuffled batches, dropout, momentum and a schedule, that can stop between any two steps."""

    def __init__(self, make, dtype, seed=0):
        from pyx_tensor.utils.data import BatchSampler, RandomSampler, TensorDataset
        fixed = torch.Generator().manual_seed(5)
        self.data = TensorDataset(torch.randn(20, 4, generator=fixed, dtype=dtype), torch.randn(20, 1, generator=fixed, dtype=dtype))
        torch.manual_seed(seed)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1)).to(dtype)
        self.optimizer = make(self.model.parameters())
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 3, gamma=0.7)
        self.generator = torch.Generator().manual_seed(seed)
        self.sampler = BatchSampler(RandomSampler(self.data, generator=self.generator), 6, False)
        self.left = []

    def step(self):
        if not self.left:
            self.left = list(self.sampler)
        x, y = self.data[torch.tensor(self.left.pop(0))]
        self.optimizer.zero_grad()
        ((self.model(x) - y) ** 2).mean().backward()
        self.optimizer.step()
        self.schedule.step()

    def state(self):
        return dict(model=self.model.state_dict(), optimizer=self.optimizer.state_dict(), schedule=self.schedule.state_dict(), left=self.left,
                    generator=self.generator.get_state(), stream=torch.get_rng_state())

    def resume(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.left = state["left"]
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["stream"])


@pytest.mark.parametrize("make", [
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.AdamW(p, amsgrad=True), lambda p: optim.RMSprop(p, momentum=0.5),
    optim.NAdam, lambda p: optim.ASGD(p, t0=3), optim.Rprop, optim.Adafactor, optim.Adagrad, optim.RAdam, optim.Adamax, optim.Adadelta])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_run_that_is_stopped_and_resumed_ends_alike(make, dtype, tmp_path):
    whole = Run(make, dtype)
    for _ in range(11):
        whole.step()
    for stop in (1, 4, 7, 10):
        run = Run(make, dtype)
        for _ in range(stop):
            run.step()
        torch.save(run.state(), tmp_path / "state.pt")
        again = Run(make, dtype, seed=99)
        again.resume(torch.load(tmp_path / "state.pt"))
        for _ in range(11 - stop):
            again.step()
        assert all(torch.equal(p, q) for p, q in zip(whole.model.parameters(), again.model.parameters()))
        assert again.schedule.get_last_lr() == whole.schedule.get_last_lr()


# --- kernels against the definitions, which the reference backend runs ---------------------------------------------------
RULED = {
    "RMSprop": [dict(), dict(momentum=0.9), dict(centered=True), dict(centered=True, momentum=0.5, weight_decay=0.1, maximize=True)],
    "Adagrad": [dict(), dict(lr_decay=0.1, initial_accumulator_value=0.5, weight_decay=0.1)], "Adadelta": [dict(), dict(lr=0.5, rho=0.7, maximize=True)],
    "Adamax": [dict(), dict(betas=(0.4, 0.9), weight_decay=0.1)], "NAdam": [dict(), dict(weight_decay=0.1, decoupled_weight_decay=True)],
    "RAdam": [dict(), dict(betas=(0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True)],
    "ASGD": [dict(), dict(t0=2, lambd=0.1, weight_decay=0.1)], "Rprop": [dict(), dict(etas=(0.3, 1.5), step_sizes=(0.005, 0.02), maximize=True)],
    "SGD": [dict(momentum=0.9), dict(), dict(maximize=True)], "Adam": [dict(amsgrad=True)],
    "Adafactor": [dict(), dict(lr=0.1, beta2_decay=-0.3, eps=(1e-8, 1e-2), d=1.5, weight_decay=0.1, maximize=True)]}


@pytest.mark.parametrize(("name", "options", "dtype"), [
    (name, options, dtype) for name, several in RULED.items() for options in several
    for dtype in ("float32", "float64", "bfloat16", *(("complex128",) if name != "Adafactor" else ()))])
def test_kernels_do_what_the_definitions_say(name, options, dtype):
    dtype = getattr(torch, dtype)
    shapes = [(3, 4), (), (0,), (1300,), (2, 3, 5), (0, 4), (20, 700)]
    torch.manual_seed(0)
    starts, grads = ([torch.randn(s).to(dtype) for s in shapes] for _ in range(2))
    found = []
    for device in ("cpu", "reference"):
        parameters = [start.clone().to(device).requires_grad_() for start in starts]
        parameters[0] = parameters[0].detach().t().clone().t().requires_grad_()        # not contiguous
        optimizer = getattr(optim, name)(parameters, **{"lr": 0.01, **options})
        for step in range(4):
            for parameter, grad in zip(parameters, grads):
                parameter.grad = (grad * (-1) ** (step // 2)).to(device)
            optimizer.step()
        found.append((parameters, optimizer))
    (ours, optimizer), (theirs, other) = found
    tolerance = dict(bfloat16=0.1, float32=1e-5).get(dtype.name if hasattr(dtype, "name") else str(dtype), 1e-12)
    for p, q in zip(ours, theirs):
        assert torch.allclose(p.detach(), q.detach().cpu(), rtol=tolerance, atol=tolerance), (name, p.shape)
        for key, value in optimizer.state[p].items():
            assert torch.allclose(value, other.state[q][key].cpu(), rtol=tolerance, atol=tolerance), (name, key)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("options", [dict(), dict(nesterov=False, momentum=0.5, weight_decay=0, ns_steps=3, adjust_lr_fn="match_rms_adamw")])
@pytest.mark.parametrize("cpu_level", level.supported_levels()[-2:])
def test_muon_does_what_its_definition_says(options, dtype, cpu_level, monkeypatch):
    """In tile registers, which only the highest level uses, and without. Products are summed in another order, so that a value may be rounded to the bfloat16 next to it, and what follows from it."""
    monkeypatch.setattr(level, "_level", cpu_level)
    dtype = getattr(torch, dtype)
    torch.manual_seed(0)
    starts, grads = ([torch.randn(s).to(dtype) for s in [(4, 3), (3, 4), (1, 1), (0, 3), (40, 60), (600, 130), (97, 300), (128, 128), (700, 900)]] for _ in range(2))
    grads[2] = torch.zeros(1, 1, dtype=dtype)
    found = []
    for device in ("cpu", "reference"):
        parameters = [start.clone().to(device).requires_grad_() for start in starts]
        parameters[0] = parameters[0].detach().t().clone().t().requires_grad_()        # not contiguous
        optimizer = optim.Muon(parameters, lr=0.1, **options)
        for parameter, grad in zip(parameters, grads):
            parameter.grad = grad.to(device)
        optimizer.step()
        found.append(parameters)
    for p, q, start in zip(*found, starts):
        assert torch.allclose(p.detach().double(), q.detach().cpu().double(), rtol=2e-2, atol=2e-3), tuple(p.shape)
        assert start.numel() < 13 or torch.equal(p, q.cpu()) or (p != q.cpu()).double().mean() < 0.2 or dtype is not torch.bfloat16


def minimized(parameters, steps=2, **options):
    """L-BFGS's losses on its way down a sum of fourth powers."""
    optimizer, losses = optim.LBFGS(parameters, max_iter=5, history_size=4, **options), []

    def closure():
        optimizer.zero_grad()
        loss = sum(((p.abs() - place) ** 4).sum() for place, p in enumerate(parameters))
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return losses


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [dict(lr=0.1), dict(line_search_fn="strong_wolfe")])
def test_lbfgs_does_what_its_definition_says(options, dtype):
    dtype = getattr(torch, dtype)
    torch.manual_seed(0)
    starts = [torch.randn(shape).to(dtype) for shape in [(3, 4), (0,), (), (40_000,), (2, 3)]]
    found = []
    for device in ("cpu", "reference"):
        parameters = [start.clone().to(device).requires_grad_() for start in starts]
        parameters[0] = parameters[0].detach().t().clone().t().requires_grad_()        # not contiguous
        found.append((minimized(parameters, **options), parameters))
    (ours, parameters), (theirs, others) = found
    tolerance = 5e-2 if dtype is torch.float32 else 1e-9       # the sums' rounding, made larger by differences of gradients
    np.testing.assert_allclose(ours, theirs, rtol=tolerance)
    assert len(ours) > 8 and ours[-1] < 0.5 * ours[0]
    for p, q in zip(parameters, others):
        assert torch.allclose(p.detach(), q.detach().cpu(), rtol=tolerance, atol=tolerance)


def test_lbfgs_of_complex_parameters_and_sparse_gradients():
    torch.manual_seed(0)
    start, target = torch.randn(2, 5, dtype=torch.complex128)
    found = []
    for seen_as in (torch.Tensor.clone, torch.view_as_real):
        p = torch.nn.Parameter(seen_as(start).clone())
        optimizer = optim.LBFGS([p], lr=0.3)

        def closure():
            optimizer.zero_grad()
            loss = (torch.view_as_real(p if p.is_complex() else torch.view_as_complex(p)) - torch.view_as_real(target)).pow(4).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
        found.append(p.detach() if p.is_complex() else torch.view_as_complex(p.detach()))
    np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=1e-12)
    assert (found[0] - target).abs().max() < 0.5 * (start - target).abs().max()
    p = parameter(1.0, 2.0, 3.0)
    p.grad = torch.sparse_coo_tensor([[1]], [0.5], (3,), dtype=torch.float64)
    optim.LBFGS([p], lr=0.5, max_iter=1).step(lambda: torch.tensor(1.0))
    np.testing.assert_allclose(values(p), [1, 2 - 0.5 * 0.5, 3])


def test_lbfgs_goes_on_from_a_checkpoint():
    start = torch.tensor([3.0, -2.0, 0.5], dtype=torch.float64)

    def make(p):
        optimizer = optim.LBFGS([p], lr=0.2, max_iter=3)

        def step():
            def closure():
                optimizer.zero_grad()
                loss = (p ** 4).sum()
                loss.backward()
                return loss
            optimizer.step(closure)
        return optimizer, step

    whole = torch.nn.Parameter(start.clone())
    _, step = make(whole)
    for _ in range(4):
        step()
    for stop in (1, 2, 3):
        p = torch.nn.Parameter(start.clone())
        optimizer, step = make(p)
        for _ in range(stop):
            step()
        q = torch.nn.Parameter(p.detach().clone())
        again, step = make(q)
        again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        for _ in range(4 - stop):
            step()
        assert torch.equal(q, whole)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("maximize", [False, True])
def test_sparse_adam_does_what_its_definition_says(maximize, dtype):
    dtype = getattr(torch, dtype)
    torch.manual_seed(0)
    gradients = [([[3, 0, 3]], (3, 4), (5, 4)), ([[0, 2]], (2,), (5,)), ([[1, 0, 1], [2, 1, 2]], (3, 2), (2, 3, 2)), ([[]], (0, 4), (5, 4))]
    gradients = [(torch.tensor(at, dtype=torch.int64).reshape(len(at), n), torch.randn(n, *rest).to(dtype), shape) for at, (n, *rest), shape in gradients]
    starts = [torch.randn(shape).to(dtype) for _, _, shape in gradients]
    found = []
    for device in ("cpu", "reference"):
        parameters = [start.clone().to(device).requires_grad_() for start in starts]
        parameters[0] = parameters[0].detach().t().clone().t().requires_grad_()        # not contiguous
        optimizer = optim.SparseAdam(parameters, lr=0.1, maximize=maximize)
        for _ in range(3):
            for parameter, (at, values, shape) in zip(parameters, gradients):
                parameter.grad = torch.sparse_coo_tensor(at, values, shape).to(device)
            optimizer.step()
        found.append((parameters, optimizer))
    (ours, optimizer), (theirs, other) = found
    tolerance = dict(bfloat16=0.1, float32=1e-5).get(str(dtype).rpartition(".")[2], 1e-12)
    for p, q, start in zip(ours, theirs, starts):
        assert torch.allclose(p.detach(), q.detach().cpu(), rtol=tolerance, atol=tolerance), tuple(p.shape)
        assert optimizer.state[p]["step"] == 3 and (not start.numel() or start.shape == (5, 4) or not torch.equal(p.detach(), start))
        for key in ("exp_avg", "exp_avg_sq"):
            assert torch.allclose(optimizer.state[p][key], other.state[q][key].cpu(), rtol=tolerance, atol=tolerance), key


def test_special_values_survive_a_step():
    for make in (optim.RMSprop, optim.Adagrad, optim.Adadelta, optim.Adamax, optim.NAdam, optim.RAdam, optim.ASGD, optim.Rprop):
        p = torch.nn.Parameter(torch.ones(4))
        p.grad = torch.tensor([1.0, float("nan"), 0.0, -1.0])
        make([p]).step()
        assert p[1] != p[1] and torch.isfinite(p[[0, 2, 3]]).all() and p[0] < 1 < p[3] and p[2] <= 1, make


def test_corrupted_state_dicts():
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    for make in (optim.Adam, optim.RMSprop, optim.Adagrad):
        optimizer = make([p])
        optimizer.step()
        good = optimizer.state_dict()
        for bad, error in ((3, TypeError), ({}, KeyError), ({"state": {}}, KeyError), ({**good, "param_groups": []}, ValueError),
                           ({**good, "param_groups": [{**good["param_groups"][0], "params": [0, 1]}]}, ValueError),
                           ({**good, "param_groups": None}, TypeError), ({**good, "param_groups": [3]}, TypeError),
                           ({**good, "param_groups": [{"lr": 1.0}]}, TypeError), ({**good, "param_groups": [{"params": 0}]}, TypeError),
                           ({**good, "state": []}, TypeError), ({**good, "state": {0: 5}}, TypeError),
                           ({**good, "state": {0: torch.ones(3)}}, TypeError)):
            with pytest.raises(error):
                optimizer.load_state_dict(bad)
            assert optimizer.state_dict() == good          # the very same tensors
        optimizer.load_state_dict({**good, "state": {**good["state"], "note": 5}})
        assert optimizer.state["note"] == 5
        optimizer.load_state_dict(good)
        before = p.detach().clone()
        wrong = {key: value if key == "step" else torch.ones(5) for key, value in good["state"][0].items()}
        optimizer.load_state_dict({**good, "state": {0: wrong}})
        with pytest.raises(RuntimeError, match=r"expected shape \(3,\)"):
            optimizer.step()
        assert torch.equal(p.detach(), before)


def test_adagrad_remembers_from_the_beginning():
    """As PyTorch's does, whose steps don't begin a state: else it couldn't go on with ours, of a tensor that had no gradient yet."""
    p, late = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1, dtype=torch.complex64))
    optimizer = optim.Adagrad([p], initial_accumulator_value=0.5)
    optimizer.add_param_group({"params": [late], "initial_accumulator_value": 2.0})
    state = optimizer.state_dict()["state"]
    assert state[0]["sum"].tolist() == [0.5, 0.5] and state[1]["sum"].item() == 2 + 2j and state[1]["step"] == 0
    optimizer.share_memory()
    assert all(optimizer.state[q]["sum"].is_shared() and not optimizer.state[q]["sum"].requires_grad for q in (p, late))


def test_options_of_other_optimizers_change_nothing():
    p, plain = parameter(1.0), parameter(1.0)
    optim.Rprop([{"params": [p], "weight_decay": 0.5}]).step()
    optim.Rprop([plain]).step()
    assert p.item() == plain.item()
