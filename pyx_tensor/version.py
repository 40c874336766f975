"""The package's version, which the metadata read too."""
__version__ = "0.1.0"
