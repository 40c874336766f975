"""Models of images under torchvision's names."""


def __getattr__(name):
    if name != "models":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module
    return import_module(f"{__name__}.models")


def __dir__():
    return sorted({*globals(), "models"})
