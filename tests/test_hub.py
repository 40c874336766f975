"""Downloads from a server on this machine, which can break off, change its file, or know nothing of parts."""
import base64
import contextlib
import hashlib
import http.server
import io
import os
import socket
import socketserver
import threading
import urllib.error
import zipfile
from pathlib import Path

import pytest
import pyx_tensor as torch
from pyx_tensor import hub
from pyx_tensor.hub import download, repository
from pyx_tensor.utils import model_zoo


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        if self.path in server.archives:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(server.archives[self.path])
            return
        if self.path != "/x-weights.pth" and not self.path.startswith("/model"):
            self.send_error(404)
            return
        data, first = server.data, 0
        asked = self.headers.get("Range")
        if server.ranges and asked and self.headers.get("If-Range") == server.etag:
            first = int(asked.removeprefix("bytes=").removesuffix("-"))
            if first >= len(data):
                self.send_error(416)
                return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(data) - first))
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        end = first + server.breaks.pop(0) if server.breaks else len(data)
        with contextlib.suppress(OSError):
            self.wfile.write(data[first:end])


@pytest.fixture
def server(monkeypatch):
    buffer = io.BytesIO()
    torch.save({"w": torch.arange(50_000.0)}, buffer)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.data, server.ranges, server.etag, server.breaks, server.requests, server.archives = buffer.getvalue(), True, '"one"', [], [], {}
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path):
    hub.set_dir(tmp_path / "hub")
    yield tmp_path / "hub" / "checkpoints"
    hub._dir = None


@pytest.mark.rows("S160")
def test_it_is_downloaded_once(server, cache, capsys):
    for _ in range(2):
        assert hub.load_state_dict_from_url(server.url + "/model.pth?x=1")["w"][3] == 3
    assert server.requests == [("/model.pth?x=1", None)] and os.listdir(cache) == ["model.pth"]
    assert "Downloading" in capsys.readouterr().err
    assert model_zoo.load_url(server.url + "/model.pth", file_name="other.pth", map_location="reference", progress=False)["w"].device.type == "reference"
    assert capsys.readouterr().err == "" and sorted(os.listdir(cache)) == ["model.pth", "other.pth"]


def test_a_file_url(server, cache, tmp_path):
    (tmp_path / "my model.pth").write_bytes(server.data)
    assert hub.load_state_dict_from_url((tmp_path / "my model.pth").as_uri(), progress=False)["w"][3] == 3
    assert os.listdir(cache) == ["my model.pth"]
    with pytest.raises(urllib.error.URLError):
        hub.load_state_dict_from_url((tmp_path / "none.pth").as_uri(), progress=False)


class FileServer(socketserver.StreamRequestHandler):
    """As much of an FTP server (RFC 959) as sending one file takes."""

    def handle(self):
        self.say("220 here")
        answers = {"USER": "331 and the password", "PASS": "230 welcome", "CWD": "250 there", "TYPE": "200 so be it"}
        with socket.create_server(("127.0.0.1", 0)) as passive:
            for line in iter(self.rfile.readline, b""):
                command, _, argument = line.decode().strip().partition(" ")
                if command == "PASV":
                    self.say("227 come (127,0,0,1,{},{})".format(*divmod(passive.getsockname()[1], 256)))
                elif command == "RETR":
                    self.server.asked.append(argument)
                    self.say(f"150 sending ({len(self.server.data)} bytes)")
                    with passive.accept()[0] as connection:
                        connection.sendall(self.server.data)
                    self.say("226 sent")
                else:
                    self.say(answers.get(command, "221 farewell"))

    def say(self, line):
        self.wfile.write(f"{line}\r\n".encode())


