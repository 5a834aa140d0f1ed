"""Keeps the findings of README equal to those that a notebook writes, its times to those on the
page of the peers, and the tables of the tuner's page to the rows of its trials."""

import csv
import re
import statistics
from collections import Counter

import speed
from checkout import ROOT, ReproduceError, write_if_changed

README = ROOT / "README.md"
FINDINGS = "findings.md"
BEGIN = "<!-- findings, written by ./reproduce.sh -->\n"
END = "<!-- end of the findings -->"

SPEED_BEGIN = "<!-- speed, written by ./reproduce.sh and the comparisons with peers -->\n"
SPEED_END = "<!-- end of the speed -->"

TIMES = ROOT / "notebooks/README.md"
COSTS = "notebook_costs.md"
TIMES_BEGIN = "<!-- times, written by ./reproduce.sh -->\n"
TIMES_END = "<!-- end of the times -->"

TUNER = ROOT / "cvgm/tune/README.md"
TRIALS = ROOT / "cvgm/tune/testdata/tune_trials"
TRIALS_BEGIN = "<!-- trials of Tuner, written by ./reproduce.sh -->\n"
TRIALS_END = "<!-- end of the trials -->"


def replaced(path, begin, end, what, table, text=None):
    """The page, or this text for it, with the table between two markers, each of which has to be there once."""
    if text is None:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, found, rest = text.partition(begin)
    between, found_end, after = rest.partition(end)
    if not found or not found_end or text.count(begin) > 1 or text.count(end) > 1:
        raise ReproduceError(f"{page(path)} has no place for the {what}: put the line {begin.strip()} and, below it, the line {end} back, once each")
    return before + begin + table + "\n" + end + after


def page(path):
    """The name of a page in messages."""
    return path.relative_to(README.parent).as_posix()


CLAIMS = "figures/out/00_start/claims.md"

# Sentences below the findings that README leaves out: they explain a bar, for which a page of a
# host has no room, and a rule, which 00_start has, too; or they tell of sources that have changed
# since the draws, which the linked page of the claims tells, too.
LEFT_OUT = re.compile(r"(In a bar|A finding's words) .*?\.( |$)|The sources of .*? have changed since the \d+ draws were recorded\. (Draw 0, computed again, has the same numbers: .*?\.|That has moved these rows .*? anew\.)( |$)")


def short(findings):
    """The findings as a list with links."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in findings.split("\n") if line.startswith("|")]
    if not table:
        return findings
    head, _, *body = table
    lines = []
    for row in body:
        cell = dict(zip(head, row, strict=True))
        notebook = cell["Shown in"]
        lines.append(f"* {cell['Finding']}: **{cell['Number']}**. {cell['Verdict'].capitalize()}, [{notebook[:2]}](notebooks/{notebook}.ipynb).")
    below = LEFT_OUT.sub("", findings.rpartition("|\n")[2]).strip()
    below = re.sub(r"^(\d+) claims:", rf"\1 [claims]({CLAIMS}):", below)
    return "\n".join(lines) + f"\n\n{below}\n"


def with_findings(table):
    return replaced(README, BEGIN, END, "findings", table)


def with_speed(text):
    """This text of README with the times on the page of the peers."""
    return replaced(README, SPEED_BEGIN, SPEED_END, "times", speed.lines(), text)


def with_trials():
    finds, risks, shuffled = (rows(TRIALS / f"{name}.csv") for name in ("finds", "risks", "shuffled"))
    return replaced(TUNER, TRIALS_BEGIN, TRIALS_END, "trials", trials(finds, risks, shuffled))


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
        ("joint interval holds its difference to the defaults'", lambda row: row["difference held"] == "true"),
        ("95 % interval holds the final model's risk", lambda row: row["final risk held"] == "true"),
        ("joint interval holds its difference to the default's", lambda row: row["final difference held"] == "true"),
        ("verdict is that `Tuner` is lower than the defaults", lambda row: float(row["difference high"]) < 0),
        ("verdict is that `Tuner` is lower than the defaults and a constant prediction", lambda row: row["verdict"] == "tuned is lower than default"),
    ):
        lines.append(f"| {text} | {sum(map(holds, risks))} | {sum(map(holds, shuffled))} |")
    return "\n".join(lines) + "\n"


def wanted(out):
    """The pages with the tables in the folder out, {path: text}, and with those of the trials; none without findings in out."""
    if not (out / FINDINGS).exists():
        return {}
    pages = {README: with_speed(with_findings(short((out / FINDINGS).read_text(encoding="utf-8"))))}
    if (out / COSTS).exists():
        pages[TIMES] = replaced(TIMES, TIMES_BEGIN, TIMES_END, "times", (out / COSTS).read_text(encoding="utf-8"))
    if TRIALS.is_dir():
        pages[TUNER] = with_trials()
    return pages


def update_speed():
    """Writes the times on the page of the peers into README."""
    write_if_changed(README, with_speed(README.read_text(encoding="utf-8")))


def update(out):
    """Writes the tables, if there are findings in the folder out, into the pages."""
    for path, text in wanted(out).items():
        write_if_changed(path, text)
