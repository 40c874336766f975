"""The steps of optimizers over lists of tensors: one operation a step, which writes to its tensors in place.

All tensors of a call have one device and one dtype. Nothing is recorded, but where grad mode is on (a differentiable step): then
the operation's body runs over the tensors.
"""
from ..core.definitions import op
from ..core.dtype import by_name
from ..core.mode import is_grad_enabled
from ..core.operands import prepare_writes
from ..core.record import namespace as B
from ..core.signature import Raw, Raws
from .sparse_places import unique_places

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
    for place, several in enumerate(zip(params, grads, exp_avgs, exp_avg_sqs)):
        param, grad, mean, square = [_parts(B, tensor) for tensor in several]
        grad = _direction(B, param, grad, 0 if decoupled else weight_decay, maximize)
        if decoupled and weight_decay:
            param.mul_(1 - lr * weight_decay)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if amsgrad:
            largest = _parts(B, max_exp_avg_sqs[place])
            square = largest.copy_(B.maximum(_kept(largest), _kept(square)))
        step = float(steps[place].add_(1))
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        spread = B.add(B.div(B.sqrt(square), correction2**0.5), eps)
        if is_grad_enabled():
            mean = B.clone(mean)          # which the next step writes to
        param.addcdiv_(mean, spread, value=-lr / correction1)


@op(**_OPTIONS, entry="sparse_adam_step_")
def _sparse_adam_step(B, params: Raws, indices: Raws, values: Raws, exp_avgs: Raws, exp_avg_sqs: Raws, steps, lr, beta1, beta2, eps, maximize):
    """One step of Adam at the places of sparse gradients; what stands twice at a place is added up. `steps` count this one."""
    for param, at, value, mean, square, step in zip(params, indices, values, exp_avgs, exp_avg_sqs, steps):
        at, places, count = unique_places(at, param.shape)
        if not value.numel():
            continue
        at = tuple(at.unbind(0))
        value = B.index_add(value.new_zeros((count, *value.shape[1:])), 0, places, B.neg(value) if maximize else value)
        mean[at], square[at] = mean[at].lerp_(value, 1 - beta1), square[at].lerp_(value.square(), 1 - beta2)
        size = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        param[at] = param[at].addcdiv_(mean[at], square[at].sqrt().add_(eps), value=-size)


@op(**_OPTIONS, entry="rule_step_")
def _rule_step(B, params: Raws, grads: Raws, first: Raws, second: Raws, third: Raws, steps: Raws, rule, constants, weight_decay, shrink,
               eps, maximize):
    """One step of the optimizer whose `rule` stands in RULES; `first`, `second` and `third` are what it remembers (empty: nothing),
    `constants` a tuple for each parameter. Parameters are multiplied by `shrink` before; complex ones are pairs of real ones."""
    for place, (param, grad) in enumerate(zip(params, grads)):
        remembered = [_parts(B, memory[place]) if memory else None for memory in (first, second, third)]
        param, grad = _parts(B, param), _parts(B, grad)
        grad = _direction(B, param, grad, weight_decay, maximize)
        if shrink != 1:
            param.mul_(shrink)
        RULES[rule](B, param, grad, *remembered, eps, *constants[place])
        steps[place].add_(1)


@op(**_OPTIONS, entry="adafactor_step_")
def _adafactor_step(B, params: Raws, grads: Raws, first: Raws, second: Raws, steps: Raws, lr, beta2_decay, least_square, least_size, most,
                    weight_decay, maximize):
    """One step of Adafactor. Of matrices `first` and `second` are the averages of rows and columns; of vectors `first` is that of all squares,
    and `second` is empty. The step is relative to the parameter before it decays."""
    for place, (param, grad, rows, count) in enumerate(zip(params, grads, first, steps)):
        step = float(count.add_(1))
        if not param.numel():
            continue              # its means aren't numbers
        size = max(least_size, _root_mean_square(param)) * min(lr, step**-0.5)
        if weight_decay:
            param.mul_(1 - lr * weight_decay)
        new, squares = step**beta2_decay, B.mul(grad, grad)
        if second:
            rows = rows.lerp_(squares.mean(-1, keepdim=True), new)
            columns = second[place].lerp_(squares.mean(-2, keepdim=True), new)
            average = B.mul(rows, columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least_square))
        else:
            average = rows.lerp_(squares, new)
        update = average.clamp(min=least_square * least_square).rsqrt_().mul_(grad)
        param.add_(update, alpha=(size if maximize else -size) / max(1.0, _root_mean_square(update) / most))


