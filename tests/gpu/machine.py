"""Runs programs with and without syncline, on the real GPU or on the simulated one."""

import dataclasses
import os
import pathlib
import platform
import re
import subprocess
import time

from suite import Skip
from kineto_trace import Trace

ROOT = pathlib.Path(__file__).resolve().parents[2]


class NoGpu(Exception):
    """Raised if there is no usable GPU. The text says why."""


@dataclasses.dataclass
class Run:
    status: int
    stdout: str
    stderr: str
    wall_s: float
    ended_ns: int  # CLOCK_REALTIME after the end of the process
    folder: pathlib.Path = None  # the output folder, if syncline was in the process

    def files(self, pattern="*"):
        return sorted(p for p in self.folder.rglob(pattern) if p.is_file())

    def step_ms(self):
        """Returns the time per step (or round) in ms that the sample or job printed on stderr."""
        found = re.search(r"([\d.]+) (ms|us) a (step|round)", self.stderr)
        assert found, f"no time in: {self.stderr!r}"
        return float(found[1]) / (1000 if found[2] == "us" else 1)


class Machine:
    def __init__(self, build, out, simulated):
        self.build = pathlib.Path(build).resolve()
        self.out = pathlib.Path(out).resolve()
        self.simulated = simulated
        self.library = self._find("libsyncline.so")
        self.tool = self._find("syncline")
        self.recordings = 0

    def _find(self, name):
        """Returns the path of a built file with this name. The file may be a symbolic link."""
        found = [p for p in sorted(self.build.rglob(name)) if p.is_file()]
        assert found, f"no {name} below {self.build}: build it first"
        return found[0]

    def program(self, name):
        try:
            return str(self._find(name))
        except AssertionError as missing:
            raise Skip(str(missing)) from None

    def run(self, command, environment=None, timeout=90, sim=()):
        """Runs the command without syncline. `sim` has options of the simulated GPU."""
        if self.simulated:
            command = [str(ROOT / "tests/simgpu/run"), "--build", str(self.build), *sim, *command]
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("SYNCLINE_") and k != "CUDA_INJECTION64_PATH"}
        begin = time.monotonic()
        done = subprocess.run(command, env={**clean, **(environment or {})}, text=True,
                              capture_output=True, timeout=timeout, check=False)
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - begin,
                   time.time_ns())

    def record(self, command, environment=None, timeout=90, sim=()):
        """Runs the command with syncline. The output is in a new folder."""
        self.recordings += 1
        folder = self.out / "traces" / f"{self.recordings:03}-{pathlib.Path(command[0]).name}"
        folder.mkdir(parents=True)
        run = self.run(command, {"CUDA_INJECTION64_PATH": str(self.library),
                                 "SYNCLINE_OUTPUT": str(folder), **(environment or {})}, timeout,
                       sim)
        run.folder = folder
        folder.with_name(f"{folder.name}.stderr").write_text(run.stderr)
        return run

    def syncline(self, *arguments, timeout=60):
        return subprocess.run([str(self.tool), *map(str, arguments)], text=True,
                              capture_output=True, timeout=timeout, check=False)

    def traces(self, run, expected=1):
        """Returns the run's complete traces. Checks each trace with `syncline check`, converts it
        to plain JSON, and parses it."""
        files = run.files("*.pt.trace.json.zst")
        left = run.files("*.part")
        assert not left, f"incomplete files: {[p.name for p in left]}; stderr: {run.stderr[-500:]}"
        assert len(files) == expected, \
            f"{len(files)} traces, expected {expected}; stderr: {run.stderr[-500:]}"
        return [self.read(path) for path in files]

    def read(self, path):
        checked = self.syncline("check", path)
        assert checked.returncode == 0, f"syncline check {path.name}: {checked.stdout[-300:]}" \
                                        f"{checked.stderr[-300:]}"
        converted = path.with_name(path.name.removesuffix(".zst") + ".gz")
        done = self.syncline("convert", path, "--to", "kineto-gz", "-o", converted)
        assert done.returncode == 0, f"syncline convert {path.name}: {done.stderr[-300:]}"
        return Trace(converted)

    def describe(self):
        """Returns a description of the machine and the GPU."""
        probe = self.run([self.program("probe_gpu")])
        gpu = probe.stdout.strip()
        if probe.status != 0:
            raise NoGpu(gpu or probe.stderr.strip())
        facts = {"simulated": self.simulated, "GPU": gpu, "system": platform.platform(),
                 "processors": os.cpu_count(), "Python": platform.python_version(),
                 "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
        try:
            smi = subprocess.run(["nvidia-smi", "--query-gpu=driver_version,clocks.sm",
                                  "--format=csv,noheader"], text=True, capture_output=True,
                                 timeout=20, check=False)
            if smi.returncode == 0 and not self.simulated:
                facts["driver, SM clock"] = smi.stdout.strip()
        except OSError:
            pass
        return facts
