"""Trees: tensors in nested dicts, lists and tuples, as the arguments and results of a program's functions."""


def _children(tree):
    """What a node of a tree holds, or None for a leaf."""
    if isinstance(tree, dict):
        return list(tree.values())
    return list(tree) if isinstance(tree, (list, tuple)) else None


def _rebuilt(tree, children):
    """A node as `tree`, with other children."""
    if isinstance(tree, dict):
        made = tree.copy()          # keeps an OrderedDict's or defaultdict's own class
        made.update(zip(tree, children))
        return made
    return tree._make(children) if hasattr(tree, "_make") else type(tree)(children)


def leaves(tree):
    """The leaves in order."""
    children = _children(tree)
    return [tree] if children is None else [leaf for child in children for leaf in leaves(child)]


def like(tree, values):
    """A tree of the same form with `values` as its leaves, in order."""
    values = iter(values)

    def build(node):
        children = _children(node)
        return next(values) if children is None else _rebuilt(node, [build(child) for child in children])
    return build(tree)


def same_form(a, b):
    """Whether two trees differ in their leaves at most."""
    left, right = _children(a), _children(b)
    if left is None or right is None:
        return left is right
    keys_differ = isinstance(a, dict) and (not isinstance(b, dict) or list(a) != list(b))
    return not keys_differ and len(left) == len(right) and all(map(same_form, left, right))


def spread(prefix, tree, is_value):
    """A value for each leaf of `tree`: `prefix` is one for all of them, or nested as the tree is, down to where one holds for a branch.

    Returns None where it is nested otherwise.
    """
    if is_value(prefix):
        return [prefix] * len(leaves(tree))
    values, children = _children(prefix), _children(tree)
    if values is None or children is None or len(values) != len(children) or isinstance(prefix, dict) != isinstance(tree, dict):
        return None
    if isinstance(prefix, dict):
        if set(prefix) != set(tree):
            return None
        values = [prefix[key] for key in tree]
    parts = [spread(value, child, is_value) for value, child in zip(values, children)]
    return None if any(part is None for part in parts) else [value for part in parts for value in part]
