"""Connectionist temporal classification (Graves et al., 2006): the likelihood of labels without an alignment.

Labels l_1 … l_S with blanks between them and at both ends make 2S + 1 states. `alpha[t, n, s]` is the logarithm of the
probability of all paths that are in state s after step t, `beta[t, n, s]` of all that go on from there (without step t's own).
"""
import math

from ..core.definitions import op
from ..core.signature import Raw, T


def _states(B, targets, blank):
    """The labels with blanks, (N, 2S + 1), and where a state may be entered from the one before the last."""
    batch, size = targets.shape
    states = B.full((batch, 2 * size + 1), blank, dtype=targets.dtype, device=targets.device)
    states[:, 1::2] = targets
    skips = B.zeros_like(states).bool()
    skips[:, 2:] = B.logical_and(B.ne(states[:, 2:], blank), B.ne(states[:, 2:], states[:, :-2]))
    return states, skips


def _shifted(B, x, places):
    """x with its columns moved to the right (or left), -inf coming in."""
    if abs(places) >= x.shape[1]:
        return B.full_like(x, -math.inf)
    edge = B.full((x.shape[0], abs(places)), -math.inf, dtype=x.dtype, device=x.device)
    return B.cat((edge, x[:, :-places]) if places > 0 else (x[:, -places:], edge), 1)


def _log_sum(B, *terms):
    total = terms[0]
    for term in terms[1:]:
        total = B.logaddexp(total, term)
    return total


def _only(B, allowed, x):
    return B.masked_fill(x, B.logical_not(allowed), -math.inf)


def _column(B, lengths, like):
    return B.unsqueeze(B.tensor(lengths, device=like.device), 1)


def _forward(B, emissions, skips, input_lengths, target_lengths):
    """(alpha (T + 1, N, states): before the first step and after each; the negative log likelihoods (N))."""
    first = B.full_like(skips, -math.inf, dtype=emissions.dtype)
    alphas, lengths, last = [], _column(B, input_lengths, skips), 2 * _column(B, target_lengths, skips)
    alpha = first
    for t, emission in enumerate(B.unbind(emissions, 0)):
        if t == 0:
            moved = first.clone()
            moved[:, :2] = 0
        else:
            moved = _log_sum(B, alpha, _shifted(B, alpha, 1), _only(B, skips, _shifted(B, alpha, 2)))
        alpha = B.where(B.gt(lengths, t), B.add(moved, emission), alpha)
        alphas.append(alpha)
    ends = B.gather(alpha, 1, last)
    before = B.where(B.gt(last, 0), B.gather(alpha, 1, B.clamp(B.sub(last, 1), 0)), ends - math.inf)
    total = B.squeeze(B.logaddexp(ends, before), 1)
    empty = [not (steps or labels) for steps, labels in zip(input_lengths, target_lengths)]
    return alphas, B.neg(B.masked_fill(total, B.tensor(empty, device=total.device), 0))


def _posteriors(B, emissions, skips, input_lengths, target_lengths):
    """The probability of each state at each step, given the labels, (T, N, states)."""
    alphas, losses = _forward(B, emissions, skips, input_lengths, target_lengths)
    columns = B.arange(skips.shape[1], device=skips.device)
    lengths, last = _column(B, input_lengths, skips), 2 * _column(B, target_lengths, skips)
    ends = B.logical_or(B.eq(columns, last), B.logical_and(B.eq(columns, B.sub(last, 1)), B.gt(last, 0)))
    end = _only(B, ends, B.zeros_like(alphas[0]))
    beta, found = end, []
    entered = B.cat((skips[:, 2:], B.zeros_like(skips[:, :2])), 1)
    for t in range(len(alphas) - 1, -1, -1):
        if t + 1 < len(alphas):
            onward = B.add(beta, emissions[t + 1])
            onward = _log_sum(B, onward, _shifted(B, onward, -1), _only(B, entered, _shifted(B, onward, -2)))
            beta = B.where(B.gt(lengths, t + 1), onward, end)
        found.append(B.exp(B.add(B.add(alphas[t], beta), B.unsqueeze(losses, 1))))
    return B.stack(found[::-1]), losses


def _emissions(B, log_probs, states):
    return B.gather(log_probs, 2, B.expand(B.unsqueeze(states, 0), (log_probs.shape[0], *states.shape)))


@op(method=False, hidden=True, entry="ctc_loss", aux=("alpha",), grad_name="CtcLoss", vjp=dict(
    log_probs=lambda B, g, y, log_probs, targets, input_lengths, target_lengths, blank, alpha:
        B.ctc_loss_backward(g, log_probs, targets, input_lengths, target_lengths, blank, y, alpha)))
def _ctc_loss(B, log_probs: T, targets: Raw, input_lengths, target_lengths, blank):
    """The negative log likelihood of each row's labels: log_probs (T, N, C), targets (N, S), lengths lists of N numbers.

    Hidden output: what a kernel keeps for its backward.
    """
    states, skips = _states(B, targets, blank)
    return _forward(B, _emissions(B, log_probs, states), skips, input_lengths, target_lengths)[1], None


def _no_second_derivative(B, g):
    raise RuntimeError("derivative for ctc_loss_backward is not implemented")


