"""Apple's Metal: not used."""


def is_available():
    """False."""
    return False


def is_built():
    """False."""
    return False
