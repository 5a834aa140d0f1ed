"""Writes the report: a first page with the findings and each notebook's question, answer and
picture; a page for the claims, for each notebook and for the times; and all of them, with the
files that they link to, as a folder for a host of static pages.

The pages need no network and no script. They are made from the notebooks and from figures/out,
so each says of its notebook when that is not up to date.
"""

import base64
import html
import json
import os
import platform
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import prose
import provenance
import stylesheet
from checkout import ROOT, sha256, write_atomic

PAGE = provenance.OUT / "report.html"
FOLDER = "report"  # of the other pages, beside the first
METHOD = ROOT / "figures" / "method.svg"
METHOD_ALT = "Data are split into training and validation rows; a learner is fitted to each training set; the validation losses make the CV loss, whose gradient leads back to the hyperparameters."
FUNCTION = re.compile(r"^func (?:\([^)]*\b[A-Z]\w*\) )?([A-Z]\w*)\(", re.M)  # exported, and so is the type of a method
FOLDED = re.compile(r"<details><summary>[^\n]*\n(.*)</details>", re.S)
CLAIMS, GLANCE, FINDINGS, TIMES = "claims", "claims_at_a_glance", "findings", "times"
VERDICTS = {"paper's error": "error", "differs": "differs", "confirmed": "confirmed"}  # the others are "untested"
LONG = 12  # rows from which on a table is folded


def write(states, toolchain):
    """Writes the pages on the notebooks in these states, {task: state}; returns the first one's path."""
    made = pages(states, toolchain, PAGE)
    for path in (PAGE.parent / FOLDER).glob("*.html"):
        if path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text.encode())
    return PAGE


def site(states, toolchain, folder):
    """Writes the pages to a folder, which a host serves as it is, with all files of the checkout
    that they link to. Other files in the folder stay."""
    made = pages(states, toolchain, ROOT / "index.html")
    linked = {file for path, text in made.items() for file in files_of(path, text) if file not in made}
    for path in sorted(linked):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for path, text in made.items():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, text.encode())


def files_of(page, text):
    """The files of the checkout that a page links to, or shows."""
    targets = {unquote(html.unescape(target)).partition("#")[0] for target in re.findall(r' (?:href|src)="([^"]*)"', text)}
    paths = {Path(os.path.normpath(page.parent / target)) for target in targets if target and not re.match(r"[a-z][a-z0-9+.-]*:", target)}
    return {path for path in paths if path.is_relative_to(ROOT) and path.is_file()}


def pages(states, toolchain, home):
    """The HTML of all pages, {path: text}. home is the path of the first one, to which all
    addresses are relative; the others lie in a folder beside it."""
    tasks = sorted((task for task in states if not task.overrides), key=lambda task: task.name)  # in a reader's order, not that of the runs
    at = {name: home.parent / FOLDER / f"{name}.html" for name in (CLAIMS, TIMES)}
    at |= {task.name: home.parent / FOLDER / f"{task.path.stem}.html" for task in tasks}
    first = [Section(task, home, at) for task in tasks]
    titles = {CLAIMS: "The claims"} | {s.task.name: s.title for s in first} | {TIMES: "Times and environment"}
    made = {home: framed(home, home, at, titles, None, front(first, home, at, states))}
    cards = [path for task in tasks if (path := task.out / f"{CLAIMS}.md").exists()]
    made[at[CLAIMS]] = framed(at[CLAIMS], home, at, titles, CLAIMS, "".join(claims(path, at[CLAIMS]) for path in cards) or "<p>No claims are judged yet.</p>")
    for task in tasks:
        section = Section(task, at[task.name], at)
        made[at[task.name]] = framed(at[task.name], home, at, titles, task.name, section.html(states[task]["reasons"]))
    made[at[TIMES]] = framed(at[TIMES], home, at, titles, TIMES, f'<h2 id="recorded">Recorded times</h2>{times()}<h2 id="environment">Environment</h2>{surroundings(toolchain)}')
    return made


