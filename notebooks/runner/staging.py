"""The folder that the cells of one notebook write to, before its files go to their places."""

from compare import PROVENANCE
from environment import Problem


class Vanished(Problem):
    """The staging folder, or a part of it, is gone: what is missing there was not left out by the notebook."""


class Staging:
    """A folder for outputs inside folder, which is the run's own.

    A file that is missing at the end of a run counts as one that its notebook no
    longer writes, and is removed from its place. So whatever takes files away
    from here has to be found out: the folder gets a file first that is no output
    and that goes with all others, also where cells make the folder again, and a
    file that was there after one cell has to be there after the next.
    """

    def __init__(self, folder):
        self.path = folder / "out"
        self.path.mkdir()
        (self.path / PROVENANCE).touch()
        self.seen = {PROVENANCE}

    def check(self):
        """Raises Vanished where the folder is not whole any more."""
        there = {str(p.relative_to(self.path)) for p in self.path.rglob("*")}
        if lost := self.seen - there:
            what = "it" if PROVENANCE in lost else f"{len(lost)} files of it"
            raise Vanished(
                f"{self.path}, where its outputs are put together, was deleted during the run ({what}); nothing was installed, run it again"
            )
        self.seen |= there
