"""Downloads from a real server on this machine: once, checked, and with one clear message when they fail."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from folkmoot.datasets import load_femnist, load_heart
from folkmoot.datasets.download import DownloadError, cache_folder
from support.femnist_samples import make_rows, write_parquet
from support.shared_data import HEART, needs

NAME = "train-00000-of-00001.parquet"


class Hub(ThreadingHTTPServer):
    """Serves a folder on a free port, and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        hub = self

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002
                hub.asked.append(self.path)

        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.up = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/resolve/main/{NAME}"

    def stop(self) -> None:
        if self.up:
            self.up = False
            self.shutdown()
            self._thread.join()
            self.server_close()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A small parquet file under /resolve/ and its Git-LFS pointer under /raw/, as the real hub has them."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("FOLKMOOT_DATA", str(tmp_path / "cache"))
    folder = tmp_path / "hub"
    for kind in ("resolve", "raw"):
        (folder / kind / "main").mkdir(parents=True)
    content = write_parquet(folder / "resolve" / "main" / NAME, make_rows(["a", "b"])).read_bytes()
    (folder / "raw" / "main" / NAME).write_text(
        "version https://git-lfs.github.com/spec/v1\n"
        f"oid sha256:{hashlib.sha256(content).hexdigest()}\nsize {len(content)}\n"
    )
    server = Hub(folder)
    yield server
    server.stop()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return tmp_path / "hub" / "resolve" / "main" / NAME


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "femnist" / NAME


def test_downloads_once(hub: Hub, published: Path, cached: Path) -> None:
    first = load_femnist(url=hub.url)
    assert np.array_equal(first.X, load_femnist(published).X)
    assert hub.asked == [f"/raw/main/{NAME}", f"/resolve/main/{NAME}"]
    hub.stop()
    assert np.array_equal(load_femnist(url=hub.url).X, first.X)
    assert np.array_equal(load_femnist(url=hub.url, verify=True).X, first.X)
    record = cached.with_name(NAME + ".pointer").read_text()
    assert hashlib.sha256(cached.read_bytes()).hexdigest() in record


def test_a_corrupted_download_is_refused(hub: Hub, published: Path, cached: Path) -> None:
    content = published.read_bytes()
    published.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DownloadError, match="does not match") as caught:
        load_femnist(url=hub.url)
    assert f"cannot download FEMNIST from {hub.url}" in str(caught.value)
    assert not cached.exists()


def test_an_explicit_hash_overrides_the_pointer(hub: Hub, published: Path, cached: Path) -> None:
    with pytest.raises(DownloadError, match="does not match"):
        load_femnist(url=hub.url, sha256="0" * 64)
    digest = hashlib.sha256(published.read_bytes()).hexdigest()
    load_femnist(url=hub.url, sha256=digest.upper())
    assert f"/raw/main/{NAME}" not in hub.asked
    assert cached.exists()
    with pytest.raises(ValueError, match="sha256 must be 64 hexadecimal digits: got 'abc'"):
        load_femnist(url=hub.url, sha256="abc")


def test_a_server_that_is_down_gives_the_way_out(hub: Hub, cached: Path, published: Path) -> None:
    hub.stop()
    with pytest.raises(DownloadError) as caught:
        load_femnist(url=hub.url)
    message = str(caught.value)
    assert isinstance(caught.value, OSError)
    assert f"Download {hub.url} by other means and save it as {cached}" in message
    assert 'load_femnist("train-00000-of-00001.parquet")' in message
    # And that way out works.
    cached.parent.mkdir(parents=True)
    cached.write_bytes(published.read_bytes())
    assert len(load_femnist(url=hub.url).participants) == 2
    with pytest.raises(DownloadError):
        load_femnist(url=hub.url, sha256="0" * 64)


def test_a_cached_file_of_another_size_is_fetched_again(hub: Hub, published: Path, cached: Path) -> None:
    load_femnist(url=hub.url)
    cached.write_bytes(cached.read_bytes() + b"x")
    load_femnist(url=hub.url)
    assert cached.read_bytes() == published.read_bytes()
    assert len(hub.asked) == 4
    content = published.read_bytes()
    cached.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))  # same size: found when asked
    load_femnist(url=hub.url, verify=True)
    assert cached.read_bytes() == content


def test_what_is_no_pointer_is_refused(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "hub" / "raw" / "main" / NAME).write_text("<html>")
    with pytest.raises(DownloadError, match=r"must be a Git-LFS pointer.*give sha256="):
        load_femnist(url=hub.url)
    with pytest.raises(DownloadError, match="its hash is not known: give sha256="):
        load_femnist(url=hub.url.replace("resolve", "elsewhere"))
    (tmp_path / "hub" / "raw" / "main" / NAME).unlink()
    with pytest.raises(DownloadError, match="404"):
        load_femnist(url=hub.url)


@needs(HEART)
def test_heart_is_checked_against_known_hashes(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "heart-disease"
    folder.mkdir()
    for file in HEART.glob("processed.*.data"):
        (folder / file.name).write_bytes(file.read_bytes())
    url = hub.url.replace(f"resolve/main/{NAME}", "heart-disease/")
    assert len(load_heart(url=url, test_size=0).y) == 920
    hub.stop()
    assert len(load_heart(url=url, test_size=0).y) == 920
    file = tmp_path / "cache" / "heart" / "processed.va.data"
    file.write_bytes(file.read_bytes().replace(b"63", b"64", 1))
    with pytest.raises(DownloadError, match=r"cannot download UCI heart disease from .*processed\.va\.data"):
        load_heart(url=url)


def test_heart_of_another_content_is_refused(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "heart-disease"
    folder.mkdir()
    (folder / "processed.cleveland.data").write_text("1" + ",0" * 13)
    with pytest.raises(DownloadError, match="does not match"):
        load_heart(url=hub.url.replace(f"resolve/main/{NAME}", "heart-disease"))


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOLKMOOT_DATA", str(tmp_path / "env"))
    assert cache_folder() == tmp_path / "env"
    assert cache_folder(tmp_path / "mine") == tmp_path / "mine"
    monkeypatch.delenv("FOLKMOOT_DATA")
    assert cache_folder().name == "folkmoot"


def test_without_pooch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "folkmoot\[data\]"'):
        load_heart(cache=tmp_path)
