"""Autocast and gradient scaling against PyTorch: which dtype comes out, and the same training."""
import pytest
import torch
from nn_support import assert_close, both

import pyx_tensor as pt

CALLS = """
x @ x | torch.mm(x, x) | torch.bmm(b, b) | torch.mv(x, v) | torch.dot(v, v) | torch.addmm(x, x, x) | torch.addbmm(x, b, b)
torch.baddbmm(b, b, b) | torch.addmv(v, x, v) | torch.addr(x, v, v) | torch.chain_matmul(x, x, x) | torch.outer(v, v) | torch.vdot(v, v)
torch.inner(x, x) | torch.einsum('ij,jk', x, x) | torch.kron(x, x) | torch.tensordot(x, x) | F.linear(x, x) | F.linear(x, x, v)
F.bilinear(x, x, torch.rand(2, 4, 4)) | F.embedding(torch.tensor([1]), x) | F.prelu(x, v[:1]) | torch.matrix_power(x, 3)
x + x | x * x | x + h | x.exp() | h.exp() | x.sum() | h.sum() | x.softmax(0) | h.softmax(0) | h.log_softmax(0) | F.gelu(h) | F.layer_norm(h, (4,))
F.relu(h) | h.tanh() | h.abs().pow(2.5) | h.prod() | h.cumsum(0) | h.norm() | h.var() | h.mean() | p.log() | p.rsqrt() | h.trace()
h.logsumexp(0) | h.diff() | h.erfinv() | torch.quantile(x, 0.5) | torch.cdist(x, x)
F.mse_loss(h, h) | F.l1_loss(h, h) | F.smooth_l1_loss(h, h) | F.huber_loss(h, h) | F.nll_loss(h, n) | F.cross_entropy(h, n)
F.binary_cross_entropy(p, p) | F.binary_cross_entropy_with_logits(h, p) | F.kl_div(h, p) | F.cosine_embedding_loss(h, h, torch.ones(4))
F.cosine_similarity(h, h) | F.hinge_embedding_loss(h, h) | F.margin_ranking_loss(h[0], h[0], h[0]) | F.multilabel_margin_loss(h, z)
F.multi_margin_loss(h, n) | F.poisson_nll_loss(h, p) | F.triplet_margin_loss(h, h, h) | F.soft_margin_loss(h, h)
F.gaussian_nll_loss(h, h, p) | torch.cat([x, h]) | torch.stack([x, h]) | x.double() @ x.double() | h @ h | x.int() @ x.int()
torch.nn.LSTM(4, 3)(b)[0] | torch.nn.GRU(4, 3)(b)[0] | torch.nn.RNNCell(4, 3)(x) | torch.nn.LSTMCell(4, 3)(x)[0] | torch.nn.GRUCell(4, 3)(x)
torch.nn.Conv2d(2, 3, 3)(torch.rand(1, 2, 8, 8)) | torch.nn.ConvTranspose1d(2, 3, 3)(torch.rand(1, 2, 8)) | F.scaled_dot_product_attention(b, b, b)
torch.nn.MultiheadAttention(4, 2)(b, b, b)[0] | F.avg_pool3d(torch.rand(1, 2, 4, 4, 4).to(h.dtype), 2) | F.max_pool2d(torch.rand(1, 2, 4, 4).to(h.dtype), 2)
F.max_pool3d(torch.rand(1, 2, 4, 4, 4).to(h.dtype), 2) | torch.linalg.inv(x) | torch.linalg.svdvals(h) | torch.linalg.solve(h, h) | torch.matrix_exp(x)
F.grid_sample(torch.rand(1, 2, 4, 4).to(h.dtype), torch.rand(1, 3, 3, 2)) | torch.cov(x)
torch.where(x > 0, x, h) | x.half().exp() | x.half() @ x.half() | x @ h | torch.mm(x, x, out=torch.empty(4, 4)) | x.clone().addmm_(x, x)
torch.nn.Linear(4, 2)(x) | torch.atan2(h, h) | h.reciprocal() | h.tril() | F.mse_loss(x, x)
"""


def result_dtype(t, call, **options):
    x, v, b = t.rand(4, 4), t.rand(4), t.rand(2, 4, 4)
    h = x.to(t.bfloat16)
    names = dict(torch=t, F=t.nn.functional, x=x, v=v, b=b, h=h, p=(x * 0.8 + 0.1).to(t.bfloat16), n=t.tensor([1] * 4), z=t.zeros(4, 4, dtype=t.int64))
    with t.autocast("cpu", **options):
        return str(eval(call, names).dtype)


@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ")])
def test_dtypes_inside_of_autocast(call):
    ours, theirs = both(lambda t: result_dtype(t, call))
    assert ours == theirs


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_training_with_a_scaler(dtype):
    def train(t):
        net = t.nn.Sequential(t.nn.Linear(4, 16), t.nn.ReLU(), t.nn.Linear(16, 3))
        optimizer = t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        scaler = t.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
        x, y = t.randn(32, 4), t.randint(0, 3, (32,))
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            with t.autocast("cpu", dtype=getattr(t, dtype)):
                loss = t.nn.functional.cross_entropy(net(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            t.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.detach())
        return losses, scaler.state_dict()
    (ours, our_state), (theirs, their_state) = both(train)
    for a, b in zip(ours, theirs):
        assert_close(a, b, rtol=2e-2, atol=1e-2)
    assert our_state == their_state


def test_gradients_through_autocast():
    def run(t):
        w, x = t.rand(4, 4, requires_grad=True), t.rand(4, 4)
        with t.autocast("cpu"):
            y = (x @ w).relu() @ w
        y.float().sum().backward()
        return w.grad
    assert_close(*both(run), rtol=2e-2, atol=2e-2)


def test_scaler_states_go_both_ways():
    for source, target in ((pt, torch), (torch, pt)):
        state = source.amp.GradScaler("cpu", init_scale=8.0).state_dict()
        scaler = target.amp.GradScaler("cpu")
        scaler.load_state_dict(state)
        assert scaler.get_scale() == 8.0 and scaler.state_dict() == state
