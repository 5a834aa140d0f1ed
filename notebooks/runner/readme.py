"""Keeps the README's table of claims equal to the one that a notebook writes."""

from environment import ROOT, Problem

README = ROOT / "README.md"
TABLE = "claims_at_a_glance.md"
BEGIN = "<!-- claims, written by ./reproduce.sh -->\n"
END = "<!-- end of the claims -->"


def with_claims(text, table):
    """text with the table between its markers; a Problem where they are not there, once each."""
    before, begin, rest = text.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not begin or not end or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise Problem(f"README.md: the claims have no place there; put the line {BEGIN.strip()} and, below it, the line {END} back, once each")
    return before + begin + table + "\n" + end + after


def wanted(task, out):
    """What the README should be after the task, or None where it bears no claims."""
    table = out / TABLE
    if task.overrides or not table.exists():
        return None
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return with_claims(text, table.read_text(encoding="utf-8"))
