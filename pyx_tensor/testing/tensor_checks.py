"""Checks of a backend through tensors: what operations, gradients, views and writes give on it. Results are compared with those
of another backend (the CPU; for the CPU the reference), gradients with differences."""
import copy
import io
import pickle
import re

import numpy as np

import pyx_tensor as torch

from .comparison import assert_close

CHECKS = {}      # name -> function(subject)

# x, y, p, m, v: float (2, 3), (2, 3), positive (2, 3), (3, 3), (3,); z, w: images (1, 2, 5, 5) and filters (3, 2, 3, 3);
# i: int64 (2, 3); b: bool (2, 3); k: int64 positions (2, 2).
VALUES = dict(
    x=[[0.5, -1.25, 2.0], [0.1, 0.75, -0.3]], y=[[1.5, 0.4, -0.6], [-2.0, 0.9, 1.1]], p=[[0.2, 0.5, 0.7], [0.9, 0.35, 0.65]],
    m=[[2.0, 0.3, -0.1], [0.4, 1.5, 0.2], [-0.3, 0.1, 1.8]], v=[0.3, -0.7, 1.2],
    z=np.sin(np.arange(50.0) * 1.7).reshape(1, 2, 5, 5).tolist(), w=np.cos(np.arange(54.0) * 0.9).reshape(3, 2, 3, 3).tolist())
OTHERS = dict(i=[[1, 2, 3], [7, -5, 4]], b=[[True, False, True], [False, False, True]], k=[[0, 2], [1, 0]])

DIFFERENTIABLE = """
x + y | x - 2 * y | x * y | x / p | 1 / p | -x | x.abs() | x.sign() * x | x.square() | x.exp() | p.log() | p.log2() | p.log10()
p.log1p() | x.expm1() | p.sqrt() | p.rsqrt() | x.sin() | x.cos() | x.tan() | p.asin() | p.acos() | x.atan() | x.sinh()
x.cosh() | x.tanh() | x.asinh() | (p + 1).acosh() | p.atanh() | x.sigmoid() | x.erf() | (x * 0.9).floor() + x | x ** 2 | p ** y
2 ** x | torch.maximum(x, y) | torch.minimum(x, y) | torch.atan2(x, y) | torch.where(b, x, y) | x.clamp(-0.4, 0.8)
x.masked_fill(b, 3.0) | torch.addcmul(x, y, p) | torch.lerp(x, y, 0.3) | x + v | x * v.unsqueeze(0) | x.sum() | x.sum(0)
x.sum((0, 1), keepdim=True) | x.mean(1) | x.prod(1) | x.amax(1) | x.amin(0) | x.max(1)[0] | x.var(1) | x.std() | x.norm()
x.logsumexp(1) | x.cumsum(1) | x.cumprod(0) | m @ m | x @ m | x @ v | v @ v | m.t() @ x.t() | torch.mm(x, m)
torch.addmm(x, x, m, beta=0.5, alpha=2) | x.reshape(3, 2) | x.t() | x.t().reshape(6) | x.transpose(0, 1)[1] | x[1] | x[:, 1:]
x[..., 0] | x[None] | x[:, ::2] | x.unsqueeze(1) | x.unsqueeze(1).squeeze(1) | x.expand(4, 2, 3) | x.permute(1, 0)
m.diagonal() | x.flip(1) | x.roll(1, 1) | x.repeat(2, 1) | torch.cat([x, y], 1) | torch.stack([x, y]) | x.split(2, 1)[0]
x.chunk(3, 1)[2] | x[k[0] % 2] | x[b] | x[[1, 0], [2, 2]] | x[:, k] | x.index_select(1, k[0]) | x.gather(1, k)
x.scatter_add(1, k, y[:, :2]) | x.scatter(1, k, y[:, :2]) | torch.softmax(x, 1) | torch.log_softmax(x, 0) | torch.tril(m)
torch.triu(m) | torch.outer(v, v) | x.unbind(1)[2] | torch.einsum("ij,kj->ik", x, y) | x.to(torch.float32).to(torch.float64)
"""