def _root_mean_square(tensor):
    return (tensor * tensor).mean().item() ** 0.5


@op(**_OPTIONS, entry="muon_step_")
def _muon_step(B, params: Raws, grads: Raws, bufs: Raws, lr, momentum, nesterov, weight_decay, coefficients, steps, eps, factors):
    """One step of Muon: each matrix goes lr times its factor along its momentum, orthogonalized."""
    for param, grad, average, factor in zip(params, grads, bufs, factors):
        average.lerp_(grad, 1 - momentum)
        direction = B.lerp(grad, average, momentum) if nesterov else average
        direction = _newton_schulz(direction, coefficients, steps, eps).to(param.dtype)
        param.mul_(1 - lr * weight_decay).add_(direction, alpha=-lr * factor)


@op(**_OPTIONS, entry="newton_schulz")
def _newton_schulz(B, input: Raw, coefficients, steps, eps):
    """The orthogonal matrix next to one, nearly, by the iteration of Newton and Schulz in bfloat16."""
    a, b, c = coefficients
    x = _rounded(input)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.t()
    x = _rounded(x / _rounded(_rounded(x.norm()).clamp(min=eps)))
    for _ in range(steps):
        gram = _rounded(x @ x.t())
        polynomial = _rounded((gram * b).add_(gram @ gram, alpha=c))
        x = _rounded((x * a).add_(polynomial @ x))
    return x.t() if tall else x


@op(**_OPTIONS, entry="joined")
def _joined(B, tensors: Raws):
    """The elements of all tensors in one vector."""
    return B.cat([tensor.reshape(-1) for tensor in tensors])


@op(**_OPTIONS, entry="add_parts_")
def _add_parts(B, tensors: Raws, vector: Raw, alpha):
    """Add alpha times its part of the vector to each tensor."""
    for tensor, part in zip(tensors, vector.split([tensor.numel() for tensor in tensors])):
        tensor.add_(part.view(tensor.shape), alpha=alpha)


@op(**_OPTIONS, entry="lbfgs_direction")
def _lbfgs_direction(B, gradient: Raw, changes: Raws, steps: Raws, factors, scale):
    """Minus the gradient times the approximate inverse Hessian, by the two loops over the remembered changes of the gradient and the steps
    that led to them, the oldest first; each pair has a factor, one through its inner product."""
    direction, weights = B.neg(gradient), []
    pairs = list(zip(changes, steps, factors))
    for change, step, factor in reversed(pairs):
        weights.append(float(step.dot(direction)) * factor)
        direction.add_(change, alpha=-weights[-1])
    direction.mul_(scale)
    for (change, step, factor), weight in zip(pairs, reversed(weights)):
        direction.add_(step, alpha=weight - float(change.dot(direction)) * factor)
    return direction


def _rounded(matrix):
    """A float32 matrix of bfloat16's values: products of them are computed in float32 anyway, and rounded once."""
    return matrix.to(by_name["bfloat16"]).to(by_name["float32"])


def _parts(B, tensor):
    """A complex tensor as the view of its real and imaginary parts."""
    return B.view_as_real(tensor) if tensor.is_complex() else tensor


def _kept(tensor):
    """The tensor, or where the step is recorded a copy, which later writes to the tensor don't touch."""
    return tensor.clone() if is_grad_enabled() else tensor


def _rmsprop(B, param, grad, square, buffer, mean, eps, alpha, lr, momentum):
    square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if mean is not None:
        mean.lerp_(grad, 1 - alpha)
        square = square.addcmul(_kept(mean), _kept(mean), value=-1)
    root = _kept(square.sqrt()).add_(eps)
    if buffer is None:
        param.addcdiv_(grad, root, value=-lr)
    else:
        param.add_(buffer.mul_(momentum).addcdiv_(grad, root), alpha=-lr)


def _adagrad(B, param, grad, total, _, __, eps, lr):
    param.addcdiv_(grad, _kept(total.addcmul_(grad, grad).sqrt()).add_(eps), value=-lr)


def _adadelta(B, param, grad, square, moved, _, eps, rho, lr):
    square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
    delta = _kept(_kept(moved.add(eps).sqrt_()).div_(square.add(eps).sqrt_())).mul_(grad)
    moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    param.add_(delta, alpha=-lr)


