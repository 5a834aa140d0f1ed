"""A limit on the time of each test, whatever it waits for."""

import signal
import unittest


class TooLong(Exception):
    """A test has taken longer than its limit."""


def runner(limit):
    """For unittest.main: each test, and what is set up or torn down between two of them, fails after limit seconds
    with a traceback of where it waits. A minute later what waits on, such as a clean-up, fails as well. Programs that
    tests start obey SIGINT, also in a shell's background, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def expired(*_):
        raise TooLong(f"it has taken {limit} s")

    class Result(unittest.TextTestResult):
        def arm(self):
            signal.signal(signal.SIGALRM, expired)
            signal.setitimer(signal.ITIMER_REAL, limit, 60)

        def startTestRun(self):
            super().startTestRun()
            self.arm()

        def startTest(self, test):
            super().startTest(test)
            self.arm()

        def stopTest(self, test):
            self.arm()
            super().stopTest(test)

        def stopTestRun(self):
            signal.setitimer(signal.ITIMER_REAL, 0)
            super().stopTestRun()

    class Runner(unittest.TextTestRunner):
        resultclass = Result

    return Runner