NETWORKS = """
F.linear(x, m, v) | F.relu(x) | F.gelu(x) | F.silu(x) | F.softplus(x) | F.elu(x) | F.leaky_relu(x) | F.hardtanh(x, -0.4, 0.8)
F.logsigmoid(x) | F.softmax(x, 1) | F.log_softmax(x, 1) | F.layer_norm(x, (3,), v, v) | F.cross_entropy(x, k[0])
F.nll_loss(x, k[0]) | F.mse_loss(x, y) | F.l1_loss(x, y) | F.smooth_l1_loss(x, y) | F.binary_cross_entropy(p, b.to(p.dtype))
F.binary_cross_entropy_with_logits(x, p) | F.kl_div(x, p, reduction="sum") | F.embedding(k, m) | F.conv2d(z, w, padding=1)
F.conv2d(z, w, v, stride=2) | F.conv1d(z[:, 0, :2], w[:, :, 0]) | F.conv_transpose2d(z[:, :1], w[:1, :1]) | F.max_pool2d(z, 2)
F.avg_pool2d(z, 2) | F.adaptive_avg_pool2d(z, 1) | F.pad(z, (1, 0, 2, 1)) | F.normalize(x) | F.cosine_similarity(x, y)
F.batch_norm(x, None, None, training=True) | F.group_norm(z, 2) | F.dropout(x, 0.5, training=False)
F.interpolate(z, scale_factor=2) | F.scaled_dot_product_attention(x[None], y[None], p[None])
"""

PLAIN = """
x == y | x < y | x >= 0 | x != x | b & ~b | torch.logical_or(b, x > 0) | i ^ 3 | i & 6 | ~i | i << 1 | i >> 1 | i // 2 | i % 3
-i | i * 2.5 | i + x | i / 2 | b + i | i.sum() | i.prod(1) | i.amax(0) | b.any() | b.all(1) | b.sum() | x.argmax() | x.argmax(1)
x.argmin(0, keepdim=True) | x.max(1)[1] | torch.isnan(x) | torch.isinf(x / 0) | x.nonzero() | b.nonzero() | i.float() | x.long()
x.bool() | x.to(torch.int32) | torch.zeros(2, 3) | torch.ones(3, dtype=torch.int64) | torch.full((2,), 7) | torch.arange(5)
torch.arange(1.0, 2.0, 0.25) | torch.linspace(0, 1, 5) | torch.eye(3) | torch.zeros_like(x) | torch.tensor([[1, 2], [3, 4]])
x.ceil() | x.trunc() | x.round() | torch.floor_divide(x, 0.3) | torch.remainder(x, 0.7) | torch.fmod(x, 0.7)
i.masked_select(b) | torch.count_nonzero(i) | x.numel() | x.tolist() | x[0, 1].item() | torch.zeros(0, 3).sum(0)
torch.zeros(0, 3) @ m | torch.cat([x, torch.zeros(0, 3)]) | x[:0] | x.sort(1)[0] | x.topk(2, 1)[0] | i.unique()
torch.allclose(x, x)
"""


def expressions(text):
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def namespace(subject, device, dtype="float32"):
    """The names of the expressions, on a device."""
    names = {name: torch.tensor(value, dtype=getattr(torch, dtype)).to(device) for name, value in VALUES.items()}
    names.update({name: torch.tensor(value).to(device) for name, value in OTHERS.items()})
    return dict(names, torch=torch, F=torch.nn.functional)


def require_front_end(subject, expression):
    """Skip the check where the front end lacks a function or method."""
    F = torch.nn.functional
    used = [(dict(torch=torch, F=F)[owner], name) for owner, name in re.findall(r"\b(torch|F)\.(\w+)", expression)]
    used += [(torch.Tensor, name) for name in re.findall(r"(?<!torch)(?<!F)\.(\w+)\(", expression)]
    missing = [name for owner, name in used if not hasattr(owner, name)]
    subject.require(not missing, f"not in the front end: {', '.join(missing)}")


def evaluate(expression, names, device):
    """The value of an expression, with new tensors made on `device`."""
    with torch.device(device):
        return eval(expression, dict(names))


def other_than(subject):
    """The device to compare with."""
    return "reference" if subject.name == "cpu" else "cpu"


def check_value(subject, expression):
    require_front_end(subject, expression)
    other = other_than(subject)
    result = evaluate(expression, namespace(subject, subject.name), subject.name)
    expected = evaluate(expression, namespace(subject, other), other)
    if hasattr(result, "device"):
        assert result.device.type == subject.name, f"the result is on {result.device}"
    assert_close(result, expected, check_device=False, equal_nan=True)


