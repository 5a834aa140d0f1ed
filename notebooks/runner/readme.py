"""Keeps the README's table of claims equal to the one that a notebook writes."""

from environment import ROOT

README = ROOT / "README.md"
TABLE = "claims_at_a_glance.md"
BEGIN = "<!-- claims, written by ./reproduce.sh -->\n"
END = "<!-- end of the claims -->"


def with_claims(text, table):
    """text with the table between its markers; text itself where it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return before + begin + table + "\n" + end + after if begin and end else text


def wanted(task, out):
    """What the README should be after the task, or None where it bears no claims."""
    table = out / TABLE
    if task.overrides or not table.exists() or not README.exists():
        return None
    return with_claims(README.read_text(encoding="utf-8"), table.read_text(encoding="utf-8"))
