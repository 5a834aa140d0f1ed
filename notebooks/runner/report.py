"""Writes the report: findings, then the notebooks' text with their tables and figures,
then times, on one page of HTML.

The page holds its pictures and needs no network. It is made from the notebooks and
from figures/out, so it says of each notebook when that is not up to date.
"""

import base64
import html
import json
import os
import platform
import re
from pathlib import Path

import prose
import provenance
import stylesheet
from checkout import ROOT, sha256, write_atomic

PAGE = provenance.OUT / "report.html"
FUNCTION = re.compile(r"^func (?:\([^)]*\b[A-Z]\w*\) )?([A-Z]\w*)\(", re.M)  # exported, and so is the type of a method
CLAIMS, GLANCE, FINDINGS = "claims", "claims_at_a_glance", "findings"
VERDICTS = {"paper's error": "error", "differs": "differs", "confirmed": "confirmed"}  # the others are "untested"


def write(states, toolchain):
    """Writes the page on the notebooks in these states, {task: state}; returns its path."""
    write_atomic(PAGE, page(states, toolchain).encode())
    return PAGE


def page(states, toolchain):
    """The HTML of the page."""
    tasks = [task for task in states if not task.overrides]
    found = "".join(judged(path) for name in (FINDINGS, GLANCE) for task in tasks if (path := task.out / f"{name}.md").exists())
    found = found or "<p>No claims are judged yet.</p>"
    for task in tasks:
        found = found.replace(f">{task.name}</td>", f'><a href="#{task.name}">{task.name}</a></td>')
    sections = [Section(task, {other.path.name for other in tasks}) for task in tasks]
    links = "".join(f'<li><a href="#{esc(s.task.name)}">{esc(s.title)}</a></li>' for s in sections)
    return f"""<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Cross-validation gradients: the report</title><style>{stylesheet.STYLE}</style></head><body>
<header><h1>Cross-validation gradients: the report</h1>
<p>What Barratt and Sharma’s paper says, what its published code does, and what is measured here.</p></header>
<nav aria-label="Contents"><ul><li><a href="#findings">Findings</a></li>{links}<li><a href="#times">Recorded times</a></li><li><a href="#environment">Environment</a></li></ul></nav>
<main>
<section><h2 id="findings">Findings</h2>{found}</section>
{"".join(s.html(states[s.task]["reasons"]) for s in sections)}
<section><h2 id="times">Recorded times</h2>{times()}</section>
<section><h2 id="environment">Environment</h2>{surroundings(toolchain)}</section>
</main><script>{stylesheet.SCRIPT}</script></body></html>
"""


