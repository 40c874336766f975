"""Downloads that are checked, go on after a break, and appear under their name only when they are whole."""
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import urlsplit

_CHUNK = 1 << 18
_TRIES = 4
_SCHEMES = ("http", "https", "ftp", "file", "data")      # what urllib opens


class Broken(Exception):
    """A transfer ended before its end."""


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Download a URL (http, https, ftp, file or data) to a path.

    Args:
        dst: the path; until the download is whole, `dst` + '.partial' holds what has come, and a later call goes on from there if
            the server says that the file is still the same.
        hash_prefix: the first digits of the file's SHA-256.
        progress: show a bar on stderr, if tqdm is installed.

    Raises:
        ValueError: another kind of URL. urllib.error.URLError: it can't be fetched.
        RuntimeError: the hash differs (nothing is left), or the transfer broke off again and again (what came is kept).
    """
    if urlsplit(url).scheme not in _SCHEMES:
        raise ValueError(f"download_url_to_file: expected a URL of {', '.join(_SCHEMES)}, got {url!r}")
    dst = os.path.expanduser(os.fspath(dst))
    with _partial(dst) as path:
        part = _Part(path, url)
        for attempt in range(1, _TRIES + 1):
            try:
                part.fetch(progress)
                break
            except (Broken, ConnectionError, TimeoutError, HTTPException) as error:
                if attempt == _TRIES:
                    raise RuntimeError(f"download of {url} broke off after {part.size()} bytes ({error}); another call goes on from there") from error
                time.sleep(0.1 * attempt)
        part.finish(dst, hash_prefix)


@contextlib.contextmanager
def _partial(dst):
    """The path of the partial file: one of its own where another process is downloading the same."""
    path = dst + ".partial"
    with open(path, "ab") as lock:
        if _locked(lock):
            try:
                yield path
            finally:
                if os.path.exists(path) and os.path.getsize(path) == 0:
                    _remove(path)
            return
    handle, own = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(dst)), prefix=os.path.basename(dst), suffix=".partial")
    os.close(handle)
    try:
        yield own
    finally:
        _remove(own)
        _remove(own + ".json")


def _locked(file):
    """Whether this process now holds the file alone (where the system has such locks)."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


class _Part:
    """What has come of a download: the bytes, and beside them how the server tells whether the file is still the same."""

    def __init__(self, path, url):
        self.path, self.note, self.url = path, path + ".json", url

    def size(self):
        return os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def validator(self):
        """The server's mark of the file that the bytes are of, or None."""
        try:
            with open(self.note) as file:
                note = json.load(file)
        except (OSError, ValueError):
            return None
        return note.get("validator") if isinstance(note, dict) and note.get("url") == self.url else None

    def request(self):
        """(request, bytes that needn't come again)"""
        request = urllib.request.Request(self.url, headers={"User-Agent": "pyx_tensor"})
        have, validator = self.size(), self.validator()
        if have and validator and urlsplit(self.url).scheme in ("http", "https"):
            request.add_header("Range", f"bytes={have}-")
            request.add_header("If-Range", validator)
            return request, have
        return request, 0

    def fetch(self, progress):
        request, have = self.request()
        try:
            response = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            if error.code != 416 or not have:
                raise
            _remove(self.path)                       # there is nothing behind what we have: it isn't of this file
            raise Broken("the server has no such part of the file") from error
        with response:
            if getattr(response, "status", None) != 206:
                have = 0                             # the whole file comes
            length = response.headers.get("Content-Length")
            total = None if length is None else have + int(length)
            self.remember(response.headers)
            with open(self.path, "r+b" if have else "wb") as file, _bar(progress, have, total) as advance:
                file.seek(have)
                self.copy(response, file, total, have, advance)

    def copy(self, response, file, total, have, advance):
        while True:
            data = response.read(_CHUNK)
            if not data:
                break
            file.write(data)
            have += len(data)
            advance(len(data))
        if total is not None and have != total:
            raise Broken(f"{have} of {total} bytes came")

    def remember(self, headers):
        validator = headers.get("ETag") or headers.get("Last-Modified")
        if validator and validator.startswith("W/"):     # a weak mark doesn't promise the same bytes
            validator = headers.get("Last-Modified")
        with open(self.note, "w") as file:
            json.dump({"url": self.url, "validator": validator}, file)

    def finish(self, dst, hash_prefix):
        """Give the whole file its name, if it has the hash that is expected."""
        found = _sha256(self.path) if hash_prefix is not None else ""
        _remove(self.note)
        if hash_prefix is not None and not found.startswith(hash_prefix.lower()):
            os.remove(self.path)
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found[:max(len(hash_prefix), 8)]}") of {self.url}')
        os.replace(self.path, dst)


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


@contextlib.contextmanager
def _bar(progress, have, total):
    """function(bytes) that moves the progress bar."""
    if progress:
        with contextlib.suppress(ImportError):
            from tqdm import tqdm
            with tqdm(total=total, initial=have, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr) as bar:
                yield bar.update
            return
    yield lambda n: None
