"""Keeps the README's tables equal to those that a notebook writes, and those about the
trials of Tuner to their rows."""

import csv
import statistics
from collections import Counter

from checkout import ROOT, ReproduceError, write_if_changed

README = ROOT / "README.md"
TABLES = ("findings.md", "notebook_costs.md")
BEGIN = "<!-- findings, written by ./reproduce.sh -->\n"
END = "<!-- end of the findings -->"


TRIALS = ROOT / "cvgm/tune/testdata/tune_trials"
TRIALS_BEGIN = "<!-- trials of Tuner, written by ./reproduce.sh -->\n"
TRIALS_END = "<!-- end of the trials -->"


def replaced(text, begin, end, what, table):
    """text with the table between two markers, each of which has to be there once."""
    before, found, rest = text.partition(begin)
    between, found_end, after = rest.partition(end)
    if not found or not found_end or text.count(begin) > 1 or text.count(end) > 1:
        raise ReproduceError(f"README.md: the {what} have no place there; put the line {begin.strip()} and, below it, the line {end} back, once each")
    return before + begin + table + "\n" + end + after


def with_findings(text, table):
    return replaced(text, BEGIN, END, "findings", table)


def with_trials(text, folder):
    """text with the tables of the trials in the folder, if there are any."""
    if not folder.is_dir():
        return text
    finds, risks, shuffled = (rows(folder / f"{name}.csv") for name in ("finds", "risks", "shuffled"))
    return replaced(text, TRIALS_BEGIN, TRIALS_END, "trials", trials(finds, risks, shuffled))


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def trials(finds, risks, shuffled):
    """Two tables: where Tuner's searches end, and what its nested estimates hold."""
    causes = Counter(row["cause"] for row in finds)
    near = causes.pop("", 0)
    lines = [f"| Of {len(finds)} generated data sets | Sets |", "| :-- | --: |", f"| CV loss at most 1e-3 of the null model's above the lowest | {near} |"]
    lines += [f"| else: {cause} | {count} |" for cause, count in sorted(causes.items())]
    lines += ["", f"At the median `Tuner` takes {statistics.median_low(int(row['evaluations']) for row in finds)} evaluations.", ""]
    lines += ["| Sets on which the nested estimate's | As drawn | With shuffled targets |", "| :-- | --: | --: |"]
    for text, holds in (
        ("95 % interval holds the mean risk of the outer folds' models", lambda row: row["risk held"] == "true"),
        ("95 % interval holds its difference to the defaults'", lambda row: row["difference held"] == "true"),
        ("95 % interval holds the final model's risk", lambda row: row["final risk held"] == "true"),
        ("95 % interval holds its difference to the default's", lambda row: row["final difference held"] == "true"),
        ("verdict is that `Tuner` is lower than the defaults", lambda row: float(row["difference high"]) < 0),
        ("verdict is that `Tuner` is lower than the defaults and a constant prediction", lambda row: row["verdict"] == "tuned is lower than default"),
    ):
        lines.append(f"| {text} | {sum(map(holds, risks))} | {sum(map(holds, shuffled))} |")
    return "\n".join(lines) + "\n"


def wanted(out):
    """The README with the tables in the folder out and those of the trials, or None where there are none in out."""
    tables = [(out / name).read_text(encoding="utf-8") for name in TABLES if (out / name).exists()]
    if not tables:
        return None
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return with_trials(with_findings(text, "\n".join(tables)), TRIALS)


def update(out):
    """Writes the tables, if there are findings in the folder out, into the README."""
    text = wanted(out)
    if text is not None:
        write_if_changed(README, text)