def _adamax(B, param, grad, mean, largest, _, eps, share, beta2, lr):
    mean.lerp_(grad, share)
    new = B.maximum(largest.mul(beta2), grad.abs().add_(eps))
    largest.copy_(new)
    param.addcdiv_(_kept(mean), new, value=-lr)


def _nadam(B, param, grad, mean, square, _, eps, share, beta2, correction, of_gradient, of_mean):
    mean.lerp_(grad, share)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    root = _kept(square.div(correction).sqrt_()).add_(eps)
    param.addcdiv_(grad, root, value=-of_gradient)
    param.addcdiv_(_kept(mean), root, value=-of_mean)


def _radam(B, param, grad, mean, square, _, eps, share, beta2, rectified, lr):
    mean.lerp_(grad, share)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    if rectified:
        param.addcdiv_(_kept(mean), _kept(square.sqrt()).add_(eps), value=-lr)
    else:
        param.add_(mean, alpha=-lr)


def _asgd(B, param, grad, mean, _, __, eps, keep, eta, mu):
    param.mul_(keep).add_(grad, alpha=-eta)
    if mu == 1:
        mean.copy_(param)
    else:
        mean.add_(param.sub(mean), alpha=mu)


def _rprop(B, param, grad, before, size, _, eps, shrink, grow, least, most):
    agreement = grad * before
    factor = B.where(agreement > 0, grow, B.where(agreement < 0, B.full_like(grad, shrink), 1.0))
    size.mul_(factor).clamp_(least, most)
    grad = grad.masked_fill(agreement < 0, 0)
    param.sub_(grad.sign() * _kept(size))
    before.copy_(grad)


#: name -> function(B, param, grad, first, second, third, eps, *constants) that writes to all but grad
RULES = dict(rmsprop=_rmsprop, adagrad=_adagrad, adadelta=_adadelta, adamax=_adamax, nadam=_nadam, radam=_radam, asgd=_asgd, rprop=_rprop)


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


def sparse_adam_step_(params, indices, values, exp_avgs, exp_avg_sqs, steps, *, lr, beta1, beta2, eps, maximize):
    """`_sparse_adam_step`, which writes to `params` and both averages."""
    _run(_sparse_adam_step, (params, exp_avgs, exp_avg_sqs), params, indices, values, exp_avgs, exp_avg_sqs, steps, lr, beta1, beta2, eps, maximize)


def rule_step_(params, grads, first, second, third, steps, *, rule, constants, weight_decay=0.0, shrink=1.0, eps=0.0, maximize=False):
    """`_rule_step`, which writes to all of its lists but `grads`."""
    _run(_rule_step, (params, first, second, third, steps), params, grads, first, second, third, steps, rule, constants, weight_decay,
         shrink, eps, maximize)


def adafactor_step_(params, grads, first, second, steps, *, lr, beta2_decay, least_square, least_size, most, weight_decay, maximize):
    """`_adafactor_step`, which writes to all of its lists but `grads`."""
    _run(_adafactor_step, (params, first, second, steps), params, grads, first, second, steps, lr, beta2_decay, least_square, least_size, most,
         weight_decay, maximize)


def muon_step_(params, grads, bufs, *, lr, momentum, nesterov, weight_decay, coefficients, steps, eps, factors):
    """`_muon_step`, which writes to `params` and `bufs`."""
    _run(_muon_step, (params, bufs), params, grads, bufs, lr, momentum, nesterov, weight_decay, coefficients, steps, eps, factors)


def joined(tensors):
    """The elements of all `tensors` in one vector; complex ones are pairs of real ones."""
    return _joined([_parts(B, tensor) for tensor in tensors])


def add_parts_(tensors, vector, alpha):
    """Add alpha times a vector as `joined` gives it to `tensors`."""
    _run(_add_parts, (tensors,), [_parts(B, tensor) for tensor in tensors], vector, alpha)


def lbfgs_direction(gradient, changes, steps, factors, scale):
    """`_lbfgs_direction`."""
    return _lbfgs_direction(gradient, changes, steps, factors, scale)


def _run(step, written, *args):
    """Run a step. Unrecorded, check first that the tensors in the lists may be written to, and count the write: a kernel does not."""
    if is_grad_enabled():
        step.op.definition(B, *args)
        return
    for tensors in written:
        prepare_writes(tensors)
    step(*args)
