"""einsum: sums of products over labelled dims, as a sequence of matrix products."""
import functools
import string

from ..core.definitions import op
from ..core.definitions import publish_function as creates
from ..core.record import namespace
from ..core.signature import Ts

_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _product(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count


def _labels(term, ndim, ellipsis):
    """The labels of an operand's dims; those of '...' get names of their own, counted from the right."""
    if "..." not in term:
        if len(term) != ndim:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of dimensions ({ndim}) "
                               "for an operand and no ellipsis was given")
        return list(term)
    head, _, tail = term.partition("...")
    n = ndim - len(head) - len(tail)
    if n < 0:
        raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) is more than the number of dimensions ({ndim}) "
                           "for an operand")
    return [*head, *ellipsis[len(ellipsis) - n:], *tail]


@functools.lru_cache(maxsize=512)
def _parse(equation, ndims):
    """Labels of the dims of each operand and of the result, as tuples, by the operands' numbers of dims."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        raise RuntimeError(f"einsum(): {'more' if len(terms) < len(ndims) else 'fewer'} operands were provided than specified in the equation")
    for c in equation.replace("->", "").replace("...", ""):
        if c not in _LETTERS and c not in ", ":
            raise RuntimeError(f"einsum(): invalid subscript given: {c!r}, subscripts must be in [a-zA-Z]")
    spans = [ndim - len(term.replace("...", "")) for ndim, term in zip(ndims, terms) if "..." in term]
    ellipsis = [f"...{i}" for i in range(max(spans, default=0), 0, -1)]
    labels = [_labels(term, ndim, ellipsis) for ndim, term in zip(ndims, terms)]
    every = [l for ls in labels for l in ls]
    if arrow:
        result = _labels(output, len(output.replace("...", "")) + (len(ellipsis) if "..." in output else 0), ellipsis)
        for l in result:
            if result.count(l) > 1:
                raise RuntimeError(f"einsum(): output subscript {l} appears more than once in the output")
            if l not in every:
                raise RuntimeError(f"einsum(): output subscript {l} does not appear in the equation for any input operand")
    else:
        result = ellipsis + sorted({l for l in every if every.count(l) == 1 and not l.startswith("...")})
    return tuple(map(tuple, labels)), tuple(result)


def _without_repeats(B, t, labels):
    """The diagonal over labels that an operand has twice."""
    for l in sorted(set(labels)) if len(set(labels)) < len(labels) else ():
        while labels.count(l) > 1:
            a = labels.index(l)
            b = labels.index(l, a + 1)
            if t.shape[a] != t.shape[b]:
                raise RuntimeError(f"einsum(): subscript {l} is repeated for an operand but the sizes don't match, {t.shape[a]} != {t.shape[b]}")
            t = B.diagonal(t, 0, a, b)
            labels = [x for i, x in enumerate(labels) if i not in (a, b)] + [l]
    return t, labels


def _arranged(B, t, labels, order):
    return t if labels == order else B.permute(t, [labels.index(l) for l in order])


def _contract(B, a, la, b, lb, keep):
    """The product of two operands, summed over the labels that nothing else needs."""
    shared = [l for l in la if l in lb]
    # a broadcast dim of size 1 counts as missing
    for l in list(shared):
        if a.shape[la.index(l)] != b.shape[lb.index(l)]:
            if a.shape[la.index(l)] == 1:
                a, la = B.squeeze(a, la.index(l)), [x for x in la if x != l]
            else:
                b, lb = B.squeeze(b, lb.index(l)), [x for x in lb if x != l]
            shared.remove(l)
    a, la = _summed(B, a, la, [l for l in la if l not in keep and l not in lb])
    b, lb = _summed(B, b, lb, [l for l in lb if l not in keep and l not in la])
    batch = [l for l in shared if l in keep]
    inner = [l for l in shared if l not in keep]
    rows, columns = [l for l in la if l not in shared], [l for l in lb if l not in shared]
    size = {**dict(zip(la, a.shape)), **dict(zip(lb, b.shape))}
    count = lambda ls: _product(size[l] for l in ls)
    result = batch + rows + columns
    lead = (count(batch),) if batch else ()
    left, right = _arranged(B, a, la, batch + rows + inner), _arranged(B, b, lb, batch + inner + columns)
    if not len(batch) <= 1 == len(rows) == len(inner) == len(columns):        # else they are matrices, or a batch of them, already
        left = B.reshape(left, (*lead, count(rows), count(inner)))
        right = B.reshape(right, (*lead, count(inner), count(columns)))
        return B.reshape(B.matmul(left, right), [size[l] for l in result]), result
    return B.matmul(left, right), result


def _summed(B, t, labels, gone):
    if not gone:
        return t, labels
    return B.sum(t, [labels.index(l) for l in gone]), [l for l in labels if l not in gone]


def _cost(a, b, labels, sizes):
    """Elements of the product of two operands: the greedy order contracts the smallest first."""
    return _product(sizes[l] for l in {*labels[a], *labels[b]})


@op(method=False, hidden=True)
def _einsum(B, operands: Ts, equation):
    """`einsum` after its arguments were sorted out."""
    labels, result = _parse(equation, tuple([t.ndim for t in operands]))
    operands, labels, result = list(operands), list(map(list, labels)), list(result)
    sizes = {}
    for i, t in enumerate(operands):
        operands[i], labels[i] = _without_repeats(B, t, labels[i])
        for l, n in zip(labels[i], operands[i].shape):
            if sizes.setdefault(l, n) != n and 1 not in (n, sizes[l]):
                raise RuntimeError(f"einsum(): subscript {l} has size {n} for operand {i} which does not broadcast with previously seen size {sizes[l]}")
            sizes[l] = max(sizes[l], n) if n and sizes[l] else 0
    while len(operands) > 1:
        pairs = [(i, j) for i in range(len(operands)) for j in range(i + 1, len(operands))]
        i, j = min(pairs, key=lambda p: _cost(*p, labels, sizes)) if len(operands) > 2 else (0, 1)
        b, lb, a, la = operands.pop(j), labels.pop(j), operands.pop(i), labels.pop(i)
        t, ls = _contract(B, a, la, b, lb, {*result, *(l for other in labels for l in other)})
        operands.append(t)
        labels.append(ls)
    t, ls = _summed(B, operands[0], labels[0], [l for l in labels[0] if l not in result])
    return _arranged(B, t, ls, result)


def _from_sublists(args):
    """The equation of einsum(op1, [0, 1], op2, [1, 2], [0, 2])."""
    operands, lists = list(args[0::2]), list(args[1::2])
    output = operands.pop() if len(args) % 2 else None
    write = lambda items: "".join("..." if i is Ellipsis else _LETTERS[i] for i in items)
    equation = ",".join(write(l) for l in lists)
    return operands, equation if output is None else f"{equation}->{write(output)}"


@creates
def einsum(equation, *operands):
    """Sums of products over labelled dims: `einsum('ij,jk->ik', a, b)` is the matrix product.

    Args:
        equation: one label a dim and operand, comma between operands; labels missing behind '->' are summed over. Without
            '->' the result has the labels that occur once, in alphabetical order. '...' stands for the other dims.
        operands: the tensors, or one list of them. The form `einsum(a, [0, 1], b, [1, 2], [0, 2])` is taken too.

    >>> import pyx_tensor as torch
    >>> torch.einsum('ii', torch.eye(3))
    tensor(3.)
    """
    if not isinstance(equation, str):
        operands, equation = _from_sublists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    return namespace._einsum(list(operands), equation)