def framed(page, home, at, titles, name, body):
    """The HTML of a page: its navigation around its body. name is None for the first page."""
    links = [f'<a href="{esc(to(home, page))}"{current(name is None)}>Report</a>']
    links += [f'<a href="{esc(to(at[k], page))}"{current(k == name)}>{prose.inline(title)}</a>' for k, title in titles.items()]
    order = list(titles)
    around = ""
    if name is not None:
        k = order.index(name)
        near = [(label, order[j]) for label, j in (("Back", k - 1), ("Next", k + 1)) if 0 <= j < len(order)]
        around = '<p class="near">' + " · ".join(f'{label}: <a href="{esc(to(at[n], page))}">{prose.inline(titles[n])}</a>' for label, n in near) + "</p>"
    title = "Cross-validation gradients: the report" if name is None else titles[name]
    plain = re.sub(r"<[^>]*>", "", prose.inline(title))
    return f"""<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{plain}</title><style>{stylesheet.STYLE}</style></head><body>
<nav aria-label="Pages"><ul>{"".join(f"<li>{link}</li>" for link in links)}</ul></nav>
<main><h1>{prose.inline(title)}</h1>{body}{around}</main><script>{stylesheet.SCRIPT}</script></body></html>
"""


def current(is_it):
    return ' aria-current="page"' if is_it else ""


def front(sections, home, at, states):
    """The body of the first page: the findings, then each notebook in short."""
    tasks = [s.task for s in sections]
    found = "".join(judged(path, home, at) for task in tasks if (path := task.out / f"{FINDINGS}.md").exists())
    for task in tasks:
        found = found.replace(f">{task.name}</td>", f'><a href="{esc(to(at[task.name], home))}">{task.name}</a></td>')
    picture = f'<figure><img alt="{esc(METHOD_ALT)}" src="{esc(to(METHOD, home))}"><figcaption>The method: one evaluation gives the CV loss and its gradient in all hyperparameters.</figcaption></figure>' if METHOD.exists() else ""
    shorts = "".join(s.short(states[s.task]["reasons"]) for s in sections)
    return f"""<p>Barratt and Sharma’s paper differentiates the cross-validation (CV) loss in hyperparameters and descends it. This report sets three things side by side: what the paper says, what its published code does, and what is measured here.</p>
{found or "<p>No claims are judged yet.</p>"}<p>Each claim of the paper has a <a href="{esc(to(at[CLAIMS], home))}">card with its verdict</a>.</p>{picture}
<h2 id="notebooks">The notebooks</h2>{shorts}"""


def claims(path, page):
    """The body of the claims' page: their list and their cards."""
    glance = path.with_name(f"{GLANCE}.md")
    return (judged(glance, page, {}) if glance.exists() else "") + cards(path, page)


def cards(path, page):
    """The HTML of the cards of the claims: what follows their list in the file."""
    text = path.read_text(encoding="utf-8")
    made = minus(prose.convert(text[max(text.find("\n## "), 0) :], lambda target: to(path.parent / target, page), card_heading))
    made = re.sub(r"(?<=<p>)<strong>([^<]*)</strong>(?= · )", lambda m: f'<strong class="verdict {kind(m[1])}">{m[1]}</strong>', made)
    return re.sub(r'(<h3 id="claim-\d+">.*?)(?=<h3 id="claim-|\Z)', r'<section class="card">\1</section>', made, flags=re.S)


def kind(verdict):
    """The class of a verdict in HTML."""
    return VERDICTS.get(html.unescape(verdict), "untested")


