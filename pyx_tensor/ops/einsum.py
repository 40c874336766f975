"""einsum: sums of products over labelled dims, as a sequence of matrix products."""
import functools
import string

from ..core.definitions import composes, op
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


# --- the plan -----------------------------------------------------------------------------------------------------
class _Operand:
    """An operand on paper: the labels and sizes of its dims, and the operations that bring it there, as (name, arguments)."""

    def __init__(self, labels, shape, changes=()):
        self.labels, self.shape, self.changes = list(labels), list(shape), list(changes)

    def size(self, label):
        return self.shape[self.labels.index(label)]

    def take_diagonals(self):
        """One dim for every label that stands for several."""
        for l in sorted({l for l in self.labels if self.labels.count(l) > 1}):
            while self.labels.count(l) > 1:
                a = self.labels.index(l)
                b = self.labels.index(l, a + 1)
                size = self.shape[a]
                if size != self.shape[b]:
                    raise RuntimeError(f"einsum(): subscript {l} is repeated for an operand but the sizes don't match, {size} != {self.shape[b]}")
                self.changes.append(("diagonal", (0, a, b)))
                self._drop((a, b))
                self.labels.append(l)
                self.shape.append(size)

    def squeeze(self, label):
        self.changes.append(("squeeze", (self.labels.index(label),)))
        self._drop((self.labels.index(label),))

    def sum(self, gone):
        if gone:
            dims = [self.labels.index(l) for l in gone]
            self.changes.append(("sum", (dims,)))
            self._drop(dims)

    def arrange(self, order):
        if self.labels != order:
            dims = [self.labels.index(l) for l in order]
            self.changes.append(("permute", (dims,)))
            self.labels, self.shape = list(order), [self.shape[d] for d in dims]

    def _drop(self, dims):
        self.labels = [l for d, l in enumerate(self.labels) if d not in dims]
        self.shape = [n for d, n in enumerate(self.shape) if d not in dims]


def _contract(a, b, keep):
    """The product of two operands, summed over the labels that nothing else needs: the operation that it takes, and what comes of it.

    It is a product of matrices, or where nothing is summed over one of elements.
    """
    shared = [l for l in a.labels if l in b.labels]
    for l in list(shared):      # a broadcast dim of size 1 counts as missing
        if a.size(l) != b.size(l):
            (a if a.size(l) == 1 else b).squeeze(l)
            shared.remove(l)
    a.sum([l for l in a.labels if l not in keep and l not in b.labels])
    b.sum([l for l in b.labels if l not in keep and l not in a.labels])
    batch, inner = [l for l in shared if l in keep], [l for l in shared if l not in keep]
    rows, columns = [l for l in a.labels if l not in shared], [l for l in b.labels if l not in shared]
    if not inner:
        a.arrange(batch + rows)
        b.arrange(batch + columns)
        shape = [*a.shape, *b.shape[len(batch):]]
        if columns:
            a.changes.append(("reshape", ((*a.shape, *[1] * len(columns)),)))
        if rows:
            b.changes.append(("reshape", ((*b.shape[:len(batch)], *[1] * len(rows), *b.shape[len(batch):]),)))
        return "mul", _Operand(batch + rows + columns, shape)
    a.arrange(batch + rows + inner)
    b.arrange(batch + inner + columns)
    labels, shape = batch + rows + columns, [*a.shape[:len(batch) + len(rows)], *b.shape[len(batch) + len(inner):]]
    if len(batch) <= 1 == len(rows) == len(inner) == len(columns):        # they are matrices, or a batch of them, already
        return "matmul", _Operand(labels, shape)
    lead, depth = (_product(a.shape[:len(batch)]),) if batch else (), _product(b.size(l) for l in inner)
    a.changes.append(("reshape", ((*lead, _product(a.size(l) for l in rows), depth),)))
    b.changes.append(("reshape", ((*lead, depth, _product(b.size(l) for l in columns)),)))
    return "matmul", _Operand(labels, shape, [("reshape", (shape,))])


def _cost(a, b, sizes):
    """Elements of the product of two operands: the greedy order contracts the smallest first."""
    return _product(sizes[l] for l in {*a.labels, *b.labels})


def _common_sizes(operands):
    """label -> size, where sizes of 1 broadcast; RuntimeError where sizes differ."""
    sizes = {}
    for i, operand in enumerate(operands):
        for l, n in zip(operand.labels, operand.shape):
            if sizes.setdefault(l, n) != n and 1 not in (n, sizes[l]):
                raise RuntimeError(f"einsum(): subscript {l} has size {n} for operand {i} which does not broadcast with previously seen size {sizes[l]}")
            sizes[l] = max(sizes[l], n) if n and sizes[l] else 0
    return sizes


@functools.lru_cache(maxsize=512)
def _plan(equation, shapes):
    """The products in order, as (operation, place of the left operand, of the right one, changes of each before), and the changes of the last result.

    Operands leave the list when they are multiplied, and the product is put at its end.
    """
    labels, result = _parse(equation, tuple(map(len, shapes)))
    operands = list(map(_Operand, labels, shapes))
    for operand in operands:
        operand.take_diagonals()
    sizes, products = _common_sizes(operands), []
    while len(operands) > 1:
        pairs = [(i, j) for i in range(len(operands)) for j in range(i + 1, len(operands))]
        i, j = min(pairs, key=lambda p: _cost(operands[p[0]], operands[p[1]], sizes)) if len(operands) > 2 else (0, 1)
        b, a = operands.pop(j), operands.pop(i)
        name, product = _contract(a, b, {*result, *(l for other in operands for l in other.labels)})
        operands.append(product)
        products.append((name, i, j, a.changes, b.changes))
    last = operands[0]
    last.sum([l for l in last.labels if l not in result])
    last.arrange(list(result))
    return products, last.changes


def _changed(B, t, changes):
    for name, arguments in changes:
        t = getattr(B, name)(t, *arguments)
    return t


@op(method=False, hidden=True)
def _einsum(B, operands: Ts, equation):
    """`einsum` after its arguments were sorted out."""
    operands = list(operands)
    products, changes = _plan(equation, tuple([tuple(t.shape) for t in operands]))
    for name, i, j, left, right in products:
        b, a = operands.pop(j), operands.pop(i)
        operands.append(getattr(B, name)(_changed(B, a, left), _changed(B, b, right)))
    return _changed(B, operands[0], changes)


def _from_sublists(args):
    """The equation of einsum(op1, [0, 1], op2, [1, 2], [0, 2])."""
    operands, lists = list(args[0::2]), list(args[1::2])
    output = operands.pop() if len(args) % 2 else None
    write = lambda items: "".join("..." if i is Ellipsis else _LETTERS[i] for i in items)
    equation = ",".join(write(l) for l in lists)
    return operands, equation if output is None else f"{equation}->{write(output)}"


@composes
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
