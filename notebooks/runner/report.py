"""Writes the report: every claim, table and figure on one page of HTML.

The page holds its pictures and needs no network. It is made from what stands in
figures/out, so it says of each notebook when that is not up to date.
"""

import base64
import html
import json
import platform
import re
from pathlib import Path

import provenance
import readme
from checkout import ROOT, write_atomic

PAGE = provenance.OUT / "report.html"
FUNCTION = re.compile(r"^func (?:\([^)]*\) )?([A-Z]\w*)\(", re.M)

STYLE = """
:root { --line: #d8d8d8; --soft: #f6f6f4; --ink: #1c1c1c; --link: #0b5c94 }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 64rem; padding: 1.2rem; font: 16px/1.5 system-ui, "Liberation Sans", sans-serif; color: var(--ink) }
h1 { line-height: 1.2 } h2 { margin-top: 2.6rem; border-top: 1px solid var(--line); padding-top: 1rem }
a { color: var(--link) }
figure { margin: 1.6rem 0 } figure img { max-width: 100%; height: auto; display: block }
figcaption, .note, .from { font-size: .86rem; color: #555 }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .88rem; margin: .4rem 0; width: 100% }
th, td { padding: .3rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { background: var(--soft) } td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.verdict { font-weight: 600; white-space: nowrap }
.confirmed { color: #00684a } .differs { color: #a34700 } .error { color: #a3003c } .untested { color: #666 }
nav ul { columns: 2; padding-left: 1.1rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem } dt { color: #555 } dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 40rem) { body { padding: .8rem; font-size: 15px } nav ul { columns: 1 } dl { display: block } dd { margin-bottom: .4rem }
  thead { display: none } table, tbody { display: block } tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line) }
  td, td.number { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .05rem 0; text-align: right; white-space: normal }
  td:first-child { font-weight: 600; text-align: left } td.none { display: none }
  td:not(:first-child)::before { content: attr(data-column); color: #555; font-weight: 400; text-align: left } }
@media print { body { max-width: none; padding: 0; font-size: 10pt } nav { display: none } .wide { overflow: visible } table { font-size: 7.5pt } figure, tr { break-inside: avoid } h2 { break-before: page } }
"""

VERDICTS = {"confirmed": "confirmed", "differs": "differs", "paper's error": "error", "not testable": "untested"}


def write(states, toolchain):
    """Writes the page on the notebooks in these states, {task: state}; returns its path."""
    tasks = [task for task in states if not task.overrides and task.out.is_dir()]
    sections = [section(task, states[task]["reasons"]) for task in tasks]
    links = "".join(f'<li><a href="#{task.name}">{esc(title(task.path))}</a></li>' for task in tasks)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cross-validation gradients: the report</title><style>{STYLE}</style></head><body>
<h1>Cross-validation gradients: the report</h1>
<p>What Barratt and Sharma's paper says, what its published code does, and what is measured here.</p>
<nav><ul>{links}<li><a href="#times">Recorded times</a></li><li><a href="#environment">Environment</a></li></ul></nav>
{"".join(sections)}
<h2 id="times">Recorded times</h2>{times()}
<h2 id="environment">Environment</h2>{surroundings(toolchain)}
</body></html>
"""
    write_atomic(PAGE, page.encode())
    return PAGE


def section(task, reasons):
    last = provenance.read(task) or {}
    captions = last.get("captions", {})
    parts = [f'<h2 id="{task.name}">{esc(title(task.path))}</h2>']
    if reasons:
        parts.append(f'<p class="note">Not up to date: {esc("; ".join(reasons))}.</p>')
    names = {p.stem for p in task.out.iterdir() if p.suffix in (".md", ".png")} - {Path(readme.TABLE).stem}
    order = {name: i for i, name in enumerate(captions)}
    for name in sorted(names, key=lambda n: (order.get(n, len(order)), n)):
        parts.append(output(task.out, name, task.path, captions.get(name, name.replace("_", " "))))
    return "".join(parts)


def output(folder, name, notebook, caption):
    where = f'<a href="../../notebooks/{notebook.name}">{notebook.stem}</a>'
    made = maker(name)
    source = f'<span class="from">From {where}{f", drawn by <code>{esc(made)}</code>" if made else ""}.</span>'
    if (folder / f"{name}.png").exists():
        picture = base64.b64encode((folder / f"{name}.png").read_bytes()).decode()
        other = " ".join(
            f'<a href="{folder.name}/{name}.{ext}">{ext.upper()}</a>' for ext in ("svg", "pdf", "csv") if (folder / f"{name}.{ext}").exists()
        )
        return (
            f'<figure><img alt="{esc(caption)}" src="data:image/png;base64,{picture}">'
            f"<figcaption>{esc(caption)}. {source} {other}</figcaption></figure>"
        )
    return f"{table((folder / f'{name}.md').read_text(encoding='utf-8'))}<p>{source}</p>"


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
    """The HTML of a table as figures.Table writes it in Markdown."""
    parts, rows = [], []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append([cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif line.startswith("**"):
            parts.append(f"<h3>{esc(line.strip('*'))}</h3>")
        elif line.strip():
            parts.append(f'<p class="note">{esc(line)}</p>')
    body = "".join("<tr>" + "".join(map(cell, row, rows[0])) + "</tr>" for row in rows[2:])
    head = "".join(f"<th>{esc(name)}</th>" for name in rows[0])
    grid = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return "".join(parts[:1]) + grid + "".join(parts[1:])


def cell(text, column):
    kind = ""
    if text in VERDICTS:
        kind = f"verdict {VERDICTS[text]}"
    elif text in ("", "–"):
        kind = "number none"
    elif re.fullmatch(r"[-−+]?[\d.,]+( ± [\d.]+)?( %)?", text):
        kind = "number"
    return f'<td class="{kind}" data-column="{esc(column)}">{esc(text)}</td>'


def times():
    try:
        recorded = json.loads(provenance.TIMINGS.read_text())
    except (OSError, ValueError):
        return "<p>None yet: <code>./reproduce.sh --timings</code> records them.</p>"
    return tree(recorded)


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


def title(path):
    """The notebook's first heading."""
    for c in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for line in "".join(c["source"]).splitlines():
            if line.startswith("# "):
                return line[2:]
    return path.stem


def esc(text):
    return html.escape(str(text))
