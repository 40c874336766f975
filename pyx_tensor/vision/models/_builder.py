"""What the functions that make models share."""


def builder(name, make, doc, **with_weights):
    """The public function `name(*, weights=None, progress=True, **kwargs)` around `make(**kwargs)`.

    with_weights: arguments that published weights need.
    """
    def model(*, weights=None, progress=True, pretrained=False, **kwargs):
        if weights is None and not pretrained:
            return make(**kwargs)
        from ._weights import find_weights
        found = find_weights(name, weights, pretrained)
        return _loaded(make, found, progress, {**with_weights, **kwargs})

    model.__name__ = model.__qualname__ = name
    model.__doc__ = f"""{doc}

    Args:
        weights: None for new ones, or those published by torchvision's authors, which are downloaded once: 'DEFAULT', 'IMAGENET1K_V1', or
            a member of the enum that torchvision has for the model.
        progress: show the download's progress.
        pretrained: the early name of weights='IMAGENET1K_V1'.
        kwargs: arguments of the model's class, as `num_classes`.

    Raises:
        ValueError: there are no such weights, or they aren't of `num_classes` classes.
    """
    model.__module__ = make.__module__ if hasattr(make, "__module__") else __name__
    return model


def _loaded(make, weights, progress, kwargs):
    """A model with published weights."""
    if kwargs.setdefault("num_classes", 1000) != 1000:
        raise ValueError(f"The parameter 'num_classes' expected value 1000 but got {kwargs['num_classes']} instead.")
    aux_logits = kwargs.get("aux_logits", True)
    if not aux_logits:
        kwargs["aux_logits"] = True               # published weights have that part: it is left out afterwards
    model = make(**kwargs)
    model.load_state_dict(weights.get_state_dict(progress))
    if not aux_logits:
        model.aux_logits, model.AuxLogits = False, None
    return model
