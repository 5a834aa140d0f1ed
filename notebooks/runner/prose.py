"""HTML of the Markdown in the notebooks: headings, paragraphs, lists, tables, code,
emphasis, links, pictures, TeX and <details> on lines of their own. All else, HTML too, is shown as it is
written."""

import html
import re

HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"(`{3,}|~{3,})\s*(\S*)\s*$")
ITEM = re.compile(r"(\s*)([*+-]|(\d{1,9})[.)])(\s+)(?=\S)")
FOLD = re.compile(r"<details><summary>([^<]*)</summary>$|</details>$")
RULE = re.compile(r"\|?(\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*$")
ADDRESS = re.compile(r"(https?|mailto):|[^:]*([/?#]|$)", re.I)  # which runs no script
INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>(?:(?!(?P=ticks)).)+?)(?P=ticks)(?!`)"
    r"|&#(?P<number>[0-9]{1,6});"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|\$(?P<math>(?=[^\s$])[^$]*[^\s$\\]|[^\s$\\])\$(?!\d)"
    r"|\\(?P<escaped>[\\`*_{}\[\]()<>#+.!$|~-])"
    r"|!\[(?P<alt>[^\[\]]*)\]\((?P<source>[^()\s]+)\)"
    r"|\[(?P<label>(?:[^\[\]`$]|`[^`]*`|\$[^$]*\$|\[[^\[\]]*\])+)\]\((?P<target>[^()\s]+)\)"
    r"|\*\*(?=\S)(?P<strong>(?:\*(?!\*)|[^*])+?)(?<=\S)\*\*(?!\*)"
    r"|(?<!\*)\*(?=[^\s*])(?P<emphasis>(?:\*\*|[^*])+?)(?<=[^\s*])\*(?!\*)"
    r"|(?<!\w)_(?=\S)(?P<underlined>[^_]+?)(?<=\S)_(?!\w)",
    re.S,
)


def convert(text, link=lambda target: target, heading=lambda level, text: f"<h{level}>{text}</h{level}>"):
    """The HTML of some Markdown. link gives the address of a link's target, and heading
    the element of a heading from its level and HTML."""
    return "\n".join(blocks(text.splitlines(), link, heading))


def blocks(lines, link, heading):
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif found := FENCE.match(line):
            end = next((k for k in range(i + 1, len(lines)) if lines[k].strip() == found[1]), len(lines))
            yield code("\n".join(lines[i + 1 : end]))
            i = end + 1
        elif found := FOLD.match(line):
            yield "</details>" if found[1] is None else f"<details><summary>{inline(found[1], link)}</summary>"
            i += 1
        elif found := HEADING.match(line):
            yield heading(len(found[1]), inline(found[2], link))
            i += 1
        elif is_table(lines, i):
            end = next((k for k in range(i, len(lines)) if not lines[k].startswith("|")), len(lines))
            yield table(lines[i:end], link)
            i = end
        elif ITEM.match(line):
            end, element = items(lines, i, link, heading)
            yield element
            i = end
        else:
            end = i + 1
            while end < len(lines) and lines[end].strip() and not (FENCE.match(lines[end]) or FOLD.match(lines[end]) or HEADING.match(lines[end]) or ITEM.match(lines[end]) or is_table(lines, end)):
                end += 1
            yield f"<p>{inline(' '.join(part.strip() for part in lines[i:end]), link)}</p>"
            i = end


def code(text):
    return f'<pre{SCROLLS}><code>{html.escape(text)}</code></pre>'


