"""Training on several machines, which isn't here: as in a PyTorch built without it, `is_available()` is False and little else is."""


def is_available():
    """False."""
    return False


def is_initialized():
    """False."""
    return False


def is_torchelastic_launched():
    """False."""
    return False
