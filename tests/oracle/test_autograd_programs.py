"""Generated programs of views, writes and reads, run under pyx_tensor and under PyTorch: the same values, the same
gradients, first and second, and an error of the same class wherever PyTorch raises one.

A program is drawn step by step from a seed; each draw depends on the shapes of the tensors made so far, which are the
same under both. A step that raises leaves its tensors as they were, and the program goes on.
"""
import random

import numpy as np
import pytest

import pyx_tensor

torch = pytest.importorskip("torch")

N_STEPS = 14


class Program:
    """One run of the program of a seed under one of the two packages."""

    def __init__(self, package, seed, n_steps=N_STEPS):
        self.m = package
        self.random = random.Random(seed)
        self.n_steps = n_steps
        self.log = []          # what each step gave, to compare
        self.errors = {}       # the exceptions by step, to show
        self.leaves = []
        self.pool = []
        self.family = {}       # id of a tensor -> number of the memory it may share

    # -- data
    def data(self, shape, low=0.5, high=1.5):
        rng = np.random.default_rng(self.random.randrange(2 ** 32))
        return self.m.from_numpy(rng.uniform(low, high, shape))

    def integers(self, high, shape):
        rng = np.random.default_rng(self.random.randrange(2 ** 32))
        return self.m.from_numpy(rng.integers(0, high, shape))

    def mask(self, shape):
        rng = np.random.default_rng(self.random.randrange(2 ** 32))
        return self.m.from_numpy(rng.random(shape) < 0.5)

    def pick(self, min_ndim=0):
        fitting = [t for t in self.pool if t.ndim >= min_ndim]
        recent = fitting[-4:]
        return self.random.choice(recent if self.random.random() < 0.6 else fitting)

    def dim(self, t):
        return self.random.randrange(-t.ndim, t.ndim)

    def operand(self, target, family):
        """A number, new data, or a tensor of the pool whose shape broadcasts to that of `target`."""
        shape = tuple(target.shape)
        fitting = [t for t in self.pool if broadcasts(tuple(t.shape), shape)]
        kind = self.random.random()
        if kind < 0.3:
            return self.random.choice([2, 0.5, 1.25])
        if kind < 0.5 or not fitting:
            return self.data(self.random.choice([shape, shape[-1:], ()]))
        chosen = self.random.choice(fitting)
        crosses = chosen is not target and self.family[id(chosen)] == family     # overlapping writes have tests of their own
        return chosen.clone() if crosses else chosen

    def enter(self, tensors, family=None):
        for t in tensors:
            if all(t is not old for old in self.pool):
                self.family[id(t)] = len(self.pool) if family is None else family
                self.pool.append(t)

    def slice(self, size):
        start = self.random.randrange(0, size) if size else 0
        return slice(start, self.random.randrange(start, size + 1) if size else 0, self.random.choice([None, None, 2]))

    # -- steps
    def run(self):
        for shape in ((4, 3), (3,), (2, 2, 3)):
            leaf = self.data(shape).requires_grad_()
            self.leaves.append(leaf)
            self.enter([leaf, leaf * 1.5] if self.random.random() < 0.7 else [leaf, self.data(shape)])
        steps = [self.view, self.view, self.view, self.write, self.write, self.set_item, self.read, self.read, self.index_read,
                 self.write_unrecorded, self.masked_write]
        for _ in range(self.n_steps):
            step = self.random.choice(steps)
            state = self.random.random()
            try:
                made = step()
            except Exception as error:
                self.random.seed(state)        # however many draws the step made before it failed
                self.errors[len(self.log)] = error
                self.log.append((step.__name__, type(error).__name__))
                continue
            self.random.seed(state)
            if step != self.view:        # views are entered with the family of what they show
                self.enter(made)
            self.log.append((step.__name__, [self.describe(t) for t in made]))
        self.log.append(("values", [self.describe(t) for t in self.pool]))
        self.differentiate()
        return self.log

    def describe(self, t):
        return t.detach().numpy().copy(), t.requires_grad, self.history(t)

    def history(self, t):
        """Has the tensor a recorded source? Views that lost theirs say so by an error."""
        try:
            return t.grad_fn is not None
        except RuntimeError:
            return "lost"

    def view(self):
        t = self.pick(1)
        made = self.view_of(t)
        self.enter(made, self.family[id(t)])
        return made

    def view_of(self, t):
        d = self.dim(t)
        size = t.shape[d]
        kind = self.random.choice(["select", "slice", "narrow", "transpose", "permute", "expand", "view", "reshape", "diagonal", "unbind",
                                   "split", "detach", "unsqueeze", "squeeze", "index", "flatten", "T", "chunk", "view_as"])
        if kind == "select":
            return [t.select(d, self.random.randrange(-size, size))]
        if kind == "slice":
            return [t[(slice(None),) * (d % t.ndim) + (self.slice(size),)]]
        if kind == "narrow":
            start = self.random.randrange(0, size)
            return [t.narrow(d, start, self.random.randrange(1, size - start + 1))]
        if kind == "transpose":
            return [t.transpose(d, self.dim(t))]
        if kind == "permute":
            order = list(range(t.ndim))
            self.random.shuffle(order)
            return [t.permute(*order)]
        if kind == "expand":
            return [t.unsqueeze(0).expand(2, *[-1] * t.ndim)]
        if kind == "view":
            return [t.view(-1)]
        if kind == "reshape":
            return [t.reshape(-1, 1)]
        if kind == "diagonal":
            return [t.diagonal(self.random.choice([0, 1, -1]), 0, 1)]
        if kind == "unbind":
            return [self.random.choice(t.unbind(d))]
        if kind == "split":
            return [self.random.choice(t.split(2, d))]
        if kind == "chunk":
            return [self.random.choice(t.chunk(2, d))]
        if kind == "detach":
            return [t.detach()]
        if kind == "unsqueeze":
            return [t.unsqueeze(d)]
        if kind == "squeeze":
            return [t.squeeze()]
        if kind == "index":
            return [t[None, ..., self.random.randrange(0, t.shape[-1])]]
        if kind == "flatten":
            return [t.flatten()]
        if kind == "view_as":
            return [t.view_as(self.data(tuple(t.shape)))]
        return [t.t()]

    def write(self):
        t = self.pick()
        if is_expanded(t):        # PyTorch fills expanded tensors, and refuses other writes; here all are refused
            return [t.add_(1)]
        name = self.random.choice(["add_", "add_", "mul_", "mul_", "sub_", "div_", "copy_", "fill_", "zero_", "exp_", "tanh_", "sigmoid_",
                                   "neg_", "clamp_", "pow_", "sqrt_", "reciprocal_"])
        if name in ("add_", "mul_", "sub_", "div_"):
            return [self.in_place(t, name, self.operand(t, self.family[id(t)]))]
        if name == "copy_":
            source = self.operand(t, self.family[id(t)])
            return [t.copy_(source if hasattr(source, "ndim") else self.data(()))]
        if name == "fill_":
            scalars = [s for s in self.pool if s.ndim == 0]
            return [t.fill_(self.random.choice([1.5, *scalars[:1]]))]
        if name == "clamp_":
            return [self.in_place(t, name, 0.25, 1.25)]
        if name == "pow_":
            return [self.in_place(t, name, 2)]
        return [getattr(t, name)()]

    def in_place(self, t, name, *args):
        """`t.name(*args)`. Where its gradient needs what it overwrites, we keep a copy, but PyTorch refuses backward: there
        the same is spelled with a copy."""
        if self.m is torch and name != "add_":
            return t.copy_(getattr(t.clone(), name[:-1])(*[a.clone() if a is t else a for a in args]))
        return getattr(t, name)(*args)

    def set_item(self):
        t = self.pick(1)           # PyTorch's indexed and masked writes to expanded tensors are deprecated; here they are refused
        d = self.dim(t) % t.ndim
        size = t.shape[d]
        if is_expanded(t):
            return []
        index = self.random.choice([self.random.randrange(0, max(size, 1)), self.slice(size), self.integers(max(size, 1), (2,))])
        index = (slice(None),) * d + (index,)
        t[index] = self.operand(t.detach()[index], self.family[id(t)])
        return [t]

    def masked_write(self):
        t = self.pick(1)
        if is_expanded(t):
            return []
        kind = self.random.choice(["masked_fill_", "setitem", "where", "index_add_", "index_fill_", "masked_scatter"])
        if kind == "masked_fill_":
            return [t.masked_fill_(self.mask(tuple(t.shape)), 0.75)]
        if kind == "where":
            return [self.m.where(self.mask(tuple(t.shape)), t, self.operand(t, None))]
        if kind == "index_add_":
            index = self.integers(t.shape[0], (2,))
            return [t.index_add_(0, index, self.data((2, *t.shape[1:])))]
        if kind == "index_fill_":
            return [t.index_fill_(0, self.integers(t.shape[0], (2,)), 0.5)]
        mask = self.mask(tuple(t.shape))
        t[mask] = self.random.choice([0.5, self.data(())])
        return [t]

    def write_unrecorded(self):
        t = self.pick()
        with self.m.no_grad():
            self.random.choice([lambda: t.mul_(1.5), lambda: t.add_(self.data(())), lambda: t.detach().mul_(1.25)])()
        return [t]

    def read(self):
        t = self.pick()
        kind = self.random.choice(["mul", "add", "exp", "sum", "mean", "sigmoid", "tanh", "clone", "square", "cat"])
        if kind in ("mul", "add"):
            return [getattr(t, kind)(self.operand(t, None))]
        if kind == "square":
            return [t * t]
        if kind == "cat":
            return [self.m.stack([t, t * 2])]
        return [getattr(t, kind)()]

    def index_read(self):
        t = self.pick(1)
        kind = self.random.choice(["list", "tensor", "mask", "index_select", "gather"])
        if kind == "mask":
            return [t[self.mask(tuple(t.shape))]]
        index = self.integers(t.shape[0], (3,))
        if kind == "index_select":
            return [t.index_select(0, index)]
        if kind == "gather":
            source = t.clone() if self.m is torch else t       # PyTorch keeps the source, and objects to writes, for its shape alone
            return [source.gather(0, self.integers(t.shape[0], tuple(t.shape)))]
        return [t[index.tolist() if kind == "list" else index]]

    # -- the end
    def differentiate(self):
        used = [t for t in self.pool if t.requires_grad and self.history(t) != "lost"][-6:]
        weights = [self.data(tuple(t.shape)) for t in used]
        twice = self.random.random() < 0.5
        try:
            loss = sum((t * t * w).sum() if twice else (t * w).sum() for t, w in zip(used, weights))
            grads = self.m.autograd.grad(loss, self.leaves, create_graph=twice, allow_unused=True)
            self.log.append(("grads", [None if g is None else (g.detach().numpy(), g.requires_grad) for g in grads]))
            smooth = [g for g in grads if g is not None and g.requires_grad]
            if twice and smooth:
                second = self.m.autograd.grad(sum((g * g).sum() for g in smooth), self.leaves, allow_unused=True)
                self.log.append(("second", [None if g is None else (g.numpy(),) for g in second]))
        except Exception as error:
            self.errors[len(self.log)] = error
            self.log.append(("grads", type(error).__name__))


