"""options_test.py BUILD: tests/simgpu/run says what is wrong with its options, and passes the rest."""
import os
import subprocess
import sys
import unittest

BUILD = sys.argv[1]
RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run")


def run(*arguments):
    return subprocess.run(
        [RUN, "--build", BUILD, *arguments], capture_output=True, text=True, check=False
    )


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

    def test_the_status_is_the_command_s(self):
        self.assertEqual(run("sh", "-c", "exit 7").returncode, 7)


unittest.main(argv=sys.argv[:1])
