"""What goes wrong between here and the hub, and on the disk."""
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest
from hub_server import COMMIT, Fault, git_sha1

NAME = "tiny-Q4_K_M.gguf"
SIZE = 200_000


@pytest.fixture
def tiny(hub, gguf_files):
    return hub.add("org/tiny", gguf_files)


@pytest.fixture
def etag(tiny):
    return tiny.files[NAME].etag


@pytest.fixture
def blobs(cache):
    return cache / "models--org--tiny" / "blobs"


def ranges(hub, etag):
    return [r["headers"].get("Range") for r in hub.downloads(etag) if r["server"] == "cdn"]


def start(program, environment, *arguments):
    return subprocess.Popen([program, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_connection_cut_at_every_tenth_is_taken_up_where_it_ended(hub, tiny, etag, millrace, gguf_files):
    hub.faults = [Fault(where=etag, cut_at=SIZE // 10) for _ in range(9)]
    path = pathlib.Path(millrace("pull", "org/tiny").out.strip())
    assert path.read_bytes() == gguf_files[NAME]
    assert ranges(hub, etag) == [None] + [f"bytes={SIZE * i // 10}-" for i in range(1, 10)]


@pytest.mark.parametrize("tenth", range(1, 10))
def test_a_pull_that_failed_at_a_tenth_is_continued_by_the_next(hub, tiny, etag, millrace, fails, blobs, gguf_files, tenth):
    cut = SIZE * tenth // 10
    hub.faults = [Fault(where=etag, cut_at=cut), Fault(where=etag, status=503, times=4)]
    assert f"{cut} of {SIZE} bytes" in fails(1, "pull", "org/tiny")
    assert (blobs / f"{etag}.incomplete").read_bytes() == gguf_files[NAME][:cut]
    assert not (blobs / etag).exists()
    asked = len(ranges(hub, etag))
    path = pathlib.Path(millrace("pull", "org/tiny").out.strip())
    assert path.read_bytes() == gguf_files[NAME] and not (blobs / f"{etag}.incomplete").exists()
    assert ranges(hub, etag)[asked:] == [f"bytes={cut}-"]
    # The content network tags files in its own way: told ours it would send all of it again.
    assert not [r for r in hub.requests if r["server"] == "cdn" and "If-Range" in r["headers"]]


def test_small_files_resume_at_the_endpoint_with_if_range(hub, millrace, safetensors_files):
    hub.add("org/st", safetensors_files)
    hub.faults = [Fault(where="/tokenizer.json", cut_at=1000)]
    folder = pathlib.Path(millrace("pull", "org/st").out.strip())
    assert (folder / "tokenizer.json").read_bytes() == safetensors_files["tokenizer.json"]
    again = hub.downloads("/tokenizer.json")[1]["headers"]
    assert again["Range"] == "bytes=1000-" and again["If-Range"] == f'"{git_sha1(safetensors_files["tokenizer.json"])}"'


def test_a_server_without_ranges_starts_again(hub, tiny, etag, millrace, gguf_files):
    hub.ignore_ranges = True
    hub.faults = [Fault(where=etag, cut_at=SIZE // 2)]
    path = pathlib.Path(millrace("pull", "org/tiny").out.strip())
    assert path.read_bytes() == gguf_files[NAME]
    assert ranges(hub, etag) == [None, f"bytes={SIZE // 2}-"]


def test_wrong_bytes_are_an_error_and_do_not_stay(hub, tiny, etag, fails, blobs):
    hub.faults = [Fault(where=etag, change=lambda content: content[:-1] + b"\0", times=9)]
    assert f"checksum {etag} expected" in fails(3, "pull", "org/tiny")
    assert not list(blobs.glob(f"{etag}*"))
    assert not (blobs.parent / "refs" / "main").exists()


def test_wrong_bytes_of_a_small_file_are_noticed_too(hub, tiny, fails):
    hub.faults = [Fault(where="README.md", change=lambda content: content[:-1] + b"\0", times=9)]
    assert "README.md" in fails(3, "pull", "org/tiny")


def test_a_damaged_part_of_an_earlier_download_is_fetched_again(hub, tiny, etag, millrace, blobs, gguf_files):
    blobs.mkdir(parents=True)
    (blobs / f"{etag}.incomplete").write_bytes(b"\0" * 5000)
    outcome = millrace("pull", "org/tiny")
    assert pathlib.Path(outcome.out.strip()).read_bytes() == gguf_files[NAME]
    assert "the part from an earlier download is damaged" in outcome.err
    assert ranges(hub, etag) == ["bytes=5000-", None]


def test_a_truncated_blob_is_replaced(hub, tiny, etag, millrace, blobs, gguf_files):
    path = pathlib.Path(millrace("pull", "org/tiny").out.strip())
    (blobs / etag).write_bytes(b"short")
    millrace("pull", "org/tiny")
    assert path.read_bytes() == gguf_files[NAME]


@pytest.mark.parametrize("change", [lambda content: content + b"more", lambda content: content[:-5]])
def test_a_wrong_size_is_an_error(hub, tiny, etag, fails, change):
    hub.faults = [Fault(where=etag, change=change, times=9)]
    assert f"{SIZE} bytes expected" in fails(3, "pull", "org/tiny")


def test_429_waits_as_long_as_it_is_told(hub, tiny, etag, millrace):
    hub.faults = [Fault(where="/api/", status=429, headers={"Retry-After": "1"}), Fault(where=etag, status=429, headers={"Retry-After": "0"})]
    outcome = millrace("pull", "org/tiny")
    assert "HTTP 429" in outcome.err and "trying again in 1.0 s" in outcome.err


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_a_failing_server_is_tried_again(hub, tiny, etag, millrace, status):
    hub.faults = [Fault(where="/api/", status=status, times=2), Fault(where=etag, status=status, times=2)]
    millrace("pull", "org/tiny")


def test_a_server_that_keeps_failing_is_given_up(hub, tiny, fails):
    hub.faults = [Fault(where="/api/", status=500, times=100)]
    assert "HTTP 500" in fails(1, "pull", "org/tiny")
    assert len(hub.requests) == 5


def test_a_stalled_server_is_left_and_asked_again(hub, tiny, etag, millrace, gguf_files):
    hub.faults = [Fault(where=etag, stall_at=SIZE // 2)]
    outcome = millrace("pull", "org/tiny", env={"HF_HUB_DOWNLOAD_TIMEOUT": "1"})
    assert pathlib.Path(outcome.out.strip()).read_bytes() == gguf_files[NAME]
    assert ranges(hub, etag)[1] == f"bytes={SIZE // 2}-"


def test_without_access_it_says_whether_a_token_was_sent(hub, gguf_files, fails):
    hub.add("org/gated", gguf_files, token="hf_good", gated=True)
    error = fails(3, "pull", "org/gated")
    assert "gated" in error and "HTTP 401" in error and "no token was sent: set HF_TOKEN" in error
    error = fails(3, "pull", "org/gated", env={"HF_TOKEN": "hf_other"})
    assert "licence must be accepted" in error and "HTTP 403" in error and "the token of HF_TOKEN was sent" in error
    assert "hf_other" not in error


def test_absence_says_of_what(hub, tiny, fails):
    assert "no such repository, or it is private" in fails(3, "pull", "org/nothing")
    assert "no such repository on" in fails(3, "pull", "org/nothing", env={"HF_TOKEN": "hf_x"})
    assert "no revision 'v9'" in fails(3, "pull", "org/tiny@v9")
    hub.faults = [Fault(where=NAME, status=404, headers={"X-Error-Code": "EntryNotFound"})]
    assert f"no file '{NAME}'" in fails(3, "pull", "org/tiny")


def test_an_endpoint_that_is_not_there(hub, fails):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = fails(1, "pull", "org/tiny", env={"HF_ENDPOINT": f"http://127.0.0.1:{taken.getsockname()[1]}"})
    assert "connect" in error.lower()


@pytest.mark.parametrize("arguments", [["pull", "org/tiny"], ["run", "org/tiny", "Hi"]])
def test_a_host_without_an_address_is_one_sentence_at_once(millrace, arguments):
    outcome = millrace(*arguments, ok=False, env={"HF_ENDPOINT": "http://no-such-host.invalid", "MILLRACE_RETRY_DELAY": "60"})
    assert outcome.code == 1 and "resolve host" in outcome.err and "trying again" not in outcome.err, outcome.err
    assert outcome.err.count("\n") <= 2


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_asks_nobody(hub, tiny, millrace, fails, variable):
    fails(3, "pull", "org/tiny", env={variable: "1"})
    assert "offline" in fails(3, "inspect", "org/tiny", env={variable: "1"})
    assert not hub.requests
    path = millrace("pull", "org/tiny").out
    asked = len(hub.requests)
    assert millrace("pull", "org/tiny", env={variable: "1"}).out == path
    assert millrace("pull", "org/tiny", "--offline").out == path
    assert len(hub.requests) == asked


def test_too_many_redirects(hub, tiny, fails):
    hub.faults = [Fault(where="/api/", redirect="/api/models/org/tiny/revision/main", times=100)]
    assert "more than 10 redirects" in fails(1, "pull", "org/tiny")


def test_a_redirect_to_another_scheme_is_refused(hub, tiny, fails):
    hub.faults = [Fault(where="/api/", redirect="file:///etc/passwd", times=100)]
    assert "an http or https address expected" in fails(1, "pull", "org/tiny")


def test_signed_addresses_are_not_shown(hub, tiny, etag, fails):
    hub.faults = [Fault(where=etag, status=403)]
    assert "secret" not in fails(3, "pull", "org/tiny")


def test_a_moved_repository_keeps_the_token(hub, gguf_files, millrace):
    hub.add("new/tiny", gguf_files, token="hf_x")
    hub.add("old/tiny", gguf_files, token="hf_x")
    hub.faults = [Fault(where="/api/models/old/tiny", redirect="/api/models/new/tiny/revision/main?blobs=true")]
    millrace("pull", "old/tiny", env={"HF_TOKEN": "hf_x"})


@pytest.fixture
def https(hub, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                    "-out", certificate, "-days", "2", "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return hub.serve("hub", context), hub.serve("cdn", context), certificate


def test_https_with_a_certificate_of_the_users_own(hub, tiny, https, millrace, fails):
    hub.cdn_url = https[1]
    assert "certificate" in fails(1, "pull", "org/tiny", env={"HF_ENDPOINT": https[0]})
    millrace("pull", "org/tiny", env={"HF_ENDPOINT": https[0], "SSL_CERT_FILE": str(https[2])})


def test_https_is_not_redirected_to_http(hub, tiny, https, fails):
    error = fails(1, "pull", "org/tiny", env={"HF_ENDPOINT": https[0], "SSL_CERT_FILE": str(https[2])})
    assert "redirect from https to http" in error
    assert not [r for r in hub.requests if r["server"] == "cdn"]


def test_two_pulls_at_once_fetch_once(hub, tiny, etag, program, environment, gguf_files):
    hub.bytes_per_second = 400_000
    first = start(program, environment, "pull", "org/tiny")
    wait_for(lambda: ranges(hub, etag))
    second = start(program, environment, "pull", "org/tiny")
    (out1, err1), (out2, err2) = first.communicate(timeout=30), second.communicate(timeout=30)
    assert (first.returncode, second.returncode) == (0, 0), err1 + err2
    assert out1 == out2 and pathlib.Path(out1.decode().strip()).read_bytes() == gguf_files[NAME]
    assert b"another process downloads it; waiting" in err2
    assert ranges(hub, etag) == [None]


def test_a_killed_pull_is_continued(hub, tiny, etag, program, environment, blobs, millrace, gguf_files):
    hub.bytes_per_second = 200_000
    pull = start(program, environment, "pull", "org/tiny")
    part = blobs / f"{etag}.incomplete"
    wait_for(lambda: part.exists() and part.stat().st_size > 30_000)
    pull.kill()
    pull.communicate()
    size = part.stat().st_size
    assert 30_000 < size < SIZE and not (blobs.parent / "refs" / "main").exists()
    hub.bytes_per_second = 0
    path = pathlib.Path(millrace("pull", "org/tiny").out.strip())
    assert path.read_bytes() == gguf_files[NAME]
    assert ranges(hub, etag)[-1] == f"bytes={size}-"


def test_ctrl_c_ends_with_130_and_keeps_the_part(hub, tiny, etag, program, environment, blobs):
    hub.bytes_per_second = 50_000
    pull = start(program, environment, "pull", "org/tiny")
    part = blobs / f"{etag}.incomplete"
    wait_for(lambda: part.exists() and part.stat().st_size > 10_000)
    pull.send_signal(signal.SIGINT)
    out, err = pull.communicate(timeout=10)
    assert (pull.returncode, out) == (130, b"") and b"interrupted" in err
    assert part.stat().st_size >= 10_000


def test_requests_go_through_the_proxy(hub, tiny, millrace):
    seen = []

    def forward(client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            line, _, rest = head.partition(b"\r\n")
            method, address, version = line.split(b" ")
            seen.append(address.decode())
            origin, path = address[len(b"http://"):].split(b"/", 1)
            host, port = origin.decode().split(":")
            host = "127.0.0.1"
            with socket.create_connection((host, int(port))) as server:
                rest = b"\r\n".join(l for l in rest.split(b"\r\n") if not l.lower().startswith(b"proxy-connection"))
                server.sendall(method + b" /" + path + b" " + version + b"\r\nConnection: close\r\n" + rest)
                while chunk := server.recv(65536):
                    client.sendall(chunk)

    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=forward, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    millrace("pull", "org/tiny", env={"http_proxy": proxy})
    assert {a.split("/")[2] for a in seen} == {hub.url.split("/")[2], hub.cdn_url.split("/")[2]}
    asked = len(seen)
    millrace("pull", "org/tiny", env={"http_proxy": proxy, "no_proxy": "127.0.0.1"})
    assert len(seen) == asked
    listener.close()


def test_a_disk_that_fills_up_is_4_and_keeps_what_there_is(hub, tiny, etag, fails, blobs):
    """A limit on file sizes stands for the full disk: both end a write."""
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))

    error = fails(4, "pull", "org/tiny", preexec_fn=limit)
    assert "80.0 kB more needed" in error and "what was downloaded stays" in error
    assert (blobs / f"{etag}.incomplete").stat().st_size == 120_000


@pytest.fixture
def small_disk(tmp_path):
    path = tmp_path / "disk"
    path.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", path], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    yield path
    subprocess.run(["umount", path], check=True)


def test_a_disk_without_room_is_4_before_anything_is_fetched(hub, tiny, etag, fails, small_disk):
    error = fails(4, "pull", "org/tiny", env={"HF_HUB_CACHE": str(small_disk)})
    assert "200 kB needed" in error and "free" in error
    assert not hub.downloads(etag)


def test_the_ref_is_written_last(hub, tiny, millrace, fails, cache):
    """A pull of a new commit that fails leaves the old model in use."""
    old = millrace("pull", "org/tiny").out
    tiny.revisions["main"] = "f" * 40
    tiny.files[NAME].content = b"new" * 1000
    hub.faults = [Fault(where=tiny.files[NAME].etag, status=503, times=100)]
    fails(1, "pull", "org/tiny")
    assert millrace("pull", "org/tiny", "--offline").out == old
    assert (cache / "models--org--tiny" / "refs" / "main").read_text() == COMMIT
