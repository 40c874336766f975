"""Sphinx: the pages are Markdown, the reference comes from the docstrings."""
import importlib.metadata

project = "pyx_tensor"
author = "the pyx_tensor developers"
copyright = "2026, " + author
release = version = importlib.metadata.version("pyx-tensor")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
autosummary_generate = True
autodoc_member_order = "bysource"
html_theme = "furo"
