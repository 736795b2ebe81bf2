"""Reads the trace argv[1] (.json or .json.gz) with torch-tb-profiler and prints its steps and kernels as JSON.
test_tb_profiler.py runs this program in the environment of `tests/venv.sh tb`, because torch-tb-profiler is
installed only there."""
import json
import sys
import tempfile

from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.event_parser import ProfileRole


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        profile = RunProfileData.parse("worker", "1", sys.argv[1], cache)
    steps = dict(zip(profile.steps_names, (step.costs[ProfileRole.Total] for step in profile.steps_costs)))
    kernels = {name: [int(row["count"]), row["sum"]] for name, row in profile.kernel_stat.iterrows()}
    json.dump({"steps": steps, "kernels": kernels}, sys.stdout)


if __name__ == "__main__":
    main()
