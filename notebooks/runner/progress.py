"""The line of progress on a terminal; elsewhere one line per notebook."""

import json
import os
import shutil
import sys
import threading
import time

from checkout import log

BAR = 20  # characters
GROWTH = 1.25  # an estimate of the time left that has grown by this factor is beyond what was shown


class Line:
    """A line on a terminal that text(), called twice a second, returns; None hides it."""

    def __init__(self, text, stream):
        self.text, self.stream = text, stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.lock = threading.RLock()
        self.stopped = threading.Event()
        if self.live:
            threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while not self.stopped.wait(0.5):
            self.draw()

    def draw(self):
        with self.lock:
            text = None if self.stopped.is_set() or not self.live else self.text()
            if text:
                self.stream.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
                self.stream.flush()

    def clear(self):
        """Takes the line away, for something else to be written."""
        with self.lock:
            if self.live:
                self.stream.write("\r\033[K")
                self.stream.flush()

    def close(self):
        with self.lock:
            self.stopped.set()
            self.clear()


class Waiting:
    """Shows that a step of set-up is under way, how long it takes and, where parts is
    set, how far it is. A quiet one leaves no line behind."""

    def __init__(self, title, quiet=False, stream=None):
        self.title, self.parts, self.quiet = title, "", quiet
        self.began = time.monotonic()
        self.line = Line(self.text, stream or sys.stderr)

    def text(self):
        return f"{self.title}{self.parts}  {duration(time.monotonic() - self.began)}"

    def __enter__(self):
        if not self.line.live and not self.quiet:
            log.info(self.title)
        return self

    def __exit__(self, kind, *_):
        self.line.close()
        if self.line.live and not self.quiet and kind is None:
            log.info(f"{self.title}  {duration(time.monotonic() - self.began)}")


class Progress:
    """The progress of a run of several notebooks."""

    def __init__(self, total, estimate, stream=None):
        self.total, self.estimate = total, estimate
        self.prefix = self.where = self.file = self.record = None
        self.read, self.counted, self.shown = 0, None, None
        self.began = time.monotonic()
        self.line = Line(self.text, stream or sys.stderr)

    def text(self):
        """[#####     ] 3/9 02_rings, cell 4/9: 7 of 128 done, 3.5/s  1 min 3 s, about 2 min left"""
        if not self.where:
            return None
        now = time.monotonic()
        self.follow(now)
        done, total = self.counts()
        share, left = self.estimate.at(now, done / total if total else 0)
        bar = "" if share is None else f"[{'#' * round(BAR * share):<{BAR}}] "
        parts = f": {done} of {total} done{self.rate(done, now)}" if total else ""
        text = f"{bar}{self.prefix}{self.where}{parts}  {duration(now - self.began)}"
        return text if left is None else f"{text}, {self.left(left)} left"

    def left(self, seconds):
        """The time left in words, for an estimate of it. What is shown never grows: it waits
        for a larger estimate to come down to it again."""
        self.shown = min(seconds, self.shown if self.shown is not None else seconds)
        return f"{'about' if seconds <= GROWTH * self.shown + 1 else 'more than'} {duration(max(1, self.shown))}"

    def follow(self, now):
        """Reads which results the notebook has begun to compute, and has computed."""
        try:
            with open(self.record, "rb") as f:
                f.seek(self.read)
                lines = f.read().split(b"\n")[:-1]
        except (OSError, TypeError):
            return
        for line in lines:
            self.read += len(line) + 1
            entry = json.loads(line)
            if "computing" in entry:
                self.estimate.computes(entry["computing"], now)
                self.counted = None
            if "computed" in entry:
                self.estimate.computed(now)

    def counts(self):
        """How many of the cells of the experiment under way are done, of how many."""
        try:
            done, total = json.loads(self.file.read_text())
            return min(int(done), int(total)), int(total)
        except (OSError, AttributeError, TypeError, ValueError):  # none, or being written
            return 0, 0

    def rate(self, done, now):
        """How many cells of the experiment under way are done a second, in words, from when that was first read."""
        if self.counted is None or done < self.counted[0]:
            self.counted = done, now
        first, since = self.counted
        return f", {(done - first) / (now - since):.3g}/s" if done > first else ""

    def start(self, number, task):
        with self.line.lock:
            self.prefix = f"{number}/{self.total} {task.name}"
            self.since = time.monotonic()
            self.estimate.begin(task, self.since)

    def experiment(self, file, record):
        """Names the files in which experiments report how much of them is done, and
        which result they compute."""
        self.file, self.record, self.read = file, record, 0

    def cell(self, i, n):
        with self.line.lock:
            self.where = f", cell {i}/{n}"
            self.file.unlink(missing_ok=True)
        self.line.draw()

    def end(self, outcome):
        """Ends the line of a notebook; the seconds that it took."""
        self.pause()
        now = time.monotonic()
        with self.line.lock:
            self.follow(now)
            self.estimate.end(now)
        log.info(f"[{self.prefix.replace(' ', '] ', 1)}  {outcome}, {now - self.since:.1f} s")
        return now - self.since

    def pause(self):
        """Takes the line away, for something else to be written."""
        with self.line.lock:
            self.where = None
            self.line.clear()

    def close(self):
        self.line.close()

    def took(self):
        return duration(time.monotonic() - self.began)


class Silent:
    """In place of a Progress, for cells that run apart from the notebooks of a run."""

    def experiment(self, file, record):
        pass

    def cell(self, i, n):
        pass


def duration(seconds):
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
