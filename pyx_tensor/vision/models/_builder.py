"""What the functions that make models share."""


def builder(name, make, doc):
    """The public function `name(*, weights=None, progress=True, **kwargs)` around `make(**kwargs)`."""
    def model(*, weights=None, progress=True, pretrained=False, **kwargs):
        if weights is not None or pretrained:
            raise NotImplementedError(f"{name}: weights are not downloaded; load a state dict that torchvision has saved with "
                                      "load_state_dict(torch.load(path))")
        return make(**kwargs)

    model.__name__ = model.__qualname__ = name
    model.__doc__ = f"""{doc}

    Args:
        weights, pretrained: must be None and False: weights are not downloaded.
        kwargs: arguments of the model's class, as `num_classes`.

    Raises:
        NotImplementedError: weights are asked for.
    """
    model.__module__ = make.__module__ if hasattr(make, "__module__") else __name__
    return model
