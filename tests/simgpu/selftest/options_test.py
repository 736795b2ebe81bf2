"""options_test.py BUILD: tests that tests/simgpu/run reports invalid options, and passes valid
options to the command as environment variables."""
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv[1]
RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run")


# Options that --random does not choose: properties of the machine, output files, the speed, and
# `kernel`, whose value contains kernel names of the program.
NO_EDGES = {"build", "cuda", "nccl", "nccl-ras", "devices", "driver-version", "scale", "random",
            "random-errors", "kernel", "truth", "record", "log"}
VERSIONS = ["12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8", "12.9", "13.0", "13.1",
            "13.2", "13.3", "13.4", "13.5"]
# Values of --fail (functions of CUPTI and CUDA) and of --kernel-error that --random has to choose
# for some seed.
FAILURES = {"cuptiActivityFlushAll:2:999", "cuptiActivityFlushAll:0:7",
            "cuptiActivityGetNumDroppedRecords:", "cuptiGetTimestamp:",
            "cuptiActivitySetAttribute:", "cuptiSetThreadIdType:",
            "cuptiActivityRegisterTimestampCallback:", "cuptiSubscribe:", "cuLaunchKernel:",
            "cudaLaunchKernel:", "cuStreamWaitEvent:", "cuGraphLaunch:", "cudaMalloc:", ":700", ":719"}


def every_option():
    """Returns the names in options.txt."""
    with open(os.path.join(os.path.dirname(RUN), "options.txt")) as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    return {line.split(" | ")[0].strip() for line in lines}


def run(*arguments):
    return subprocess.run(
        [RUN, "--build", BUILD, *arguments], capture_output=True, text=True, check=False
    )


def simgpu(result):
    """Returns the options that the command received."""
    return sorted(line for line in result.stdout.splitlines() if line.startswith("SIMGPU_"))


class OptionsTest(unittest.TestCase):
    def test_every_option_has_a_line_of_help(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for name in ("kernel", "fail", "truth", "correlation-start"):
            self.assertIn(f"--{name} ", result.stdout)

    def test_wrong_options_are_named(self):
        for arguments, text in (
            (("--nonsense", "true"), "--nonsense"),
            (("--fail", "cuInit", "true"), "expected F:N:CODE"),
            (("--cuda", "11", "true"), "expected 12|13"),
            (("--kernel",), "needs a value"),
        ):
            result = run(*arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(text, result.stderr)

    def test_options_become_variables(self):
        result = run("--kernel", "a=1us", "--kernel=b=2us", "--nested-driver", "--", "env")
        self.assertIn("SIMGPU_KERNEL=a=1us;b=2us", result.stdout)
        self.assertIn("SIMGPU_NESTED_DRIVER=1", result.stdout)

    def test_random_mode_repeats_itself_and_says_what_it_chose(self):
        first, again, other = (run("--random", seed, "env") for seed in ("3", "3", "4"))
        self.assertRegex(first.stderr, r"^simgpu: random 3: --seed 3 --cupti 1[23]\.\d")
        self.assertEqual(first.stderr, again.stderr)
        self.assertNotEqual(first.stderr.split(": ")[2], other.stderr.split(": ")[2])
        self.assertIn("SIMGPU_SEED=3", first.stdout)

    def test_what_is_given_stands_in_random_mode(self):
        result = run("--random", "3", "--cupti-drop", "0", "--cupti", "12.4", "env")
        self.assertIn("SIMGPU_CUPTI_DROP=0\n", result.stdout)
        self.assertNotIn("--cupti ", result.stderr)

    def test_random_mode_prints_options_that_may_be_given(self):
        chosen = run("--random", "5", "--random-errors", "env")
        given = chosen.stderr.split(": ", 2)[2].split()
        again = run(*given, "env")
        self.assertEqual(again.stderr, "")
        self.assertEqual(simgpu(chosen), simgpu(again))

    def test_random_mode_mixes_all_hard_edges(self):
        """The 200 seeds of tests/e2e/test_random_mode.py choose every option. Stops as soon as
        every option has been chosen."""
        missing = {f"--{name} " for name in every_option() - NO_EDGES}
        missing |= {f"--cupti {version} " for version in VERSIONS} | FAILURES
        for seed in range(1, 201):
            said = run("--random", str(seed), "--random-errors", "true").stderr.rstrip() + " "
            missing = {name for name in missing if name not in said}
            if not missing:
                break
        self.assertEqual(missing, set())
        plain = "".join(run("--random", str(seed), "true").stderr for seed in range(10))
        self.assertNotIn("--kernel-error", plain)
        self.assertNotIn("--cupti-hang", plain)

    def test_the_cuda_is_that_of_the_pytorch_that_is_run(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/usr/bin", os.path.join(folder, "bin"))
            package = os.path.join(folder, "lib", "python3.11", "site-packages", "torch")
            os.makedirs(package)
            for major in ("12", "13"):
                with open(os.path.join(package, "version.py"), "w") as file:
                    file.write(f"__version__ = 'x'\ncuda: Optional[str] = '{major}.0'\n")
                self.assertIn(f"SIMGPU_CUDA={major}\n",
                              run(os.path.join(folder, "bin", "env")).stdout)
                for seed in range(4):
                    said = run("--random", str(seed), os.path.join(folder, "bin", "true")).stderr
                    self.assertRegex(said, rf" --cupti {major}\.\d")
                    self.assertNotRegex(said, "nested-driver|cupti-twice")
        for seed in range(4):
            said = run("--random", str(seed), "--cuda", "12", "true").stderr
            self.assertRegex(said, r" --cupti 12\.\d")

    def test_the_status_is_the_command_s(self):
        self.assertEqual(run("sh", "-c", "exit 7").returncode, 7)


unittest.main(argv=sys.argv[:1])