def check_gradient(subject, expression):
    """The derivative along a direction, from `backward` and from a central difference."""
    check_value(subject, expression)
    subject.require("float64" in subject.backend.dtypes, "gradients are checked in float64")
    names = namespace(subject, subject.name, "float64")
    used = [name for name in VALUES if re.search(rf"\b{name}\b", expression)]
    weights = torch.tensor(np.cos(np.arange(512.0)), dtype=torch.float64).to(subject.name)

    def scalar(names):
        value = evaluate(expression, names, subject.name)
        return (value.reshape(-1) * weights[:value.numel()]).sum()

    steps = {name: torch.tensor(np.sin(np.arange(names[name].numel()) + 1.0).reshape(names[name].shape)).to(subject.name) for name in used}
    watched = dict(names, **{name: names[name].clone().requires_grad_() for name in used})
    scalar(watched).backward()
    found = sum(float((watched[name].grad * steps[name]).sum()) for name in used if watched[name].grad is not None)
    h = 1e-6
    ahead, behind = (float(scalar(dict(names, **{n: names[n] + s * steps[n] for n in used}))) for s in (h, -h))
    expected = (ahead - behind) / (2 * h)
    if "float32" in expression:      # rounding in between makes differences useless
        return
    assert abs(found - expected) <= 1e-6 * (1 + abs(expected)), f"derivative {found}, by differences {expected}"


def enter(text, function):
    for expression in expressions(text):
        CHECKS[expression] = lambda subject, expression=expression: function(subject, expression)


enter(DIFFERENTIABLE, check_gradient)
enter(NETWORKS, check_gradient)
enter(PLAIN, check_value)


def check(function):
    CHECKS[function.__name__.replace("check_", "")] = function
    return function


def raises(kind, function, *args):
    """The message of the error of this kind that a call must raise."""
    try:
        function(*args)
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} expected, nothing was raised")


@check
def check_moves(subject):
    """Every dtype there and back; `to` the same device is the tensor itself."""
    for dtype in subject.dtypes():
        host = torch.tensor([0, 1, 3]).to(getattr(torch, dtype))
        there = host.to(subject.name)
        assert there.device.type == subject.name and there.dtype is host.dtype
        assert there.to(subject.name) is there
        assert there.cpu().tolist() == host.tolist()
        assert f"device='{there.device}'" in repr(there) or subject.name == "cpu"


@check
def check_devices(subject):
    """A tensor says where it is, results stay there, and devices don't mix."""
    count = subject.backend.device_count()
    last = torch.device(subject.name, count - 1) if subject.backend.current_device() is not None else torch.device(subject.name)
    x = torch.ones(2, 3, device=last)
    for result in (x, x + 1, x.sum(), x.t(), x @ x.t(), x[0], x.exp(), torch.zeros_like(x), x.clone(), x > 0):
        assert result.device == x.device, f"{result.device}, expected {x.device}"
    assert x[:, 1:].cpu().tolist() == [[1, 1], [1, 1]]
    leaf = torch.ones(3, requires_grad=True)
    (leaf.to(last) * torch.arange(3, device=last)).sum().backward()
    assert leaf.grad.device.type == "cpu" and leaf.grad.tolist() == [0, 1, 2]
    assert "invalid device ordinal" in raises(RuntimeError, lambda: torch.zeros(2, device=torch.device(subject.name, count)))
    strangers = [torch.ones(2, 3, device=torch.device(subject.name, 0))] if count > 1 else []
    if subject.name != "cpu":
        strangers.append(torch.ones(2, 3))
        assert (x * torch.tensor(2.0)).device == x.device, "a 0-dim tensor of the CPU goes with any device"
    for other in strangers:
        assert "Expected all tensors to be on the same device" in raises(RuntimeError, lambda: x + other)


@check
def check_in_place(subject):
    x = torch.ones(2, 3).to(subject.name)
    before = x._version
    x += 2
    x.mul_(3)
    x.clamp_(0, 5)
    x.fill_(4)
    assert x._version > before
    x.copy_(torch.arange(3).to(subject.name))
    assert x.cpu().tolist() == [[0, 1, 2], [0, 1, 2]]
    w = torch.ones(3).to(subject.name).requires_grad_()
    y = w * 2
    y.mul_(y)
    y.sum().backward()
    assert w.grad.cpu().tolist() == [8, 8, 8]