class Section:
    """A notebook on a page: its text, and its outputs where its cells show them. at has the
    paths of the pages by name."""

    def __init__(self, task, page, at):
        self.task, self.page, self.at = task, page, at
        self.cells = json.loads(task.path.read_text(encoding="utf-8"))["cells"]
        self.title = next((line[2:] for c in self.cells for line in source(c).splitlines() if line.startswith("# ")), task.path.stem)
        last = provenance.read(task) or {}
        self.captions, self.alts = last.get("captions", {}), last.get("alts", {})
        files = sorted(task.out.glob("*")) if task.out.is_dir() else []
        self.pictures = {sha256(p.read_bytes()): p.stem for p in files if p.suffix == ".png"}
        self.tables = {p.read_text(encoding="utf-8").strip(): p.stem for p in files if p.suffix == ".md"}
        self.shown, self.ids = set(), set()

    def html(self, reasons):
        parts = [f'<p class="from">{self.origin()}</p>', self.note(reasons)]
        for c in self.cells:
            if c["cell_type"] == "markdown":
                parts.append(prose.convert(source(c), self.link, self.heading))
            elif c["cell_type"] == "code":
                parts += [code(source(c)), *map(self.output, c.get("outputs", []))]
        parts += (self.named(name) for name in [*self.tables.values(), *self.pictures.values()] if name not in self.shown)
        return "".join(parts)

    def short(self, reasons):
        """The notebook in short: its question, its answer, which are the texts of the first
        cell that shows some, and its first picture."""
        opening = source(self.cells[0]) if self.cells and self.cells[0]["cell_type"] == "markdown" else ""
        question = next((text for text in re.split(r"\n\s*\n", opening) if text.strip() and not re.match(r"\s*(#|\*[^*])", text)), "")
        shown = [o for c in self.cells if c["cell_type"] == "code" for o in c.get("outputs", []) if "data" in o]
        answers = ([t for o in c.get("outputs", []) if re.match(r"\*\*.*[.:]\*\*|\*\*[^*]*\*\*[^\n|]*\S", t := joined(o.get("data", {}).get("text/markdown", "")))] for c in self.cells if c["cell_type"] == "code")
        answer = next(filter(None, answers), [])
        picture = next((html for o in shown if "<img" in (html := self.output(o))), "")
        words = f'<a href="{esc(to(self.at[self.task.name], self.page))}">{prose.inline(self.title)}</a>'
        body = "".join(prose.convert(text, self.link, self.heading) for text in [question, *answer])
        return f'<section class="short"><h3 id="{esc(self.task.name)}">{words}</h3>{self.note(reasons)}{body}{picture}</section>\n'

    def note(self, reasons):
        return f'<p class="note">Not up to date: {esc("; ".join(reasons))}.</p>' if reasons else ""

    def origin(self):
        path = self.task.path
        return f'From <a href="{esc(to(path, self.page))}">{esc(path.relative_to(path.parents[1]))}</a>.'

    def heading(self, level, text):
        if level == 1:
            return ""  # the title of the page
        name = base = self.anchor(html.unescape(re.sub(r"<[^>]*>", "", text)))
        while name in self.ids:
            name = f"{base}-{len(self.ids)}"
        self.ids.add(name)
        return f'<h{level} id="{esc(name)}">{text}</h{level}>'

    def anchor(self, text):
        return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")

    def link(self, target):
        """The address, from the page, of a link in the notebook."""
        path, _, part = target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return target
        path = path or self.task.path.name
        page = self.at.get(Path(path).stem) if path.endswith(".ipynb") and "/" not in path else None
        if page == self.page:
            return f"#{self.anchor(part)}"
        if page:
            return to(page, self.page) + (f"#{self.anchor(part)}" if part else "")
        return to(self.task.path.parent / path, self.page) + (f"#{part}" if part else "")

    def output(self, output):
        """The HTML of an output of a cell."""
        if output["output_type"] == "stream":
            return prose.code(joined(output["text"]).rstrip()) if output["name"] == "stdout" else ""
        if output.get("metadata", {}).get("cvgm_caption"):  # of the picture before it
            return ""
        data = {kind: joined(text) for kind, text in output.get("data", {}).items()}
        inside = re.search(r'<img[^>]*\bsrc="data:image/png;base64,([^"]+)"[^>]*>', data.get("text/html", ""))
        if picture := inside[1] if inside else data.get("image/png"):
            alt = re.search(r'\balt="([^"]*)"', inside[0]) if inside else None
            below = re.search(r"<figcaption>(.*?)</figcaption>", data.get("text/html", ""), re.S)
            return self.picture(base64.b64decode(picture), *(html.unescape(re.sub("</?code>", "", m[1])) if m else "" for m in (alt, below)))
        if text := data.get("text/markdown", "").strip():
            folded = FOLDED.fullmatch(text)
            name = self.tables.get(folded[1].strip() if folded else text)
            return self.named(name) if name else prose.convert(text, self.link, self.heading)
        return prose.code(data["text/plain"]) if data.get("text/plain") else ""

    def named(self, name):
        """The HTML of an output in the notebook's folder."""
        self.shown.add(name)
        if name in (FINDINGS, GLANCE, CLAIMS):
            return f'<p>The report has <a href="{esc(to(self.at[CLAIMS], self.page))}">a page of the claims</a>, and begins with the findings. {self.files(name)}</p>'
        png, text = self.task.out / f"{name}.png", self.task.out / f"{name}.md"
        if png.exists():
            return self.picture(png.read_bytes())
        body = table(text.read_text(encoding="utf-8"))
        if (rows := body.count("<tr>") - 1) > LONG:
            title = re.search(r'<p class="caption">(.*?)</p>', body)
            body = f'<details><summary>{title[1] if title else esc(name)}: {rows} rows</summary>{body.replace(title[0], "", 1) if title else body}</details>'
        return f'<figure class="table">{body}<figcaption>{self.files(name)}</figcaption></figure>'

    def picture(self, png, alt="", below=""):
        """The HTML of a picture. What the notebook has as alternative text and below it is for
        pictures without files of their own."""
        name = self.pictures.get(sha256(png))
        caption, files = (self.captions.get(name, name.replace("_", " ")), self.files(name)) if name else (below, "")
        self.shown.add(name)
        alt = self.alts.get(name) or alt or caption or f"A picture of {self.title}"
        width, height = (int.from_bytes(png[at : at + 4], "big") * 96 // 160 for at in (16, 20))  # drawn at 160 dots per inch
        svg = self.task.out / f"{name}.svg"
        if not (name and svg.exists()):
            image = f'<img alt="{esc(alt)}" width="{width}" height="{height}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
            return f'<figure>{image}<figcaption>{esc(sentence(caption))} {files}</figcaption></figure>'
        # The caption of a surface says which shades are low, so its shades are never inverted.
        shades = ' class="surface"' if "<image " in svg.read_text(encoding="utf-8") else ""
        smaller = min(svg, svg.with_suffix(".png"), key=lambda path: path.stat().st_size)
        image = f'<img{shades} alt="{esc(alt)}" width="{width}" height="{height}" loading="lazy" src="{esc(to(smaller, self.page))}">'
        return f'<figure><a href="{esc(to(svg, self.page))}">{image}</a><figcaption>{esc(sentence(caption))} {files}</figcaption></figure>'

    def files(self, name):
        """Which function makes an output, and its files."""
        made, folder = maker(name), self.task.out
        other = [(ext, folder / f"{name}.{ext}") for ext in ("svg", "pdf", "csv", "md", "tex")]
        links = " ".join(f'<a href="{esc(to(path, self.page))}">{ext.upper()}</a>' for ext, path in other if path.exists())
        return f'<span class="from">{f"<code>{esc(made)}</code> " if made else ""}{links}</span>'


def to(path, page):
    """The address of a file from a page."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


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


def judged(path, page, at):
    """A table of verdicts: claims link to their cards, and the verdicts have their colours."""
    cards = path.with_name(f"{CLAIMS}.md")
    carded = set(re.findall(r"(?m)^### (\d+)\.", cards.read_text(encoding="utf-8"))) if cards.exists() else ()
    there = to(at[CLAIMS], page) if CLAIMS in at else ""

    def linked(found):
        return f'{found[1]}<a href="{esc(there)}#claim-{found[2]}">{found[2]}</a>' if found[2] in carded else found[0]

    body = re.sub(r'(<tr><td class="[^"]*" data-column="">)(\d+)(?=</td>)', linked, table(path.read_text(encoding="utf-8")))
    return re.sub(r'<td class="" data-column="Verdict">([^<]*)', lambda m: f'<td class="verdict {kind(m[1])}" data-column="Verdict">{m[1]}', body)


def card_heading(level, text):
    number = re.match(r"(\d+)\.", text)
    anchor = f' id="claim-{number[1]}"' if number else ""
    return f"<h{level}{anchor}>{text}</h{level}>"


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
        f'<div class="wide"{prose.SCROLLS}><table class="times"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{tree(recorded)}'
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
