"""Runs the same training bare and under one profiler after another, on the simulated GPU. Shared by
bench/vs_kineto and bench/pytorch, whose modes differ in the profiler and the recorded data.

The runs of all modes are interleaved, so that a disturbance of the machine affects all modes. Times
are CPU times of threads: ns in the results of a run, medians of the rounds in a table.
"""
import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parent
JOBS = ("mlp", "transformer")
ROWS = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync",
        "overhead")
OPERATORS = ("cpu_op", "user_annotation")
# With these variables syncline records only CUPTI records.
CUPTI_ONLY = {"SYNCLINE_PYTHON": "off", "SYNCLINE_OPS": "off", "SYNCLINE_SOURCE_DEPTH": "0"}


def options(usage, rounds=3, steps=200):
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", default=str(REPO / "build" / "release"))
    return parser.parse_args()


class Bench:
    """Runs the jobs. `modes` maps the name of a mode under syncline to its environment variables.
    The words of a name that begins with `kineto` select what torch.profiler records."""

    def __init__(self, chosen, modes):
        self.chosen, self.modes = chosen, modes
        self.jobs = [chosen.job] if chosen.job else JOBS
        self.build = pathlib.Path(chosen.build).resolve()
        if not (self.build / "bench" / "idle_client.so").exists():
            sys.exit(f"{sys.argv[0]}: {self.build} has no bench/idle_client.so: build with "
                     "-DSYNCLINE_BENCH=ON")
        self.python = subprocess.run([REPO / "tests" / "venv.sh", "torch-2.11"], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout.strip()

    def all_rounds(self):
        """Returns a map from (job, mode) to the list of the results, one for each round."""
        runs = {}
        for _ in range(self.chosen.rounds):
            for job in self.jobs:
                for mode in self.modes:
                    runs.setdefault((job, mode), []).append(self.run(job, mode))
        return runs

    def environment(self, mode):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SYNCLINE_")}
        env["OMP_NUM_THREADS"] = "1"
        if mode == "idle":
            env["CUDA_INJECTION64_PATH"] = str(self.build / "bench" / "idle_client.so")
        elif mode.startswith("syncline"):
            env |= {"CUDA_INJECTION64_PATH": str(self.build / "runtime" / "libsyncline.so"),
                    "SYNCLINE_OUTPUT": "out", "SYNCLINE_CHAKRA": "off", "SYNCLINE_LOG": "warn",
                    **self.modes[mode]}
        return env

    def command(self, job, mode, steps, folder):
        return [REPO / "tests" / "simgpu" / "run", "--build", self.build, "--cupti", "13.0", "--scale",
                "100", "--log", folder / "log", self.python, HERE / "training_job.py", job,
                mode.replace(" ", "_"), str(steps), folder]

    def run(self, job, mode):
        """Runs one process. Returns its results, including its file and the time of its exit."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            subprocess.run(self.command(job, mode, self.chosen.steps, folder),
                           env=self.environment(mode), cwd=folder, check=True,
                           stderr=subprocess.DEVNULL)
            result = json.loads((folder / "result.json").read_text())
            for line in (folder / "log").read_text().splitlines():
                line = json.loads(line)
                if line["what"] == "client":
                    result["client"] = line
            result.update(self.file(folder, result))
            return result

    def file(self, folder, result):
        files = [*folder.glob("trace.json*"), *folder.glob("out/*/*/*.json.zst")]
        if not files:
            return {}
        (path,) = files
        if path.suffix == ".zst":
            tool = self.build / "tools" / "syncline"
            subprocess.run([tool, "convert", path, "--to", "kineto-gz", "-o", folder / "c.json.gz"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            text = gzip.decompress((folder / "c.json.gz").read_bytes())
        else:
            text = path.read_bytes()
            text = gzip.decompress(text) if path.suffix == ".gz" else text
        trace = json.loads(text)
        base = trace["baseTimeNanoseconds"] // 1000
        begin, end = result["from_ns"] / 1000 - base, result["until_ns"] / 1000 - base
        rows = [e for e in trace["traceEvents"] if e.get("ph") == "X" and begin <= e["ts"] <= end]
        operators = sum(e["cat"] in OPERATORS for e in rows)
        every = [e for e in trace["traceEvents"] if e.get("cat") in (*ROWS, *OPERATORS)
                 and e["ph"] == "X"]
        return {"rows": sum(e["cat"] in ROWS for e in rows) + operators, "operators": operators,
                "bytes_per_row": path.stat().st_size / len(every),
                "text_per_row": len(text) / len(every)}


def own_cpu_ns(result):
    """Returns the CPU time for making the file, in ns. For syncline this is the CPU time of its own
    threads."""
    if result["mode"].startswith("syncline"):
        return result["own_cpu_ns"]
    return result["stop"][0] + result["export"][0]


class Table:
    """Prints the numbers of all rounds as a Markdown table, and keeps them as rows for --json."""

    def __init__(self, name, runs, chosen):
        self.name, self.runs, self.chosen = name, runs, chosen
        self.rows = []

    def median(self, job, mode, value):
        return statistics.median(value(r) for r in self.runs[job, mode])

    def step_us(self, job, mode):
        """Returns the CPU time of a step, in us: the lower quartile over all rounds. Other load
        only adds time, so the fast steps were least disturbed."""
        steps = [ns for r in self.runs[job, mode] for ns in r["step_cpu_ns"]]
        return statistics.quantiles(steps, n=4)[0] / 1000

    def beside(self, other, job, mode):
        """Returns by how many percent the steps of a mode are longer than the steps of another
        mode: over all rounds, and the smallest and largest value of one round."""
        rounds = [100 * (statistics.quantiles(mine["step_cpu_ns"], n=4)[0]
                         / statistics.quantiles(theirs["step_cpu_ns"], n=4)[0] - 1)
                  for mine, theirs in zip(self.runs[job, mode], self.runs[job, other])]
        together = 100 * (self.step_us(job, mode) / self.step_us(job, other) - 1)
        return together, min(rounds), max(rounds)

    def per_row_ns(self, job, mode):
        return self.median(job, mode, lambda r: own_cpu_ns(r) / r["rows"])

    def saved_ms(self, job, mode):
        """Returns the time from the last step to the complete file, in ms."""
        return self.median(job, mode, lambda r: r["stop"][1] + r.get("export", (0, 0))[1]) / 1e6

    def memory_mib(self, job, mode):
        bare = self.median(job, "bare", lambda r: r["resident_kib"])
        return (self.median(job, mode, lambda r: r["resident_kib"]) - bare) / 1024

    def print_table(self, job, head, cells):
        print(f"{job}, {self.chosen.steps} steps, medians of {self.chosen.rounds} rounds\n")
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for row in cells:
            print("| " + " | ".join(row) + " |")
        print()

    def row(self, metric, value, unit, goal=None, at_least=False, against=None):
        met = None if goal is None else value >= goal if at_least else value <= goal
        self.rows.append({"bench": self.name, "metric": metric, "value": round(value, 3),
                          "unit": unit, "goal": goal, "met": met, "against": against})
        if goal is not None:
            print(f"{metric:58} {value:8.2f} {unit:6} goal {goal:g}: {'met' if met else 'missed'}")

    def write(self):
        if self.chosen.json:
            with self.chosen.json.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in self.rows)
