"""Repositories of GitHub whose `hubconf.py` makes models: fetched once, and only when the user trusts them, since their code is run."""
import os
import re
import shutil
import tempfile
import urllib.error
import zipfile
from urllib.parse import quote

from .download import download_url_to_file

SITE = "https://github.com"
_NAME = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(:(?P<ref>[\w./-]+))?", re.ASCII)
_DEFAULT_BRANCHES = ("main", "master")


def fetched(repository, root, trust_repo, force_reload, progress):
    """The folder below `root` with the files of a repository, 'owner/name' or 'owner/name:branch or tag'."""
    found = _NAME.fullmatch(repository) if isinstance(repository, str) else None
    if found is None or ".." in repository:
        raise ValueError(f"hub: expected a repository as 'owner/name' or 'owner/name:branch', got {repository!r}")
    owner, name, ref = found["owner"], found["name"], found["ref"]
    os.makedirs(root, exist_ok=True)
    _check_trust(f"{owner}_{name}", f"{owner}/{name}", os.path.join(root, "trusted_list"), trust_repo)
    folders = {ref: os.path.join(root, f"{owner}_{name}_{ref.replace('/', '_')}") for ref in ((ref,) if ref else _DEFAULT_BRANCHES)}
    if not force_reload:
        for folder in folders.values():
            if os.path.isdir(folder):
                return folder
    for branch, folder in folders.items():
        try:
            _fetch(f"{SITE}/{owner}/{name}/zipball/{quote(branch)}", folder, progress)
            return folder
        except urllib.error.HTTPError as error:
            if error.code != 404 or branch == [*folders][-1]:
                raise


def _check_trust(key, repository, path, trust_repo):
    """RuntimeError where the user doesn't trust a repository. `trusted_list` has those that were, one a line, as PyTorch writes it."""
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f"hub: trust_repo must be True, False or 'check', got {trust_repo!r}")
    trusted = []
    if os.path.exists(path):
        with open(path) as file:
            trusted = file.read().split()
    if trust_repo is not True and (trust_repo is False or key not in trusted):
        try:
            answer = input(f"The code of the repository {repository} is about to be downloaded and run. Do you trust it (y/N)? ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            raise RuntimeError(f"hub: the repository {repository} isn't trusted; trust_repo=True says that it is")
    if trust_repo is not False and key not in trusted:
        with open(path, "a") as file:
            file.write(key + "\n")


def _fetch(url, folder, progress):
    """Make the folder from the archive at a URL, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as work:
        path, files = os.path.join(work, "archive.zip"), os.path.join(work, "files")
        download_url_to_file(url, path, progress=progress)
        try:
            with zipfile.ZipFile(path) as archive:
                _check_names(archive.namelist())
                archive.extractall(files)
        except zipfile.BadZipFile as error:
            raise RuntimeError(f"hub: what came from {url} is no archive: {error}") from error
        top, = os.listdir(files)
        if os.path.isdir(folder):
            shutil.rmtree(folder)
        os.rename(os.path.join(files, top), folder)


def _check_names(names):
    """An archive has one folder, and nothing that leads out of it."""
    if any(name.startswith("/") or "\\" in name or ".." in name.split("/") for name in names) or len({name.partition("/")[0] for name in names}) != 1:
        raise RuntimeError("hub: an archive of a repository has one folder, with everything in it; this one hasn't")