def broadcasts(shape, target):
    return len(shape) <= len(target) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(target)))


def is_expanded(t):
    return t.numel() and any(step == 0 and size > 1 for step, size in zip(t.stride(), t.shape))


def agree(ours, theirs):
    """None where two logged values agree, else what differs."""
    if isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        if len(ours) != len(theirs):
            return f"{len(ours)} and {len(theirs)} results: {ours} {theirs}"
        return next((d for d in map(agree, ours, theirs) if d is not None), None)
    if isinstance(theirs, np.ndarray) and isinstance(ours, np.ndarray):
        same = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)
        return None if same else f"{ours}\nbut PyTorch's\n{theirs}"
    return None if type(ours) is type(theirs) and ours == theirs else f"{ours!r} but PyTorch's {theirs!r}"


@pytest.mark.parametrize("block", range(20))
def test_programs_agree(block):
    for seed in range(20 * block, 20 * block + 20):
        theirs, ours = Program(torch, seed), Program(pyx_tensor, seed)
        theirs.run(), ours.run()
        for step, (a, b) in enumerate(zip(ours.log, theirs.log)):
            difference = agree(a, b)
            assert difference is None, f"seed {seed}, step {step} ({b[0]}): {difference}\n{ours.errors.get(step)!r}\n{theirs.errors.get(step)!r}"
        assert len(ours.log) == len(theirs.log)


def test_programs_reach_what_they_are_for():
    """Gradients, second gradients and refused writes all occur often."""
    logs = [Program(torch, seed).run() for seed in range(100)]
    flat = [entry for log in logs for entry in log]
    assert sum(name == "grads" and not isinstance(value, str) for name, value in flat) > 60
    assert sum(name == "second" for name, _ in flat) > 10
    assert sum(isinstance(value, str) for _, value in flat) > 50
