"""injection_test.py SCENARIO-PROGRAM LIBRARY BUILD: cuInit loads CUDA_INJECTION64_PATH once, before
any context. A library that cannot be loaded is reported and does not stop the job."""
import os
import subprocess
import sys
import unittest

PROGRAM, LIBRARY, BUILD = sys.argv[1:4]
RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run")


def run(library):
    return subprocess.run(
        [RUN, "--build", BUILD, "--devices", "2", PROGRAM, "joined_stream"],
        env={**os.environ, "CUDA_INJECTION64_PATH": library},
        capture_output=True,
        text=True,
        check=False,
    )


class InjectionTest(unittest.TestCase):
    def test_once_before_any_context(self):
        result = run(LIBRARY)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "injected: init 0, devices 0 (2), context none\n")

    def test_a_missing_library_is_said(self):
        result = run("/nowhere/libnone.so")
        self.assertEqual(result.returncode, 0)
        self.assertIn("/nowhere/libnone.so", result.stderr)


unittest.main(argv=sys.argv[:1])
