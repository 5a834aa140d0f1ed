"""One line per notebook; on a terminal it lives while the notebook runs."""

import json
import os
import shutil
import sys
import threading
import time

from checkout import log


class Progress:
    def __init__(self, total, stream=sys.stderr):
        self.total, self.stream = total, stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.line = self.file = None
        self.began = time.monotonic()
        if self.live:
            threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while not self.stopped.wait(0.5):
            with self.lock:
                self.draw()

    def draw(self):
        if self.line:
            text = f"{self.line}{self.parts()}  {duration(time.monotonic() - self.since)}"
            self.stream.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
            self.stream.flush()

    def parts(self):
        """How much is done of the experiment that the cell runs, and the time left."""
        try:
            done, total = json.loads(self.file.read_text())
        except (OSError, TypeError, ValueError):  # none, or being written
            return ""
        now = time.monotonic()
        if self.first is None or done < self.first[1]:
            self.first = now, done  # those kept from an earlier run took no time
        text = f": {done} of {total} done"
        if self.first[1] < done < total:
            left = (now - self.first[0]) / (done - self.first[1]) * (total - done)
            text += f", about {duration(left)} left"
        return text

    def start(self, number, name):
        self.prefix = f"[{number}/{self.total}] {name}"
        self.since = time.monotonic()

    def experiment(self, file):
        """Names the file in which experiments say how much of them is done."""
        self.file, self.first = file, None

    def cell(self, i, n):
        with self.lock:
            self.line, self.first = f"{self.prefix}  cell {i}/{n}", None
            self.file.unlink(missing_ok=True)
            if self.live:
                self.draw()

    def end(self, outcome):
        self.pause()
        log.info(f"{self.prefix}  {outcome}, {time.monotonic() - self.since:.1f} s")

    def pause(self):
        """Takes the line away, for something else to be written."""
        with self.lock:
            self.line = None
            if self.live:
                self.stream.write("\r\033[K")
                self.stream.flush()

    def close(self):
        self.stopped.set()
        self.pause()

    def took(self):
        return duration(time.monotonic() - self.began)


def duration(seconds):
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
