"""A step length that satisfies the strong Wolfe conditions (Nocedal, Wright, Numerical Optimization, section 3.5)."""
import math
from typing import Any, NamedTuple

DECREASE = 1e-4  # how much of the decrease that the slope promises there must be
FLATTENING = 0.9  # how much of the slope may be left


class Point(NamedTuple):
    """A point of the line: its step length, the loss there, its gradient and the gradient's part along the line."""

    step: float
    loss: float
    gradient: Any
    slope: float


def cubic_minimum(a, b, low=None, high=None):
    """The step length of the minimum of the cubic through two points, within [low, high] (between them by default)."""
    if low is None:
        low, high = min(a.step, b.step), max(a.step, b.step)
    mean = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = mean * mean - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    root = math.sqrt(square)
    first, last = (a, b) if a.step <= b.step else (b, a)
    step = last.step - (last.step - first.step) * (last.slope + root - mean) / (last.slope - first.slope + 2 * root)
    return min(max(step, low), high)


def strong_wolfe(evaluate, start, step, direction_size, tolerance_change, max_evaluations):
    """(the point found, the number of evaluations).

    Args:
        evaluate: function(step length) -> :class:`Point`.
        start: the point of step length 0, whose slope is negative.
        step: the length to try first.
        direction_size: the largest component of the direction.
        tolerance_change: the search ends where the bracket, times ``direction_size``, is smaller.
        max_evaluations: a bound on the tries after the first.
    """
    bracket, evaluations, done = _find_bracket(evaluate, start, step, max_evaluations)
    if not done:
        bracket, evaluations = _shrink(evaluate, start, bracket, evaluations, direction_size, tolerance_change, max_evaluations)
    return min(bracket, key=lambda point: point.loss), evaluations


def _descends(point, start):
    return point.loss <= start.loss + DECREASE * point.step * start.slope


def _is_flat(point, start):
    return abs(point.slope) <= -FLATTENING * start.slope


def _find_bracket(evaluate, start, step, max_evaluations):
    """(two points between which there is a good one, evaluations, False), or (one good point, evaluations, True)."""
    before, point = start, evaluate(step)
    for tries in range(max_evaluations):
        if not _descends(point, start) or (tries > 1 and point.loss >= before.loss):
            return [before, point], tries + 1, False
        if _is_flat(point, start):
            return [point], tries + 1, True
        if point.slope >= 0:
            return [before, point], tries + 1, False
        step = cubic_minimum(before, point, point.step + 0.01 * (point.step - before.step), point.step * 10)
        before, point = point, evaluate(step)
    return [start, point], max_evaluations + 1, False


def _shrink(evaluate, start, bracket, evaluations, direction_size, tolerance_change, max_evaluations):
    """(the bracket made smaller until its better point is good, evaluations)."""
    best, other = sorted(bracket, key=lambda point: point.loss)
    near_the_edge = False
    while evaluations <= max_evaluations and abs(other.step - best.step) * direction_size >= tolerance_change:
        step, near_the_edge = _inner_step(best, other, near_the_edge)
        point = evaluate(step)
        evaluations += 1
        if not _descends(point, start) or point.loss >= best.loss:
            best, other = sorted((best, point), key=lambda p: p.loss)
        elif _is_flat(point, start):
            return [point], evaluations
        else:
            if point.slope * (other.step - best.step) >= 0:
                other = best
            best = point
    return [best, other], evaluations


def _inner_step(best, other, near_the_edge):
    """(a length inside of the bracket, whether it lies near an edge): twice in a row near one, it is moved inwards."""
    low, high = sorted((best.step, other.step))
    step, margin = cubic_minimum(best, other), 0.1 * (high - low)
    if min(high - step, step - low) >= margin:
        return step, False
    if near_the_edge or not low < step < high:
        return (high - margin if abs(step - high) < abs(step - low) else low + margin), False
    return step, True
