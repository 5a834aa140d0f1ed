"""The folder that the cells of one notebook write to, before its files go to their places."""

import os

from compare import PROVENANCE
from environment import Problem


class Vanished(Problem):
    """The staging folder, or a part of it, is gone: what is missing there was not left out by the notebook."""


class Staging:
    """A folder for outputs inside folder, which is the run's own.

    A file that is missing at the end of a run counts as one that its notebook no
    longer writes, and is removed from its place. So whatever takes files away
    from here has to be found out. That the folder is still the one that was made
    shows in its inode; that nothing emptied it, in a file that it got first and
    that is no output; and a file that was there after one cell has to be there
    after the next.
    """

    def __init__(self, folder):
        self.path = folder / "out"
        self.path.mkdir()
        self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        self.seen = {PROVENANCE}
        (self.path / PROVENANCE).touch()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def check(self):
        """Raises Vanished where the folder is not whole any more."""
        there = {str(p.relative_to(self.path)) for p in self.path.rglob("*")}
        try:
            same = os.path.samestat(os.fstat(self.fd), os.stat(self.path))
        except FileNotFoundError:
            same = False
        if not same or self.seen - there:
            what = f"{len(self.seen - there)} files of it" if same else "it"
            raise Vanished(
                f"{self.path}, where its outputs are put together, was deleted during the run ({what}); nothing was installed, run it again"
            )
        self.seen |= there