@pytest.mark.rows("S160")
def test_other_kinds_of_urls(server, cache, monkeypatch):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), FileServer) as ftp:
        ftp.data, ftp.asked, ftp.daemon_threads = server.data, [], True
        thread = threading.Thread(target=ftp.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            for name in ("ftp_proxy", "FTP_PROXY"):
                monkeypatch.delenv(name, raising=False)
            for _ in range(2):
                assert model_zoo.load_url(f"ftp://127.0.0.1:{ftp.server_address[1]}/pub/x.pth", progress=False)["w"][3] == 3
            assert ftp.asked == ["x.pth"]
        finally:
            ftp.shutdown()
            thread.join()
    url = "data:application/octet-stream;base64," + base64.b64encode(server.data).decode()
    assert model_zoo.load_url(url, file_name="y.pth", progress=False)["w"][4] == 4 and sorted(os.listdir(cache)) == ["x.pth", "y.pth"]


def test_hashes(server, cache):
    digest = hashlib.sha256(server.data).hexdigest()
    assert hub.load_state_dict_from_url(f"{server.url}/model-{digest[:8]}.pth", check_hash=True, progress=False)["w"][3] == 3
    with pytest.raises(RuntimeError, match=f'expected "deadbeef", got "{digest[:8]}"'):
        hub.load_state_dict_from_url(f"{server.url}/model-deadbeef.pth", check_hash=True, progress=False)
    assert os.listdir(cache) == [f"model-{digest[:8]}.pth"]
    with pytest.raises(ValueError, match="no hash"):
        hub.load_state_dict_from_url(server.url + "/model.pth", check_hash=True)


def test_a_break_is_gone_over(server, tmp_path):
    server.breaks = [1000, 70_000]
    hub.download_url_to_file(server.url + "/model.pth", tmp_path / "x", progress=False)
    assert (tmp_path / "x").read_bytes() == server.data and os.listdir(tmp_path) == ["x"]
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-", "bytes=71000-"]


def test_a_later_call_goes_on(server, tmp_path):
    server.breaks = [1000, 10, 10, 10]
    with pytest.raises(RuntimeError, match="broke off after 1030 bytes"):
        hub.download_url_to_file(server.url + "/model.pth", tmp_path / "x", progress=False)
    assert not (tmp_path / "x").exists()
    hub.download_url_to_file(server.url + "/model.pth", tmp_path / "x", hashlib.sha256(server.data).hexdigest(), progress=False)
    assert (tmp_path / "x").read_bytes() == server.data and server.requests[-1][1] == "bytes=1030-" and os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("change", ["the file changed", "no ranges", "no mark", "another file", "longer than the file"])
def test_where_going_on_would_be_wrong_it_begins_anew(server, tmp_path, change):
    server.breaks = [1000] * 4
    with pytest.raises(RuntimeError, match="broke off"):
        hub.download_url_to_file(server.url + "/model.pth", tmp_path / "x", progress=False)
    path = "/model.pth"
    if change == "the file changed":
        server.data, server.etag = server.data[::-1], '"two"'
    elif change == "no ranges":
        server.ranges = False
    elif change == "no mark":
        os.remove(tmp_path / "x.partial.json")
    elif change == "another file":
        path = "/x-weights.pth"
    else:
        server.data = server.data[:500]
    hub.download_url_to_file(server.url + path, tmp_path / "x", progress=False)
    assert (tmp_path / "x").read_bytes() == server.data and os.listdir(tmp_path) == ["x"]


def test_two_at_once_do_not_mix(server, tmp_path):
    pytest.importorskip("fcntl")
    with download._partial(str(tmp_path / "x")) as first:
        Path(first).write_bytes(b"begun")
        hub.download_url_to_file(server.url + "/model.pth", tmp_path / "x", progress=False)
        assert (tmp_path / "x").read_bytes() == server.data and Path(first).read_bytes() == b"begun"


def test_what_can_not_be_fetched(server, cache, tmp_path):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        hub.load_state_dict_from_url(server.url + "/none.pth", progress=False)
    for url in ("gopher://x/y.pth", "y.pth", "javascript:x"):
        with pytest.raises(ValueError, match="expected a URL"):
            hub.download_url_to_file(url, tmp_path / "x")
    for url in (server.url, server.url + "/", server.url + "/..", server.url + "/a/%2e%2e"):
        with pytest.raises(ValueError, match="file_name"):
            hub.load_state_dict_from_url(url)
    with pytest.raises(ValueError, match="file_name"):
        hub.load_state_dict_from_url(server.url + "/model.pth", file_name="../x")
    server.data = b"not a checkpoint"
    with pytest.raises(RuntimeError, match="neither a zip"):
        hub.load_state_dict_from_url(server.url + "/model.pth", progress=False)
    assert os.listdir(cache) == ["model.pth"]


def test_the_bar(server, tmp_path, capsys):
    hub.download_url_to_file(server.url + "/model.pth", tmp_path / "x")
    assert "100%" in capsys.readouterr().err
    hub.download_url_to_file(server.url + "/model.pth", tmp_path / "y", progress=False)
    assert capsys.readouterr().err == ""


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"
    monkeypatch.setenv("TORCH_HOME", "/home/torch")
    assert hub.get_dir() == "/home/torch/hub"
    hub.set_dir("~/here")
    assert hub.get_dir() == os.path.expanduser("~/here")
    hub._dir = None


HUBCONF = '''
dependencies = ["json"]
import pyx_tensor as torch
from mymodels import width

def mlp(hidden=3, **kwargs):
    "A small network."
    return torch.nn.Linear(width, hidden, **kwargs)

def _private():
    pass
'''


def test_models_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "mymodels.py").write_text("width = 5\n")
    model = hub.load(tmp_path, "mlp", hidden=2, bias=False, source="local")
    assert model.weight.shape == (2, 5) and model.bias is None
    assert hub.list(tmp_path, source="local") == ["mlp"] and hub.help(tmp_path, "mlp", source="local") == "A small network."
    for wrong in ("_private", "none", "width"):
        with pytest.raises(RuntimeError, match="Cannot find callable"):
            hub.load(tmp_path, wrong, source="local")
    with pytest.raises(ValueError, match="source must be"):
        hub.load(tmp_path, "mlp", source="gitlab")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_module_anywhere']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_module_anywhere"):
        hub.load(tmp_path, "mlp", source="local")
    with pytest.raises(FileNotFoundError, match="hubconf.py"):
        hub.load(tmp_path / "none", "mlp", source="local")


