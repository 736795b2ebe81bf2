"""Tests `syncline open` with an HTTP client in the place of a browser."""
import contextlib
import gzip
import http.client
import json
import random
import re
import signal
import socket
import subprocess

import pytest
import zstandard

from test_tool import TOOL, make_trace, one_line, run


@contextlib.contextmanager
def opened(*arguments, port=0):
    """Runs the command. Gives the process, its port, and the name in the link."""
    process = subprocess.Popen([TOOL, "open", "--port", str(port), *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        said = "".join(process.stdout.readline() for _ in range(3))
        name = re.search(r"https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:9001/(\S+)\n", said)[1]
        yield process, int(re.search(r"ssh -L 9001:127\.0\.0\.1:(\d+) \S+\n", said)[1]), name
    finally:
        process.kill()
        process.communicate()


def ask(port, path, method="GET", **headers):
    """Returns the answer, whose body is not read yet."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def ends(process, status=0) -> str:
    out, error = process.communicate(timeout=60)
    assert process.returncode == status, out + error
    return out + error


COMPRESSED = {".zst": lambda text: zstandard.compress(text) + zstandard.compress(b"\n"), ".gz": gzip.compress, "": bytes}


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_a_trace_is_served_once_as_gzip(tmp_path, suffix):
    text = make_trace()
    path = tmp_path / f"1 <b>.pt.trace.json{suffix}"
    path.write_bytes(COMPRESSED[suffix](text))
    with opened(path) as (process, port, name):
        assert name == "1__b_.pt.trace.json.gz"
        answer = ask(port, f"/{name}")
        assert answer.status == 200 and answer.getheader("Content-Type") == "application/gzip"
        assert answer.getheader("Access-Control-Allow-Origin") == "https://ui.perfetto.dev"
        assert gzip.decompress(answer.read()).rstrip() == text.rstrip()
        answer.close()
        assert "fetched: " in ends(process)


def test_only_the_one_file_is_served_and_only_here(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace())
    with opened(path) as (process, port, name):
        for wrong, method, headers in [("/", "GET", {}), (f"/{name}x", "GET", {}), (f"/../{name}", "GET", {}), (f"//{name}", "GET", {}),
                                       (f"/{name}?a=1", "GET", {}), (f"/{name}", "POST", {}), (f"/{name}", "PUT", {}),
                                       (f"/{name}", "GET", {"Host": "evil.example"}),
                                       (f"/{name}", "GET", {"Host": "127.0.0.1.evil.example:9001"})]:
            answer = ask(port, wrong, method, **headers)
            assert (answer.status, answer.read()) == (404, b""), (wrong, method, headers)
            assert not answer.getheader("Access-Control-Allow-Origin")
        answer = ask(port, f"/{name}", "HEAD")
        assert (answer.status, answer.read()) == (200, b"")
        answer = ask(port, f"/{name}", "OPTIONS", Origin="https://ui.perfetto.dev")
        assert answer.status == 204 and "GET" in answer.getheader("Access-Control-Allow-Methods")
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), timeout=10):
            pass
        assert process.poll() is None, "nothing of this ends the command"
        ask(port, f"/{name}", Host="localhost:9001").read()
        ends(process)


def large_trace(path) -> bytes:
    """A trace of which gzip is larger than what the sockets hold."""
    text = json.dumps({"traceEvents": [{"ph": "X", "name": random.Random(1).randbytes(12_000_000).hex(), "ts": 1, "dur": 1}]}).encode()
    path.write_bytes(text)
    return text


def test_other_clients_do_not_hold_up_a_fetch(tmp_path):
    """A silent client, one that goes away, and a slow one, whose fetch is completed after another's."""
    text = large_trace(tmp_path / "t.json")
    with opened(tmp_path / "t.json") as (process, port, name), \
            socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"GET /")
        gone = ask(port, f"/{name}")
        gone.read(1000)
        gone.close()
        slow = ask(port, f"/{name}")
        begun = slow.read(1000)
        assert gzip.decompress(ask(port, f"/{name}").read()) == text
        assert process.poll() is None
        assert gzip.decompress(begun + slow.read()) == text
        slow.close()
        ends(process)


def test_an_old_client_gets_no_chunks(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace())
    with opened(path) as (process, port, name), socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(f"GET /{name} HTTP/1.0\r\n\r\n".encode())
        head, _, body = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
        assert b"200 OK" in head and b"chunked" not in head
        assert gzip.decompress(body) == make_trace()
        client.close()
        ends(process)


def test_a_taken_port_and_ctrl_c(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(make_trace())
    with opened(path) as (process, port, _):
        assert f"port {port} is taken" in one_line(run("open", "--port", port, path, status=2)[1])
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT
    with opened(path, port=port) as (again, same, _):
        assert same == port and again.poll() is None, "the port is free again at once"


def test_a_folder_gives_the_newest_window_of_the_lowest_rank(tmp_path):
    for rank in (2, 10):
        for window in (1, 2, 10):
            path = tmp_path / "job" / f"vm-{rank}-{100 + rank}" / f"{window}.pt.trace.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 16},
                                        "traceEvents": [{"ph": "X", "name": f"{rank}-{window}", "ts": 1, "dur": 1}]}))
    for options, expected in [((), "2-10"), (("--rank", 10), "10-10")]:
        with opened(tmp_path / "job", *options) as (process, port, name):
            assert json.loads(gzip.decompress(ask(port, f"/{name}").read()))["traceEvents"][0]["name"] == expected
            ends(process)
    assert "no file is of rank 3" in one_line(run("open", "--rank", 3, tmp_path / "job", status=2)[1])


def test_files_that_cannot_be_served(tmp_path):
    cut = tmp_path / "cut.json.zst"
    cut.write_bytes(zstandard.compress(large_trace(tmp_path / "t.json"))[:-1000])
    with opened(cut) as (process, port, name):
        assert len(gzip.decompress(ask(port, f"/{name}").read())) > 1000
        assert "only a part of" in ends(process, status=1)
    assert "no_such" in one_line(run("open", tmp_path / "no_such", status=2)[1])
    assert "standard input" in one_line(run("open", "-", status=2)[1])
    assert "--port x" in one_line(run("open", "--port", "x", cut, status=2)[1])
    (tmp_path / "t.json").write_bytes(make_trace())
    run("convert", tmp_path / "t.json", "-o", tmp_path / "1.0.et")
    assert "execution trace" in one_line(run("open", tmp_path / "1.0.et", status=2)[1])
