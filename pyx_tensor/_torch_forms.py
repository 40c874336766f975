"""Functions of `pyx_tensor` whose arguments differ from those of the function of that name in `nn.functional`.

PyTorch has its C++ library's functions in `torch` itself: more arguments are required, and a reduction is 0 (none), 1 (mean) or
2 (sum). Programs of old call some of them.
"""
from .core.functions import asking
from .nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")


def _loss(name, *defaults):
    """A loss of nn.functional as `f(input, target, ..., reduction=1)`; `defaults` are its own parameters before the reduction."""
    function = getattr(F, name)
    own = [key for key, _ in defaults]

    def loss(*args, **kwargs):
        names = [*_OPERANDS.get(name, ("input", "target")), *own, "reduction"]
        given = dict(zip(names, args))
        given.update(kwargs)
        for key, value in defaults:
            given.setdefault(key, value)
        given["reduction"] = _REDUCTIONS[given.get("reduction", 1)]
        return function(**given)
    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = f"`nn.functional.{name}` with `reduction` as a number: 0 (none), 1 (mean) or 2 (sum)."
    return asking(loss)


_OPERANDS = {"cosine_embedding_loss": ("input1", "input2", "target"), "margin_ranking_loss": ("input1", "input2", "target"),
             "triplet_margin_loss": ("anchor", "positive", "negative")}

binary_cross_entropy_with_logits = _loss("binary_cross_entropy_with_logits", ("weight", None), ("pos_weight", None))
cosine_embedding_loss = _loss("cosine_embedding_loss", ("margin", 0.0))
hinge_embedding_loss = _loss("hinge_embedding_loss", ("margin", 1.0))
margin_ranking_loss = _loss("margin_ranking_loss", ("margin", 0.0))
poisson_nll_loss = _loss("poisson_nll_loss", ("log_input", True), ("full", False), ("eps", 1e-8))
triplet_margin_loss = _loss("triplet_margin_loss", ("margin", 1.0), ("p", 2.0), ("eps", 1e-6), ("swap", False))


@asking
def kl_div(input, target, reduction=1, *, log_target=False):
    """`nn.functional.kl_div` with `reduction` as a number: 0 (none), 1 (mean) or 2 (sum)."""
    return F.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)


@asking
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """`nn.functional.batch_norm` with the parameters before the running statistics."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@asking
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """`nn.functional.instance_norm` with the parameters before the running statistics."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@asking
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


@asking
def alpha_dropout(input, p, train):
    """`nn.functional.alpha_dropout`."""
    return F.alpha_dropout(input, p, train)


@asking
def alpha_dropout_(input, p, train):
    """In-place form of `alpha_dropout`."""
    return F.alpha_dropout(input, p, train, True)


@asking
def feature_alpha_dropout(input, p, train):
    """`nn.functional.feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, p, train)


@asking
def feature_alpha_dropout_(input, p, train):
    """In-place form of `feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, p, train, True)


@asking
def feature_dropout(input, p, train):
    """Dropout of whole channels (dim 1)."""
    return F.dropout1d(input, p, train) if input.ndim == 3 else F.dropout3d(input, p, train) if input.ndim == 5 else F.dropout2d(input, p, train)


@asking
def native_dropout(input, p, train):
    """`dropout`, and the mask of what was kept."""
    if not train:
        return input.clone(), (input == input).logical_or(input != input)
    kept = F.dropout((input * 0).nan_to_num(0, 0, 0) + 1, p, True) != 0
    return input * kept * (0.0 if p == 1 else 1 / (1 - p)), kept


@asking
def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dims but one, which keep size 1; of all elements for dim -1."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, tuple(d for d in range(v.ndim) if d != dim), keepdim=True)