class Section:
    """A notebook: its text, and its outputs where its cells show them."""

    def __init__(self, task, names):
        self.task, self.names = task, names
        self.cells = json.loads(task.path.read_text(encoding="utf-8"))["cells"]
        self.title = next((line[2:] for c in self.cells for line in source(c).splitlines() if line.startswith("# ")), task.path.stem)
        last = provenance.read(task) or {}
        self.captions, self.alts = last.get("captions", {}), last.get("alts", {})
        files = sorted(task.out.glob("*")) if task.out.is_dir() else []
        self.pictures = {sha256(p.read_bytes()): p.stem for p in files if p.suffix == ".png"}
        self.tables = {p.read_text(encoding="utf-8").strip(): p.stem for p in files if p.suffix == ".md"}
        self.shown, self.ids = set(), set()

    def html(self, reasons):
        parts = [f'<p class="from">{self.origin()}</p>']
        if reasons:
            parts.append(f'<p class="note">Not up to date: {esc("; ".join(reasons))}.</p>')
        for c in self.cells:
            if c["cell_type"] == "markdown":
                parts.append(prose.convert(source(c), self.link, self.heading))
            elif c["cell_type"] == "code":
                parts += [code(source(c)), *map(self.output, c.get("outputs", []))]
        parts += (self.named(name) for name in [*self.tables.values(), *self.pictures.values()] if name not in self.shown)
        return f'<section><h2 id="{esc(self.task.name)}">{prose.inline(self.title)}</h2>{"".join(parts)}</section>\n'

    def origin(self):
        path = self.task.path
        return f'From <a href="{esc(to(path))}">{esc(path.relative_to(path.parents[1]))}</a>.'

    def heading(self, level, text):
        if level == 1:
            return ""  # the title of the section
        name = base = self.anchor(html.unescape(re.sub(r"<[^>]*>", "", text)))
        while name in self.ids:
            name = f"{base}-{len(self.ids)}"
        self.ids.add(name)
        return f'<h{level + 1} id="{esc(name)}">{text}</h{level + 1}>'

    def anchor(self, text):
        return f"{self.task.name}-{re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')}"

    def link(self, target):
        """The address, from the page, of a link in the notebook."""
        path, _, part = target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return target
        if not path:
            return f"#{self.anchor(part)}"
        return f"#{Path(path).stem}" if path in self.names else to(self.task.path.parent / path) + (f"#{part}" if part else "")

    def output(self, output):
        """The HTML of an output of a cell."""
        if output["output_type"] == "stream":
            return prose.code(joined(output["text"]).rstrip()) if output["name"] == "stdout" else ""
        data = {kind: joined(text) for kind, text in output.get("data", {}).items()}
        inside = re.search(r'<img[^>]*\bsrc="data:image/png;base64,([^"]+)"[^>]*>', data.get("text/html", ""))
        if picture := inside[1] if inside else data.get("image/png"):
            alt = re.search(r'\balt="([^"]*)"', inside[0]) if inside else None
            below = re.search(r"<figcaption>(.*?)</figcaption>", data.get("text/html", ""), re.S)
            return self.picture(base64.b64decode(picture), *(html.unescape(re.sub("</?code>", "", m[1])) if m else "" for m in (alt, below)))
        if text := data.get("text/markdown", "").strip():
            name = self.tables.get(text)
            return self.named(name) if name else prose.convert(text, self.link, self.heading)
        return prose.code(data["text/plain"]) if data.get("text/plain") else ""

    def named(self, name):
        """The HTML of an output in the notebook's folder."""
        self.shown.add(name)
        if name in (FINDINGS, GLANCE):
            return f'<p>The <a href="#findings">findings</a> begin this page. {self.files(name)}</p>'
        png, text = self.task.out / f"{name}.png", self.task.out / f"{name}.md"
        if png.exists():
            return self.picture(png.read_bytes())
        if name == CLAIMS:
            return self.cards(text) + f'<p>{self.files(name)}</p>'
        return f'<figure class="table">{table(text.read_text(encoding="utf-8"))}<figcaption>{self.files(name)}</figcaption></figure>'

    def cards(self, path):
        """The HTML of the cards of the claims: what follows their list, which begins the page."""
        text = path.read_text(encoding="utf-8")
        return minus(prose.convert(text[max(text.find("\n## "), 0) :], lambda target: to(path.parent / target), card_heading))

    def picture(self, png, alt="", below=""):
        """The HTML of a picture. What the notebook has as alternative text and below it is for
        pictures without files of their own."""
        name = self.pictures.get(sha256(png))
        caption, files = (self.captions.get(name, name.replace("_", " ")), self.files(name)) if name else (below, "")
        self.shown.add(name)
        alt = self.alts.get(name) or alt or caption or f"A picture of {self.title}"
        width, height = (int.from_bytes(png[at : at + 4], "big") * 96 // 160 for at in (16, 20))  # drawn at 160 dots per inch
        svg = self.task.out / f"{name}.svg"
        drawn = name and svg.exists()
        # The caption of a surface says which shades are low, so its shades are never inverted.
        kind = ' class="surface"' if drawn and "<image " in svg.read_text(encoding="utf-8") else ""
        image = f'<img{kind} alt="{esc(alt)}" width="{width}" height="{height}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        if drawn:
            image = f'<a href="{esc(to(svg))}">{image}</a>'
        return f'<figure>{image}<figcaption>{esc(sentence(caption))} {files}</figcaption></figure>'

    def files(self, name):
        """Which function makes an output, and its files."""
        made, folder = maker(name), self.task.out
        other = [(ext, folder / f"{name}.{ext}") for ext in ("svg", "pdf", "csv", "md", "tex")]
        links = " ".join(f'<a href="{esc(to(path))}">{ext.upper()}</a>' for ext, path in other if path.exists())
        return f'<span class="from">{f"<code>{esc(made)}</code> " if made else ""}{links}</span>'


def to(path):
    """The address of a file from the page."""
    return Path(os.path.relpath(path, PAGE.parent)).as_posix()


def source(cell):
    return joined(cell["source"])


def joined(text):
    return "".join(text) if isinstance(text, list) else text


def sentence(text):
    return text if not text or text[-1] in ".!?" else text + "."


def code(text):
    """A cell's code: open where it shows calls of the library, none where it only imports
    or only shows outputs, else folded."""
    lines = [line for line in text.splitlines() if line.strip() not in ("", "%%")]
    if not lines or re.match(r"%|!|import\b", lines[0]) or all(re.match(r"notebook\.(Show|Save)\(", line) for line in lines):
        return ""
    if text.startswith("%%") and not re.search(r"\bnotebook\.(Show|Save|Text)\(", text):
        return prose.code("\n".join(lines))
    return f'<details class="code"><summary>Code, {len(lines)} line{"s" if len(lines) > 1 else ""}</summary>{prose.code(text)}</details>'


def maker(name):
    """The exported function of package figures that holds the output's name."""
    for path in sorted((ROOT / "figures").glob("*.go")):
        if path.name.endswith("_test.go"):
            continue
        text = path.read_text(encoding="utf-8")
        at = text.find(f'"{name}"')
        before = [m.group(1) for m in FUNCTION.finditer(text, 0, at)] if at >= 0 else []
        if before:
            return f"figures.{before[-1]}"
    return None


def table(text):
    """The HTML of a table as figures.Table writes it in Markdown: caption, rows, note."""
    title, _, rest = text.strip().partition("\n")
    if not re.fullmatch(r"\*\*.*\*\*", title):
        return minus(prose.convert(text))
    return f'<p class="caption">{prose.inline(title[2:-2])}</p>{minus(prose.convert(rest))}'


def minus(text):
    """HTML with true minus signs before its numbers, and no break after ±."""
    return re.sub(r"(?<=>)-(?=\.?\d)", "−", text).replace(" ± ", " ±\N{NO-BREAK SPACE}")


def judged(path):
    """A table of verdicts: claims link to their cards, and the verdicts have their colours."""
    cards = path.with_name(f"{CLAIMS}.md")
    carded = set(re.findall(r"(?m)^### (\d+)\.", cards.read_text(encoding="utf-8"))) if cards.exists() else ()

    def linked(found):
        return f'{found[1]}<a href="#claim-{found[2]}">{found[2]}</a>' if found[2] in carded else found[0]

    body = re.sub(r'(<tr><td class="[^"]*" data-column="">)(\d+)(?=</td>)', linked, table(path.read_text(encoding="utf-8")))
    return re.sub(r'<td class="" data-column="Verdict">([^<]*)', lambda m: f'<td class="verdict {VERDICTS.get(html.unescape(m[1]), "untested")}" data-column="Verdict">{m[1]}', body)


def card_heading(level, text):
    number = re.match(r"(\d+)\.", text)
    anchor = f' id="claim-{number[1]}"' if number else ""
    return f"<h{level + 1}{anchor}>{text}</h{level + 1}>"


# The benchmark that another is compared with, as a pattern of names and the baseline's name.
BASELINES = [
    (r"(.*ElasticNetCold)/gradient", r"\1/value"),
    (r"(.*LearnedKernelStep/.*)/step", r"\1/value"),
    (r"(.*ElasticNetStep/.*workers)=\d+", r"\1=1"),
    (r"(.*\.Searcher)/.*", r"\1/projected_gradient"),
    (r"(.*\.Differentiation)/.*", r"\1/implicit"),
    (r"(.*\.QP)(?:Warm|Backward)(/.*)", r"\1Solve\2"),
]
UNITS = {"ns/evaluation": (1, " per evaluation"), "µs/problem": (1e3, " per problem"), "ns/op": (1, "")}  # in nanoseconds, and per what


def baseline(name):
    return next((re.sub(pattern, base, name) for pattern, base in BASELINES if re.fullmatch(pattern, name)), name)


def times():
    try:
        recorded = json.loads(provenance.TIMINGS.read_text(encoding="utf-8"))
        measured = {name: lowest(units) for name, units in recorded.pop("benchmarks").items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "<p>None yet: <code>./reproduce.sh --timings</code> records them.</p>"
    groups = {}
    for name in measured:
        groups.setdefault(baseline(name), []).append(name)
    body = ""
    for base, names in groups.items():
        for name in sorted(names, key=lambda n: n != base):
            ns, per = measured[name]
            ratio = f"{ns / measured[base][0]:.3g}" if base in measured and name != base else ("1" if len(names) > 1 else "–")
            kind = ' class="base"' if name == base else ""
            body += f'<tr{kind}><td>{esc(words(name))}</td><td class="number" data-column="Ratio">{ratio}</td><td class="number" data-column="Time">{duration(ns)}{per}</td></tr>'
    head = '<th scope="col">Benchmark</th><th scope="col" class="number">Ratio</th><th scope="col" class="number">Time</th>'
    return (
        "<p>Each time is the lowest of several runs. Each ratio compares a time with that of the nearest row above whose ratio is 1.</p>"
        f'<div class="wide"><table class="times"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{tree(recorded)}'
    )


def lowest(units):
    unit = next((u for u in UNITS if u in units), None)
    factor, per = UNITS[unit]
    return units[unit]["lowest"] * factor, per


def words(name):
    package, _, rest = name.partition(".")
    return f"{package}: {rest.replace('_', ' ').replace('/', ', ')}"


def duration(ns):
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.3g} ns"


def tree(value):
    if isinstance(value, dict):
        return "<dl>" + "".join(f"<dt>{esc(k)}</dt><dd>{tree(v)}</dd>" for k, v in value.items()) + "</dl>"
    if isinstance(value, list):
        return ", ".join(map(tree, value))
    return esc(f"{value:.4g}" if isinstance(value, float) else str(value))


def surroundings(toolchain):
    version = provenance.version()
    return tree(
        {
            "Go": toolchain,
            "Python": platform.python_version(),
            "system": f"{platform.system().lower()}/{platform.machine()}",
            "commit": version.get("commit", "unknown"),
            "changed files": ", ".join(version.get("changed", [])) or "none",
        }
    )


def esc(text):
    return html.escape(str(text))