@op(method=False, hidden=True, vjp={("g", "log_probs"): _no_second_derivative})
def ctc_loss_backward(B, g: T, log_probs: T, targets: Raw, input_lengths, target_lengths, blank, losses: Raw, alpha: Raw):
    """The gradient of _ctc_loss's log_probs, taken to be normalised, as PyTorch's: it vanishes where the model is right."""
    states, skips = _states(B, targets, blank)
    posteriors, losses = _posteriors(B, _emissions(B, log_probs, states), skips, input_lengths, target_lengths)
    places = B.expand(B.unsqueeze(states, 0), posteriors.shape)
    seen = B.scatter_add(B.zeros_like(log_probs), 2, places, posteriors)
    steps = B.reshape(B.arange(log_probs.shape[0], device=g.device), (-1, 1, 1))
    over = B.ge(steps, B.reshape(_column(B, input_lengths, g), (1, -1, 1)))
    slope = B.masked_fill(B.mul(B.sub(B.exp(log_probs), seen), B.reshape(g, (1, -1, 1))), B.reshape(B.isinf(losses), (1, -1, 1)), math.nan)
    return B.masked_fill(slope, B.logical_or(over, B.reshape(B.eq(g, 0), (1, -1, 1))), 0)


def _lengths(name, lengths, batch, most, where):
    given = lengths.tolist() if hasattr(lengths, "tolist") else lengths
    given = list(given) if isinstance(given, (list, tuple)) else [given]
    if any(not isinstance(length, int) for length in given):
        raise RuntimeError(f"{name} must be integral")
    if len(given) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    for length in given:
        if not 0 <= length <= most:
            bound = f"at least 0, but got value {length}" if length < 0 else f"at most {most}, but got value {length}"
            raise RuntimeError(f"Expected {name} to have value {bound} (while checking arguments for {where})")
    return given


def _padded_targets(B, targets, target_lengths, batch, where):
    """Targets as (N, S), and their lengths."""
    size = targets.shape[1] if targets.ndim == 2 else targets.shape[0]
    lengths = _lengths("target_lengths", target_lengths, batch, 1 << 62, where)
    if targets.ndim == 1:
        if sum(lengths) != size:
            raise RuntimeError(f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {size} for argument #2 'targets' (while checking "
                               f"arguments for {where})")
        widest = max(lengths, default=0)
        targets = B.stack([B.cat((part, B.zeros(widest - part.shape[0], dtype=part.dtype, device=part.device)))
                           for part in B.split(targets, lengths, 0)])
    elif targets.ndim != 2 or targets.shape[0] != batch:
        raise RuntimeError(f"ctc_loss: expected targets of shape (N, S) with N = {batch}, or (sum of lengths), got {list(targets.shape)}")
    elif max(lengths, default=0) > size:
        raise RuntimeError(f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size {size} for argument #2 'targets' (while "
                           f"checking arguments for {where})")
    return targets, lengths


@op(method=False)
def ctc_loss(B, log_probs: T, targets: Raw, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """The negative log likelihood of label sequences under all their alignments (Graves et al., 2006).

    Args:
        log_probs: (T, N, C) or (T, C), logarithms of probabilities. targets: (N, S), or all sequences one after another.
        input_lengths, target_lengths: N numbers each.
        blank: the class that stands for no label.
        reduction: 0 for each loss, 1 for the mean of losses over target lengths, 2 for the sum.
        zero_infinity: infinite losses (of inputs that are too short), and their gradients, count as 0.

    Raises:
        RuntimeError: lengths, targets or the blank don't fit.
    """
    where = "ctc_loss_allocate_outputs"
    single = log_probs.ndim == 2
    if single:
        log_probs, targets = B.unsqueeze(log_probs, 1), B.unsqueeze(targets, 0) if targets.ndim == 1 else targets
    if log_probs.ndim != 3:
        raise RuntimeError(f"ctc_loss: expected log_probs of shape (T, N, C) or (T, C), got {list(log_probs.shape)}")
    steps, batch, classes = log_probs.shape
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    input_lengths = _lengths("input_lengths", input_lengths, batch, steps, where)
    targets, target_lengths = _padded_targets(B, targets, target_lengths, batch, where)
    widest = max(target_lengths, default=0)
    targets = (targets if targets.shape[1] == widest else targets[:, :widest]).long()
    if min(target_lengths, default=0) < widest:
        counted = B.lt(B.arange(widest, device=targets.device), _column(B, target_lengths, targets))
        targets = B.masked_fill(targets, B.logical_not(counted), blank)
    if targets.numel() and not 0 <= int(targets.min()) <= int(targets.max()) < classes:
        raise RuntimeError(f"ctc_loss: targets must be classes of [0, {classes}), got values from {int(targets.min())} to {int(targets.max())}")
    loss = B._ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)
    if zero_infinity:
        loss = B.where(B.isinf(loss), B.zeros_like(loss), loss)
    if reduction == 1:
        return B.mean(B.div(loss, B.tensor([max(n, 1) for n in target_lengths], dtype=loss.dtype, device=loss.device)))
    return B.sum(loss) if reduction == 2 else B.squeeze(loss, 0) if single else loss
