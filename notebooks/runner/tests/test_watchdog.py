"""The limit on the time of each test."""

import signal
import subprocess
import sys
import unittest

from fixtures import HERE

# The first test waits for a program that ends with its input and, before, lets the limit pass.
TESTS = """
import os, signal, subprocess, sys, unittest
sys.path.insert(0, sys.argv.pop())
import watchdog

class T(unittest.TestCase):
    def test_1(self):
        program = subprocess.Popen(["sh", "-c", f"kill -ALRM {os.getpid()}; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.communicate)
        program.stdout.readline()

    def test_2(self):
        self.assertGreater(signal.getitimer(signal.ITIMER_REAL)[0], 1000)

    def test_3(self):
        said = subprocess.run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"], capture_output=True, text=True).stderr
        self.assertIn("KeyboardInterrupt", said)

unittest.main(testRunner=watchdog.runner(7200))
"""


class Limit(unittest.TestCase):
    def test_a_test_that_hangs_fails_and_the_next_one_runs(self):
        done = subprocess.run([sys.executable, "-I", "-c", TESTS, str(HERE)], capture_output=True, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertRegex(done.stderr, r"^E\.\.\n(.|\n)*ERROR: test_1 (.|\n)*TooLong: it has taken 7200 s\n")
