"""The functions of the lists give on another device what they give on the CPU (row S382): on the reference backend, and on CUDA where there is some."""
import pytest

import pyx_tensor as torch

DEVICES = ["reference"] + ["cuda"] * torch.cuda.is_available()

# by the letters of `operands`
CALLS = """
abs(x)  acos(u)  add(x, 2)  add(x, x, alpha=3)  addcdiv(x, x, x, value=2)  addcmul(x, x, x, value=2)  asin(u)  atan(x)  atan2(x, u)  ceil(x)  clamp(x, -1, 1)  clamp(x, min=0)
cos(x)  cosh(x)  div(x, 4)  exp(x)  floor(x)  fmod(x, 1.5)  frac(x)  lerp(x, u, 0.3)  log(u)  log1p(u)  mul(x, -2)  mul(x, u)  neg(x)  pow(u, 1.5)  pow(2, x)  reciprocal(x)
remainder(x, -1.5)  round(x)  rsqrt(u)  sigmoid(x)  sign(x)  sin(x)  sinh(x)  sqrt(u)  tan(x)  tanh(x)  trunc(x)
cumprod(x, 1)  cumsum(x, 0)  dist(x, u)  mean(x)  mean(x, 1)  median(x)  median(x, -1)  mode(i, -1)  norm(x)  norm(x, 3, 1)  prod(x)  prod(x, 1)  std(x)  std(x, 0)  sum(x)
sum(x, 1, keepdim=True)  var(x)  var(x, 1, keepdim=True)
eq(x, u)  equal(x, x)  ge(x, 1)  gt(x, u)  kthvalue(x, 2)  le(x, u)  lt(x, 1)  ne(x, u)  max(x)  max(x, 1)  max(x, u)  min(x)  min(x, 0)  min(x, u)  sort(x, 1, True)  topk(x, 2)
cat((x, u), 1)  chunk(x, 2, 1)  gather(x, 1, i)  index_select(x, 1, j)  masked_select(x, u > 0.5)  nonzero(i)  split(x, 2, 1)  squeeze(b)  stack((x, u))  t(x)  transpose(b, 0, 2)
unbind(x, 1)  unsqueeze(x, -1)
cross(s, s.t(), dim=0)  diag(v, 1)  diag(x)  histc(x, 4, -1, 3)  renorm(x, 2, 0, 1.0)  trace(s)  tril(x)  triu(x, 1)
addbmm(s, b, b)  addmm(s, s, s, beta=2, alpha=3)  addmv(v, s, v)  addr(s, v, v)  baddbmm(b, b, b)  bmm(b, b)  dot(v, v)  ger(v, v)  mm(s, s)  mv(s, v)  inverse(s)
geqrf(s)  orgqr(s, v)  ormqr(s, v, s)  qr(s)  svd(s)  gesv(v[:, None], s)  gels(v[:, None], s)  btrifact(b)  eig(s)  potrf(s)  potri(s)  potrs(v[:, None], s)  pstrf(s)  symeig(s)
trtrs(v[:, None], s)
"""


def operands(device):
    s = torch.tensor([[4.0, 1.0, 0.5], [1.0, 5.0, -1.0], [0.5, -1.0, 6.0]], dtype=torch.float64)
    made = dict(
        x=torch.tensor([[1.5, -2.25, 3.5], [-0.5, 0.25, -4.0]], dtype=torch.float64), u=torch.tensor([[0.5, 0.25, 1.0], [0.125, 0.75, 0.875]], dtype=torch.float64),
        i=torch.tensor([[0, 2, 2], [1, 0, 0]]), j=torch.tensor([2, 0]), v=torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64), s=s, b=torch.stack([s]))
    return {name: tensor.to(device) for name, tensor in made.items()}


@pytest.mark.rows("S382")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().splitlines() for call in line.split("  ")])
def test_the_same_result(call, device):
    here, there = (eval("torch." + call, {"torch": torch, **operands(place)}) for place in ("cpu", device))         # noqa: S307 (the table above)
    if not isinstance(here, (tuple, list)):
        here, there = [here], [there]
    for expected, found in zip(here, there, strict=True):
        if not torch.is_tensor(expected):
            assert found == expected
            continue
        assert found.device.type == device
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-9, atol=1e-9)
