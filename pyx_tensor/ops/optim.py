"""The steps of optimizers over lists of tensors: one operation a step, which writes to its tensors in place.

All tensors of a call have one device and one dtype. Nothing is recorded, but where grad mode is on (a differentiable step): then
the operation's body runs over the tensors.
"""
from ..core.definitions import op
from ..core.mode import is_grad_enabled
from ..core.operands import prepare_write
from ..core.record import namespace as B
from ..core.signature import Raws

_OPTIONS = dict(nograd=True, method=False, hidden=True)


@op(**_OPTIONS, entry="sgd_step_")
def _sgd_step(B, params: Raws, grads: Raws, bufs: Raws, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    """One step of gradient descent; `bufs` is empty without momentum, `first` says which buffers have no
    content yet."""
    for place, (param, grad) in enumerate(zip(params, grads)):
        grad = _direction(B, param, grad, weight_decay, maximize)
        if momentum:
            buffer = bufs[place]
            if first[place]:
                buffer.copy_(grad)
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = B.add(grad, buffer, alpha=momentum) if nesterov else buffer
        param.add_(grad, alpha=-lr)


@op(**_OPTIONS, entry="adam_step_")
def _adam_step(B, params: Raws, grads: Raws, exp_avgs: Raws, exp_avg_sqs: Raws, max_exp_avg_sqs: Raws, steps: Raws, lr,
               beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize):
    """One step of Adam; `steps`, 0-dim tensors, count each parameter's steps so far and are increased; `max_exp_avg_sqs` is
    empty without `amsgrad`."""
    for place, (param, grad, mean, square) in enumerate(zip(params, grads, exp_avgs, exp_avg_sqs)):
        grad = _direction(B, param, grad, 0 if decoupled else weight_decay, maximize)
        if decoupled and weight_decay:
            param.mul_(1 - lr * weight_decay)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if amsgrad:
            largest = max_exp_avg_sqs[place]
            square = largest.copy_(B.maximum(largest, square))
        step = float(steps[place].add_(1))
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        spread = B.add(B.div(B.sqrt(square), correction2**0.5), eps)
        if is_grad_enabled():
            mean = B.clone(mean)          # which the next step writes to
        param.addcdiv_(mean, spread, value=-lr / correction1)


def _direction(B, param, grad, weight_decay, maximize):
    """The gradient to descend along."""
    if maximize:
        grad = B.neg(grad)
    return B.add(grad, param, alpha=weight_decay) if weight_decay else grad


def sgd_step_(params, grads, bufs, *, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    """`_sgd_step`, which writes to `params` and `bufs`."""
    _run(_sgd_step, (params, bufs), params, grads, bufs, lr, momentum, dampening, weight_decay, nesterov, maximize, first)


def adam_step_(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, *, lr, beta1, beta2, eps, weight_decay, decoupled,
               amsgrad, maximize):
    """`_adam_step`, which writes to all of its lists but `grads`."""
    _run(_adam_step, (params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps), params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
         steps, lr, beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize)


def _run(step, written, *args):
    """Run a step. Unrecorded, check first that the tensors in the lists may be written to, and count the write: a kernel does not."""
    if is_grad_enabled():
        step.op.definition(B, *args)
        return
    for tensors in written:
        for tensor in tensors:
            prepare_write(tensor)
    step(*args)