def items(lines, start, link, heading):
    """The list that begins in line start, and the line after it."""
    first = ITEM.match(lines[start])
    margin, ordered = len(first[1]), first[3]
    parts, loose, i = [], False, start
    while i < len(lines) and (found := ITEM.match(lines[i])) and len(found[1]) == margin and bool(found[3]) == bool(ordered):
        body, inside = [lines[i][found.end() :]], found.end()
        i += 1
        while i < len(lines):
            indent = len(lines[i]) - len(lines[i].lstrip())
            if not lines[i].strip():
                follows = next((line for line in lines[i:] if line.strip()), "")
                if len(follows) - len(follows.lstrip()) <= margin:
                    break
            elif indent <= margin and (ITEM.match(lines[i]) or not body[-1].strip()):
                break
            body.append(lines[i][min(indent, inside) :])
            i += 1
        parts.append(list(blocks(body, link, heading)))
        while i < len(lines) and not lines[i].strip():
            after = next((line for line in lines[i:] if line.strip()), "")
            if not ((found := ITEM.match(after)) and len(found[1]) == margin):
                break
            loose, i = True, i + 1
    written = "".join("<li>" + "\n".join(part if loose else re.sub(r"^<p>(.*)</p>$", r"\1", part, flags=re.S) for part in item) + "</li>" for item in parts)
    if not ordered:
        return i, f"<ul>{written}</ul>"
    begin = f' start="{int(ordered)}"' if int(ordered) != 1 else ""
    return i, f"<ol{begin}>{written}</ol>"


def is_table(lines, i):
    return lines[i].startswith("|") and i + 1 < len(lines) and "-" in lines[i + 1] and bool(RULE.match(lines[i + 1]))


def cells(line):
    """The texts in a row of a table."""
    return [part.replace("\\|", "|").strip() for part in re.split(r"(?<!\\)\|", line.strip().removesuffix("|").removeprefix("|"))]


SCROLLS = ' tabindex="0"'  # of what may be wider than the page, for those who scroll with keys
SENTENCE = 60  # characters, from which on a cell is read as a sentence and not as a name


def table(lines, link):
    """The HTML of a table; every cell carries its column's name for narrow screens."""
    head, aligned, *rows = map(cells, lines)
    kinds = ["number" if rule.endswith(":") else "" for rule in aligned]

    names = [html.escape(html.unescape(re.sub(r"<[^>]*>", "", inline(text)))) for text in head]

    def cell(text, k):
        name = names[k] if k < len(names) else ""
        kind = " ".join(filter(None, [kinds[k] if k < len(kinds) else "", "none" if text in ("", "–") else "", "sentence" if len(text) >= SENTENCE else ""]))
        return f'<td class="{kind}" data-column="{name}">{inline(text, link)}</td>'

    top = "".join(f'<th scope="col" class="{kind}">{inline(text, link)}</th>' if text else f'<td class="{kind}"></td>' for text, kind in zip(head, kinds + [""] * len(head)))
    body = "".join("<tr>" + "".join(cell(text, k) for k, text in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="wide"{SCROLLS}><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def inline(text, link=lambda target: target):
    """The HTML of a text without blocks."""
    parts, at = [], 0
    for found in INLINE.finditer(text):
        parts += html.escape(text[at : found.start()], quote=False), element(found, link)
        at = found.end()
    return "".join(parts) + html.escape(text[at:], quote=False)


def element(found, link):
    kind = found.lastgroup
    if found["ticks"]:
        return f"<code>{html.escape(found['code'].strip())}</code>"
    if kind in ("display", "math"):
        return tex(found[kind], kind == "display")
    if kind == "number":
        return html.escape(html.unescape(found[0]))
    if kind == "escaped":
        return html.escape(found["escaped"])
    if kind == "source":
        if not ADDRESS.match(found["source"]):
            return html.escape(found[0], quote=False)
        return f'<img alt="{html.escape(found["alt"])}" src="{html.escape(link(found["source"]))}">'
    if kind == "target":
        if not ADDRESS.match(found["target"]):
            return html.escape(found[0], quote=False)
        return f'<a href="{html.escape(link(found["target"]))}">{inline(found["label"], link)}</a>'
    name = "strong" if kind == "strong" else "em"
    return f"<{name}>{inline(found[kind], link)}</{name}>"


def tex(text, display):
    """MathML, which browsers draw without network and scripts; where TeX has an error, the TeX."""
    import math_core  # .venv has it, and the rest of this module works without

    try:
        made = math_core.LatexToMathML(annotation=True).convert_with_local_state(text, displaystyle=display)
    except math_core.LatexError:
        made = f"<code>{html.escape(text)}</code>"
    return f'<span class="display"{SCROLLS}>{made}</span>' if display else made
