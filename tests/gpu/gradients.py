"""gradcheck of every differentiable operation's samples on the CUDA device, in float64."""
from start import OPTIONS, Part, torch

from op_samples import HERMITIAN, RANDOM, Maker, S, calls
from pyx_tensor.autograd import gradcheck
from pyx_tensor.core.definitions import functions

# As in tests/test_ops.py: derivatives that are 0 or 1 by definition, or of one operand.
FLAT = {"floor", "ceil", "trunc", "round", "sign", "nextafter", "copysign", "heaviside", "frac", "remainder", "fmod", "frexp", "ctc_loss", "igamma", "igammac"}


def leaves(x):
    if isinstance(x, torch.Tensor):
        x = x.detach().to("cuda")
        return x.requires_grad_() if x.dtype.is_floating_point else x
    return type(x)(map(leaves, x)) if type(x) in (list, tuple) else x


def check(name):
    c = calls(name, Maker(torch, "float64"))[0]
    args, kwargs = [leaves(a) for a in c.args], {k: leaves(v) for k, v in c.kwargs.items()}
    flat = [a for arg in args for a in (arg if isinstance(arg, list) else [arg])]
    if not any(isinstance(a, torch.Tensor) and a.requires_grad and 0 < a.numel() <= 64 for a in flat):
        return

    def function(*given):
        given = iter(given)
        operands = [[next(given) for _ in a] if isinstance(a, list) else next(given) for a in args]
        if name in HERMITIAN:
            operands[0] = (operands[0] + operands[0].mH) / 2
        results = functions[name](*operands, **kwargs)
        found = results if isinstance(results, (tuple, list)) else (results,)
        return tuple(r for r in found if r.dtype.is_floating_point and r.requires_grad)

    assert gradcheck(function, tuple(flat), atol=1e-4)


part = Part("gradients")
part.each(sorted(n for n in set(S) - RANDOM - FLAT if not functions[n].op.nograd and (not OPTIONS.rest or n in OPTIONS.rest)), check)
part.end()