def archive(files, top="someone-models-0123abc"):
    """What GitHub sends for a branch: one folder, named by the commit."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, text in files.items():
            zipped.writestr(f"{top}/{name}" if top else name, text)
    return buffer.getvalue()


MODELS = {"hubconf.py": HUBCONF, "mymodels.py": "width = 5\n"}


@pytest.fixture
def site(server, cache, monkeypatch):
    """The server in the place of GitHub."""
    monkeypatch.setattr(repository, "SITE", server.url)
    monkeypatch.setattr("builtins.input", lambda text: pytest.fail("asked"))
    server.archives["/someone/models/zipball/master"] = archive(MODELS)
    return server


def test_models_of_a_repository(site, cache, capsys):
    for _ in range(2):
        assert hub.load("someone/models", "mlp", hidden=2, trust_repo=True, verbose=False).weight.shape == (2, 5)
    assert [path for path, _ in site.requests] == ["/someone/models/zipball/main", "/someone/models/zipball/master"]
    assert hub.list("someone/models", verbose=False) == ["mlp"] and hub.help("someone/models:master", "mlp", verbose=False) == "A small network."
    assert sorted(os.listdir(cache.parent)) == ["someone_models_master", "trusted_list"] and capsys.readouterr().err == ""
    site.archives["/someone/models/zipball/master"] = archive({"hubconf.py": "def other():\n    return 3\n"})
    assert hub.load("someone/models", "other", force_reload=True, verbose=False) == 3
    site.archives["/someone/models/zipball/v1/fix"] = archive(MODELS)
    assert hub.list("someone/models:v1/fix") == ["mlp"] and "models" in str(os.listdir(cache.parent / "someone_models_v1_fix"))


def test_a_repository_is_run_when_it_is_trusted(site, cache, monkeypatch):
    asked = []

    def answer(said):
        monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or said)
    for said in ("", "n", "no"):
        answer(said)
        with pytest.raises(RuntimeError, match="someone/models isn't trusted; trust_repo=True"):
            hub.load("someone/models", "mlp")
    assert len(asked) == 3 and "someone/models" in asked[0] and site.requests == [] and not (cache.parent / "trusted_list").exists()
    answer("y")
    hub.list("someone/models", trust_repo=False, verbose=False)
    hub.list("someone/models", verbose=False)
    assert len(asked) == 5 and (cache.parent / "trusted_list").read_text() == "someone_models\n"
    hub.list("someone/models", verbose=False)                            # is on the list now
    assert len(asked) == 5
    hub.list("someone/models", trust_repo=False, verbose=False)
    assert len(asked) == 6

    def nobody(text):
        raise EOFError
    monkeypatch.setattr("builtins.input", nobody)
    with pytest.raises(RuntimeError, match="isn't trusted"):
        hub.list("else/models")


@pytest.mark.parametrize("names", [{"../hubconf.py": ""}, {"a/hubconf.py": "", "b/x.py": ""}, {"/etc/x": ""}, {"a/../../x": ""}, {"a\\..\\x": ""}])
def test_archives_that_lead_elsewhere(site, cache, names):
    site.archives["/someone/models/zipball/main"] = archive(names, None)
    with pytest.raises(RuntimeError, match="one folder"):
        hub.list("someone/models", trust_repo=True, verbose=False)
    assert os.listdir(cache.parent) == ["trusted_list"]


def test_repositories_that_are_none(site, cache):
    for name in ("models", "a/b/c", "someone/../models", "someone/models:", "someone/models:../x", "https://x/y", 3):
        with pytest.raises(ValueError, match="expected a repository"):
            hub.load(name, "mlp", trust_repo=True)
    with pytest.raises(ValueError, match="trust_repo must be"):
        hub.load("someone/models", "mlp", trust_repo="always")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        hub.load("no/models", "mlp", trust_repo=True, verbose=False)
    site.archives["/someone/models/zipball/main"] = b"not a zip"
    with pytest.raises(RuntimeError, match="is no archive"):
        hub.load("someone/models", "mlp", trust_repo=True, verbose=False)
