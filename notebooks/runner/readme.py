"""Keeps the README's table of claims equal to the one that a notebook writes."""

from checkout import ROOT, ReproduceError, write_if_changed

README = ROOT / "README.md"
TABLE = "claims_at_a_glance.md"
BEGIN = "<!-- claims, written by ./reproduce.sh -->\n"
END = "<!-- end of the claims -->"


def with_claims(text, table):
    """text with the table between its markers, each of which has to be there once."""
    before, begin, rest = text.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not begin or not end or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise ReproduceError(f"README.md: the claims have no place there; put the line {BEGIN.strip()} and, below it, the line {END} back, once each")
    return before + begin + table + "\n" + end + after


def wanted(out):
    """The README with the claims in the folder out, or None where there are none."""
    table = out / TABLE
    if not table.exists():
        return None
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return with_claims(text, table.read_text(encoding="utf-8"))


def update(out):
    """Writes the claims in the folder out, if there are any, into the README."""
    text = wanted(out)
    if text is not None:
        write_if_changed(README, text)
