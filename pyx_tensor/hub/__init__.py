"""Weights by URL, kept in a cache folder, and models of a folder, or of a repository of GitHub, with a `hubconf.py`."""
import importlib.util
import os
import re
import sys
from urllib.parse import unquote, urlsplit

from .. import serialization
from .download import download_url_to_file
from .repository import fetched

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_dir = None


# --- weights ------------------------------------------------------------------------------------------------------
def get_dir():
    """The cache folder: what `set_dir` set, else 'hub' in PyTorch's ($TORCH_HOME, or 'torch' in $XDG_CACHE_HOME or ~/.cache)."""
    if _dir is not None:
        return _dir
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d):
    """Set the cache folder."""
    global _dir
    _dir = os.path.expanduser(os.fspath(d))


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=True):
    """What is in a checkpoint at a URL (http, https, ftp, file or data), which is downloaded once.

    Args:
        model_dir: the folder to keep it in, `get_dir()`/checkpoints by default.
        map_location, weights_only: as for `load`.
        progress: show a bar on stderr, if tqdm is installed.
        check_hash: the file's name ends in '-' and the first digits of its SHA-256, as in 'resnet18-f37072fd.pth', which are checked.
        file_name: its name in the folder, that of the URL by default.

    Raises ValueError where a name to keep it under can't be told, and what `download_url_to_file` and `load` raise.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    name = file_name or os.path.basename(unquote(urlsplit(url).path))
    if not name or os.path.basename(name) != name or name in (".", ".."):
        raise ValueError(f"load_state_dict_from_url: {name!r} can't be the name of a file; give one as file_name")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        if progress:
            print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        download_url_to_file(url, path, _hash_of(name) if check_hash else None, progress)
    return serialization.load(path, map_location, weights_only=weights_only)


def _hash_of(name):
    found = HASH_REGEX.search(name)
    if found is None:
        raise ValueError(f"check_hash: the name {name!r} holds no hash, as 'resnet18-f37072fd.pth' does")
    return found.group(1)


# --- models -------------------------------------------------------------------------------------------------------
def _hubconf(folder, source, trust_repo, force_reload, verbose):
    """The module `hubconf.py` of a folder, or of a repository."""
    if source not in ("github", "local"):
        raise ValueError(f"hub: source must be 'github' or 'local', got {source!r}")
    if source == "github":
        folder = fetched(folder, get_dir(), trust_repo, force_reload, verbose)
    folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    path = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"hub: there is no {path}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise ModuleNotFoundError(f"{path} imports torch: call pyx_tensor.alias.install() first, to have it use pyx_tensor", name="torch") from error
        raise
    finally:
        sys.path.remove(folder)
    missing = [name for name in getattr(module, "dependencies", ()) if not _is_there(name)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _is_there(name):
    if name in sys.modules or name == "torch":
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _entry(module, name):
    found = getattr(module, name, None)
    if not isinstance(name, str) or name.startswith("_") or not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf; there are: {', '.join(_entries(module))}")
    return found


def _entries(module):
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def load(repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the entry point `model` of a `hubconf.py` returns for the arguments.

    Args:
        repo_or_dir: a repository of GitHub, 'owner/name' or 'owner/name:branch', or, for source='local', a folder.
        trust_repo: 'check' asks before the code of a repository is run for the first time, False asks each time, True says yes.
            `get_dir()`/trusted_list has those that were trusted.
        force_reload: fetch the repository again.
        verbose: show a bar while it is fetched, if tqdm is installed.
        skip_validation: does nothing: GitHub alone tells whether there is such a branch.

    Raises ValueError where the repository isn't named so, RuntimeError where it isn't trusted or has no such entry point,
    urllib.error.URLError where it can't be fetched.
    """
    return _entry(_hubconf(repo_or_dir, source, trust_repo, force_reload, verbose), model)(*args, **kwargs)


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, source="github"):
    """The docstring of an entry point of a `hubconf.py`; arguments as for `load`."""
    return _entry(_hubconf(github, source, trust_repo, force_reload, verbose), model).__doc__


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, source="github"):
    """The names of the entry points of a `hubconf.py`; arguments as for `load`."""
    return _entries(_hubconf(github, source, trust_repo, force_reload, verbose))
