"""The folder that the cells of one notebook write to, before its files are installed in figures/out."""

from compare import PROVENANCE
from checkout import ReproduceError


class StagingError(ReproduceError):
    """Something other than the notebook deleted the staging folder or a part of it."""


class Staging:
    """A folder for outputs inside folder, a private folder of the run.

    A notebook that no longer writes a file leaves it out of this folder, and the
    runner then removes that file from figures/out. A file deleted from here by
    something else must not have that effect. Two checks find a deletion: the
    folder first receives a file that is not an output, and which is missing after
    the folder was deleted and made again; and every file that was present after
    one cell must be present after the next.
    """

    def __init__(self, folder):
        self.path = folder / "out"
        self.path.mkdir()
        (self.path / PROVENANCE).touch()
        self.seen = {PROVENANCE}

    def check(self):
        """Raises StagingError if a file was deleted since the last check."""
        there = {str(p.relative_to(self.path)) for p in self.path.rglob("*")}
        if lost := self.seen - there:
            extent = "all of it" if PROVENANCE in lost else f"{len(lost)} files of it"
            raise StagingError(
                f"{self.path}, where its outputs are put together, was deleted during the run ({extent}); nothing was installed, run it again"
            )
        self.seen |= there
