"""Drives headless Chromium through its DevTools protocol, over pipes. The tests wait for what the page does, and never
for a time."""
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TIMEOUT_S = 300
# Descriptors 3 and 4 are the browser's ends of the pipes. The others are above, so that no redirection replaces them.
WITH_PIPES = 'read="$1" write="$2"; shift 2; eval "exec \\"\\$@\\" 3<&$read 4>&$write"'


def high(fd: int) -> int:
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


class Browser:
    """One page. `requests` has the addresses that the page asked for, but for its own, and `said` what came to the
    console."""

    def __init__(self, write_fd: int, read_fd: int):
        self.write_fd, self.read_fd, self.buffer = write_fd, read_fd, b""
        self.last_id, self.session = 0, None
        self.requests, self.said, self.loaded = [], [], False

    def call(self, method: str, **params) -> dict:
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        while (answer := self.next_message()).get("id") != message["id"]:
            self.note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def next_message(self) -> dict:
        while b"\0" not in self.buffer:
            assert select.select([self.read_fd], [], [], TIMEOUT_S)[0], "the browser says nothing"
            data = os.read(self.read_fd, 1 << 20)
            assert data, "the browser has ended"
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event: dict):
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent" and params.get("type") != "Document":
            self.requests.append(params["request"]["url"])
        if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.said.append(json.dumps(params)[:1000])
        self.loaded |= event.get("method") == "Page.loadEventFired"

    def open(self, path, dark: bool):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=path.as_uri())
        while not self.loaded:
            self.note(self.next_message())

    def run(self, script: str):
        """Runs a script that is one expression. Returns its value, or that of its promise."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")


@contextlib.contextmanager
def browser(path, profile, dark=False):
    """Opens a page in a browser of its own."""
    down_read, down_write, up_read, up_write = map(high, [*os.pipe(), *os.pipe()])
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000",
               "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    with subprocess.Popen(["bash", "-c", WITH_PIPES, "bash", str(down_read), str(up_write), *command],
                          pass_fds=(down_read, up_write), stderr=subprocess.DEVNULL) as process:
        os.close(down_read)
        os.close(up_write)
        try:
            page = Browser(down_write, up_read)
            page.open(path, dark)
            yield page
        finally:
            process.kill()
            os.close(down_write)
            os.close(up_read)