@check
def check_views(subject):
    """Where slices share memory, writes show in both; where they don't, writes to views are refused and change nothing."""
    x = torch.zeros(2, 3).to(subject.name)
    row = x[1]
    if not (subject.backend.views and subject.backend.mutable):
        return
    row.add_(1)
    x[:, 0] = 5
    x[x > 4] = 6
    x.t()[2, 0] = 7
    assert x.cpu().tolist() == [[6, 0, 7], [6, 1, 1]]
    assert row.cpu().tolist() == [6, 1, 1]
    w = torch.ones(2, 2).to(subject.name).requires_grad_()
    y = w * 1
    y[0].mul_(3)
    (y * y).sum().backward()
    assert w.grad.cpu().tolist() == [[18, 18], [2, 2]]


@check
def check_out(subject):
    names = namespace(subject, subject.name)
    out = torch.zeros(2, 3).to(subject.name)
    assert torch.add(names["x"], names["y"], out=out) is out
    assert_close(out.cpu(), (names["x"] + names["y"]).cpu())


@check
def check_second_derivatives(subject):
    x = namespace(subject, subject.name)["x"].requires_grad_()
    (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert_close(second.cpu(), 6 * x.detach().cpu())


@check
def check_training(subject):
    """Linear regression by gradient descent finds the coefficients."""
    inputs = torch.tensor(np.cos(np.arange(40.0)).reshape(20, 2), dtype=torch.float32).to(subject.name)
    wanted = torch.tensor([[1.5], [-0.5]]).to(subject.name)
    w = torch.zeros(2, 1).to(subject.name).requires_grad_()
    for _ in range(200):
        loss = ((inputs @ w - inputs @ wanted) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
        w.grad = None
    assert_close(w.detach(), wanted, rtol=1e-3, atol=1e-3)


OPTIMIZERS = dict(SGD=dict(lr=0.1, momentum=0.9, weight_decay=0.01), Adam=dict(lr=0.1), AdamW=dict(lr=0.1), RMSprop=dict(lr=0.05),
                  Adagrad=dict(lr=0.1))


def trained(device, name):
    """The weights of a small network after some steps."""
    generator = np.random.default_rng(0)
    weights = [torch.tensor(generator.normal(size=shape), dtype=torch.float32).to(device).requires_grad_() for shape in ((3, 4), (4, 1))]
    inputs, target = torch.tensor([[0.1, 0.5, -1], [2, -0.3, 0.4]]).to(device), torch.tensor([[1.0], [-1.0]]).to(device)
    optimizer = getattr(torch.optim, name)(weights, **OPTIMIZERS[name])
    for _ in range(5):
        optimizer.zero_grad()
        ((torch.tanh(inputs @ weights[0]) @ weights[1] - target) ** 2).mean().backward()
        optimizer.step()
    return [w.detach().cpu() for w in weights]


def check_optimizer(subject, name):
    """The same weights as on another backend."""
    subject.require(hasattr(torch.optim, name), f"not in the front end: {name}")
    assert_close(trained(subject.name, name), trained(other_than(subject), name), rtol=1e-4, atol=1e-5)


for _name in OPTIMIZERS:
    CHECKS[f"optim.{_name}"] = lambda subject, name=_name: check_optimizer(subject, name)


@check
def check_errors(subject):
    x = torch.ones(2, 3).to(subject.name)
    assert "must match the size of tensor b" in raises(RuntimeError, lambda: x + torch.ones(4).to(subject.name))
    raises(RuntimeError, lambda: x @ torch.ones(2, 3).to(subject.name))
    raises(IndexError, lambda: x[2])
    raises(IndexError, lambda: x[torch.tensor([2]).to(subject.name)])
    raises(RuntimeError, lambda: x.view(5))
    assert "ZeroDivisionError" in raises(RuntimeError, lambda: torch.ones(2, dtype=torch.int64).to(subject.name) // 0)


@check
def check_copies(subject):
    """deepcopy and pickle keep values, dtype and device."""
    x = namespace(subject, subject.name)["x"].requires_grad_()
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin is not x and twin.requires_grad and twin.device == x.device and twin.dtype is x.dtype
        assert_close(twin.detach(), x.detach())


@check
def check_save_and_load(subject):
    subject.require(hasattr(torch, "save"), "not in the front end: save")
    x = namespace(subject, subject.name)["x"]
    file = io.BytesIO()
    torch.save({"x": x, "row": x[1]}, file)
    for options in ({}, {"map_location": "cpu"}):
        file.seek(0)
        loaded = torch.load(file, **options)
        assert loaded["x"].device.type == options.get("map_location", subject.name)
        assert_close(loaded["x"].cpu(), x.cpu())
        assert_close(loaded["row"].cpu(), x[1].cpu())
