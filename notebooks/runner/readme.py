"""Keeps the README's tables equal to those that a notebook writes."""

from checkout import ROOT, ReproduceError, write_if_changed

README = ROOT / "README.md"
TABLES = ("findings.md", "notebook_costs.md")
BEGIN = "<!-- findings, written by ./reproduce.sh -->\n"
END = "<!-- end of the findings -->"


def with_findings(text, table):
    """text with the table between its markers, each of which has to be there once."""
    before, begin, rest = text.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not begin or not end or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise ReproduceError(f"README.md: the findings have no place there; put the line {BEGIN.strip()} and, below it, the line {END} back, once each")
    return before + begin + table + "\n" + end + after


def wanted(out):
    """The README with the tables in the folder out, or None where there are none."""
    tables = [(out / name).read_text(encoding="utf-8") for name in TABLES if (out / name).exists()]
    if not tables:
        return None
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return with_findings(text, "\n".join(tables))


def update(out):
    """Writes the tables in the folder out, if there are any, into the README."""
    text = wanted(out)
    if text is not None:
        write_if_changed(README, text)
