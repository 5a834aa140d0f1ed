"""The report: its HTML, its links, and the Markdown and TeX that it is made from."""

import base64
import html.parser
import json
import os
import re
import struct
import unittest
import unittest.mock
import zlib
from pathlib import Path
from urllib.parse import unquote

import prose
import provenance
import report
from checkout import NOTEBOOKS
from fixtures import HERE, Checkout


def setUpModule():
    """The package that writes mathematics is in .venv alone; runs/test_mathematics.py tests it."""
    patch = unittest.mock.patch.object(prose, "tex", lambda text, display: f"<math>{html.escape(text)}</math>")
    patch.start()
    unittest.addModuleCleanup(patch.stop)


VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(html.parser.HTMLParser):
    """The ids, links and pictures of a page, whose elements have to be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.pictures, self.names = [], [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"open at the end: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.append(tag)
        self.ids += filter(None, [attributes.get("id")])
        self.links += filter(None, [attributes.get("href")])
        if tag == "img":
            self.pictures.append(attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID or not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> in line {self.getpos()[0]} closes nothing")


class Texts(Page):
    """The elements of a page with their attributes, and the texts in them."""

    def __init__(self, text):
        self.elements, self.found = [], []
        super().__init__(text)

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        self.elements.append((tag, dict(attributes)))
        self.found.append([tag, ""])

    def handle_data(self, data):
        for tag in self.open[-2:]:  # code within its element
            next((e for e in reversed(self.found) if e[0] == tag), ["", ""])[1] += data

    def texts(self, tag):
        return [text for name, text in self.found if name == tag]


def broken(page, folder):
    """The ids that are doubled and the links that lead nowhere from a page in folder, other
    pages left out."""
    doubled = {name for name in page.ids if page.ids.count(name) > 1}
    inside = {link for link in page.links if link.startswith("#") and unquote(link[1:]) not in page.ids}
    files = {link for link in page.links + [p["src"] for p in page.pictures if not p["src"].startswith("data:")] if not re.match(r"#|https?:|(\.\./)?(report/)?\w+\.html", link) and not os.path.exists(os.path.normpath(folder / unquote(link.partition("#")[0])))}
    return doubled | inside | files


def png(shade):
    rows = zlib.compress(bytes([0, shade]))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


GLANCE = """**Claims**

|  | The paper says | Verdict | Number |
| --: | :-- | :-- | --: |
| 1 | A <b> | differs | -2.5 |
| 2 | B | not testable | – |

2 claims: 1 differs, 1 not testable.
"""

CLAIMS = """**The claims**

[The list](claims_at_a_glance.md) has each in one line.

## How to read a card

A bar.

### 1. A <b>

**differs** · section 3 · “A <b>”

`[·│─●]` a number: **-2.5**. Not so: see the [errata](../b/errata.md).

<details><summary>All that is measured</summary>

* **1a** a number: **-2.5**.

</details>

### 2. B

**not testable** · section 4 · “B”
"""


class Report(unittest.TestCase):
    def made(self, cells, files=None, last=None, timings=None, name="01_a", reasons=()):
        """One of the pages on two notebooks, of which 01_a has these cells and files."""
        folder = Checkout(self)
        with folder:
            folder.write("notebooks/01_a.ipynb", json.dumps({"cells": cells}))
            folder.write("notebooks/02_b.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": "# Second"}]}))
            folder.write("cvgm/search.go", "")
            for file, data in (files or {}).items():
                folder.write(f"figures/out/01_a/{file}", data)
            if timings:
                folder.write("figures/out/timings.json", json.dumps(timings))
            tasks = [provenance.Task(folder.root / "notebooks" / file) for file in ("02_b.ipynb", "01_a.ipynb")]  # in the order of their runs
            with unittest.mock.patch.object(provenance, "read", lambda task: last or {}):
                made = report.pages({task: {"reasons": list(reasons)} for task in tasks}, "go", report.PAGE)
            texts = {path.stem: text for path, text in made.items()}
            pages = {path: Page(text) for path, text in made.items()}
            for path, page in pages.items():
                self.assertEqual(broken(page, path.parent), set(), path)
                there = {os.path.normpath(path.parent / unquote(link.partition("#")[0])): link.partition("#")[2] for link in page.links if ".html" in link}
                for target, part in there.items():
                    self.assertIn(Path(target), pages)
                    self.assertIn(part, ["", *pages[Path(target)].ids], target)
        return texts[name], Page(texts[name])

    def in_order(self, text, *words):
        at = text.index("<main>")
        for word in words:
            self.assertIn(word, text[at:])
            at = text.index(word, at) + len(word)

    def test_text_and_outputs_come_in_the_notebook_s_order(self):
        shown = {"output_type": "display_data", "data": {"text/html": f'<figure><img src="data:image/png;base64,{base64.b64encode(png(1)).decode()}" alt="of the &quot;cell&quot;"></figure>'}}
        bare = {"output_type": "display_data", "data": {"image/png": base64.b64encode(png(2)).decode() + "\n"}}
        lost = {"output_type": "display_data", "data": {"image/png": base64.b64encode(png(9)).decode()}}
        cells = [
            {"cell_type": "markdown", "source": ["# First\n", "\n", "See [b](02_b.ipynb), [code](../cvgm/search.go), [below](#The-end) and $x_1$."]},
            {"cell_type": "code", "source": "%noautoget\nimport (\n)", "outputs": []},
            {"cell_type": "code", "source": "%%\nnotebook.Show(one())", "outputs": [shown, {"output_type": "stream", "name": "stdout", "text": ["1 < 2\n"]}]},
            {"cell_type": "markdown", "source": "## Twice"},
            {"cell_type": "code", "source": "%%\nr := f()\nnotebook.Show(r)", "outputs": [bare, {"output_type": "display_data", "data": {"text/markdown": "**T**\n\n| k | v |\n| :-- | --: |\n| a | -1 |\n"}}]},
            {"cell_type": "markdown", "source": "## Twice\n\n## The end"},
            {"cell_type": "code", "source": '%%\nnotebook.Text("%d", 1)', "outputs": []},
            {"cell_type": "code", "source": "%%\nfmt.Println(1)", "outputs": [lost]},
        ]
        files = {"one.png": png(1), "one.svg": "<svg/>", "two.svg": "<svg><image /></svg>", "two.png": png(2), "t.md": "**T**\n\n| k | v |\n| :-- | --: |\n| a | -1 |\n", "late.md": "**Late**\n\n| q |\n| :-- |\n| 7 |\n"}
        text, page = self.made(cells, files, {"captions": {"one": "It <falls>"}, "alts": {"two": "Two lines"}})
        self.in_order(text, "<h1>First</h1>", 'href="02_b.html"', 'href="../../../cvgm/search.go"', 'href="#the-end"', "<math", "<img", "It &lt;falls&gt;. ", "1 &lt; 2",
                      '<h2 id="twice">', "Code, 2 lines", "<img", "<td class=\"number\" data-column=\"v\">−1</td>", "The end</h2>", "Code, 1 line<", '<pre tabindex="0"><code>fmt.Println(1)</code>', "<img", ">7</td>", 'Next: <a href="02_b.html">Second</a>')  # fmt: skip
        self.assertEqual([p["alt"] for p in page.pictures], ['of the "cell"', "Two lines", "A picture of First"])
        self.assertEqual([p.get("class") for p in page.pictures], [None, "surface", None])
        self.assertNotIn("noautoget", text)
        self.assertNotIn("Show(one", text)
        self.assertIn('<a href="../01_a/one.svg"><img', text)
        self.assertIn('loading="lazy" src="../01_a/one.svg"', text)  # the smaller of the two files
        self.assertIn('src="data:image/png;base64,', text)  # of the picture without files

    def test_a_picture_without_a_file_has_the_notebook_s_caption(self):
        figure = f'<figure><img src="data:image/png;base64,{base64.b64encode(png(1)).decode()}" alt="A line"><figcaption><code>It &lt;falls&gt;</code></figcaption></figure>'
        text, page = self.made([{"cell_type": "code", "source": "%%\nShow()", "outputs": [{"output_type": "display_data", "data": {"text/html": figure}}]}])
        self.in_order(text, "<img", "<figcaption>It &lt;falls&gt;. ")
        self.assertEqual([p["alt"] for p in page.pictures], ["A line"])

    def test_claims_are_cards_that_their_list_links_to(self):
        cells = [{"cell_type": "markdown", "source": "# First"}]
        files = {"claims.md": CLAIMS, "claims_at_a_glance.md": GLANCE, "claims.csv": "", "../b/errata.md": ""}
        text, _ = self.made(cells, files, name="claims")
        self.in_order(text, '<a href="#claim-1">1</a>', '<td class="verdict differs" data-column="Verdict">differs', '<td class="verdict untested" data-column="Verdict">not testable', "2 claims: 1 differs",
                      '<section class="card"><h3 id="claim-1">1. A &lt;b&gt;</h3>', '<strong class="verdict differs">differs</strong>', "<code>[·│─●]</code>", "<strong>−2.5</strong>", 'href="../b/errata.md"',
                      "<details><summary>All that is measured</summary>", "<li><strong>1a</strong>", "</details>", "</section>", 'id="claim-2"', '<strong class="verdict untested">not testable')  # fmt: skip
        self.assertEqual(text.count("2 claims: 1 differs"), 1)
        self.assertIn('href="../01_a/claims.csv"', self.made(cells, files)[0])

    def test_the_first_page_has_the_findings_and_the_notebooks_in_short(self):
        shown = "**Two findings**\n\n| Finding | Number | Shown in |\n| :-- | --: | :-- |\n| It differs | -1 ± 2 | 02_b |\n"
        picture = {"output_type": "display_data", "data": {"image/png": base64.b64encode(png(2)).decode()}}

        def markdown(text):
            return {"output_type": "display_data", "data": {"text/markdown": text}}

        cells = [
            {"cell_type": "markdown", "source": "# First\n\n*From the paper.*\n\nDoes it fall? A cell answers.\n\nMore."},
            {"cell_type": "code", "source": "%%\nnotebook.Show(f())", "outputs": [markdown(shown), markdown("**It falls by 2.** Always."), markdown("**A table**\n\n| a |\n| --- |\n| b |\n")]},
            {"cell_type": "code", "source": "%%\nnotebook.Show(g())", "outputs": [picture, markdown("**Later.**"), picture]},
        ]
        files = {"claims.md": CLAIMS, "claims_at_a_glance.md": GLANCE, "findings.md": shown, "one.png": png(2), "one.svg": "<svg/>", "../b/errata.md": ""}
        text, page = self.made(cells, files, name="report", reasons=["no outputs"])
        self.in_order(text, "Two findings", "−1 ±\N{NO-BREAK SPACE}2", '<a href="report/02_b.html">02_b</a>', 'href="report/claims.html"', '<h3 id="01_a"><a href="report/01_a.html">First</a>',
                      "Not up to date: no outputs.", "<p>Does it fall? A cell answers.</p>", "<strong>It falls by 2.</strong> Always.", 'src="01_a/one.svg"', '<h3 id="02_b">')  # fmt: skip
        for words in ("From the paper", "More.", "Later", "A table", "2 claims"):
            self.assertNotIn(words, text)
        self.assertEqual(len(page.pictures), 2)  # the method and the notebook's first

    def test_long_tables_are_folded(self):
        for rows, folded in ((report.LONG, False), (report.LONG + 1, True)):
            text, _ = self.made([], {"t.md": "**T**\n\n| k |\n| :-- |\n" + "| 1 |\n" * rows})
            self.assertEqual(f"<summary>T: {rows} rows</summary>" in text, folded)

    def test_a_site_has_all_files_that_it_links_to(self):
        with Checkout(self) as folder:
            folder.write("notebooks/01_a.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": "# A\n\n[code](../cvgm/search.go#L3), ![a](../a%20b.svg), [gone](gone.md), [out](../../out.md), [far](https://a.example/x)"}]}))
            for file in ("cvgm/search.go", "a b.svg", "figures/out/01_a/one.csv", "figures/out/01_a/unused.txt", "../out.md"):
                folder.write(file, file)
            folder.write("figures/out/01_a/one.png", png(1))
            site = folder.root / "site"
            with unittest.mock.patch.object(report, "ROOT", folder.root):
                report.site({provenance.Task(folder.root / "notebooks/01_a.ipynb"): {"reasons": []}}, "go", site)
            made = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
            self.assertEqual(made, {"index.html", "report/claims.html", "report/times.html", "report/01_a.html", "notebooks/01_a.ipynb", "cvgm/search.go", "a b.svg", "figures/out/01_a/one.csv"})
            self.assertEqual((site / "cvgm/search.go").read_text(), "cvgm/search.go")

    def test_without_claims_and_outputs(self):
        for name in ("report", "claims"):
            self.assertIn("No claims are judged yet", self.made([], name=name)[0])
        for claims in ("", "**T**\n\n| Claim |\n| --- |\n| a |\n", "| |\n"):
            self.made([], {"claims.md": claims, "claims_at_a_glance.md": claims})

    def test_nothing_is_taken_for_html(self):
        evil = "<script>alert(1)</script>"
        cells = [
            {"cell_type": "markdown", "source": f"# {evil}\n\n## {evil} & \"'\n\n{evil} `{evil}` ${evil}$ [{evil}](x\"y.md)\n\n| {evil} |\n| --- |\n| {evil} |\n"},
            {"cell_type": "code", "source": evil, "outputs": [{"output_type": "stream", "name": "stdout", "text": evil}, {"output_type": "display_data", "data": {"text/markdown": evil, "text/html": evil}}]},
        ]
        files = {"claims.md": CLAIMS.replace("Not so", evil).replace("differs", evil), "one.png": png(1), "one.md": evil}
        for name in ("01_a", "claims", "report"):
            with unittest.mock.patch(f"{__name__}.broken", lambda *_: set()):
                _, page = self.made(cells, files, {"captions": {"one": evil}, "alts": {"one": evil + '"'}}, name=name)
            self.assertEqual(page.names.count("script"), 1, name)
            if name == "01_a":
                self.assertIn(evil + '"', [p["alt"] for p in page.pictures])

    def test_names_of_strangers_are_text(self):
        of = json.loads((HERE.parents[1] / "figures/testdata/strangers.json").read_text(encoding="utf-8"))
        page = Texts(report.table(of["markdown"]))
        self.assertEqual(set(page.names), {"p", "code", "div", "table", "thead", "tbody", "tr", "th", "td"})
        self.assertEqual({name for _, attributes in page.elements for name in attributes}, {"class", "scope", "data-column", "tabindex"})
        self.assertEqual(page.texts("td")[::2], [name.replace("-1", "−1", 1) if re.match(r"-1", name) else name for name in of["names"]])
        self.assertEqual(page.texts("p"), [of["caption"], of["note"]])

    def test_only_addresses_that_run_no_script_are_links(self):
        for target in ("javascript:alert`1`", "JaVaScript:x", "data:text/html,x", "vbscript:x"):
            made = prose.convert(f"[x]({target})")
            self.assertEqual([a["href"] for _, a in Texts(made).elements if a.get("href", "a/b").partition(":")[1]], [], made)
        for target in ("https://a.example/b", "mailto:a@b.example", "a/b.md#c", "#c", "b.md"):
            self.assertEqual(prose.convert(f"[x]({target})"), f'<p><a href="{target}">x</a></p>')

    def test_times_are_ratios(self):
        timings = {"date": "2026", "benchmarks": {
            "cvgm.ElasticNetCold/gradient": {"ns/op": {"lowest": 3000.0, "median": 9.0}},
            "cvgm.ElasticNetCold/value": {"ns/op": {"lowest": 2000.0, "median": 9.0}},
            "qpdiff.QPWarm/a_8x": {"ns/op": {"lowest": 1.0}, "µs/problem": {"lowest": 4500.0}},
            "other.Thing": {"ns/op": {"lowest": 12.0}},
        }}  # fmt: skip
        text, _ = self.made([], timings=timings, name="times")
        rows = [re.sub(r"<[^>]*>", "|", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text[text.index('class="times"') :])[1:]]
        self.assertEqual([re.sub(r"\|+", "|", row) for row in rows], [
            "|cvgm: ElasticNetCold, value|1|2 µs|", "|cvgm: ElasticNetCold, gradient|1.5|3 µs|",
            "|qpdiff: QPWarm, a 8x|–|4.5 ms per problem|", "|other: Thing|–|12 ns|",
        ])  # fmt: skip
        for bad in ({"benchmarks": {"a": {}}}, {"benchmarks": []}, {}, []):
            self.assertIn("None yet", self.made([], timings=bad or [1], name="times")[0])

    def test_each_recorded_time_has_a_baseline(self):
        for name in json.loads(provenance.TIMINGS.read_text())["benchmarks"]:
            self.assertIn(report.baseline(name), json.loads(provenance.TIMINGS.read_text())["benchmarks"], name)

    def test_makers_are_found_in_the_source(self):
        self.assertEqual(report.maker("elastic_net_surfaces"), "figures.ElasticNetSurfaces")
        self.assertEqual(report.maker("my_data_roc"), "figures.MyDataPredictions")  # a method of another type lies between
        self.assertIsNone(report.maker("no such output"))

    def test_each_link_of_the_report_leads_somewhere(self):
        tasks = [provenance.Task(path) for path in sorted(NOTEBOOKS.glob("[0-9e]*.ipynb"))]
        made = report.pages({task: {"reasons": []} for task in tasks}, "go", report.PAGE)
        for path, text in made.items():
            page = Page(text)
            self.assertEqual(broken(page, path.parent), set(), path)
            self.assertEqual([p for p in page.pictures if not p["alt"]], [], path)
        for task in tasks:
            for file in task.out.glob("*.png"):
                self.assertRegex(made[report.PAGE.parent / report.FOLDER / f"{task.name}.html"], rf"/{file.stem}\.(png|svg)\"", file)

    def test_the_first_page_loads_little(self):
        tasks = [provenance.Task(path) for path in sorted(NOTEBOOKS.glob("[0-9e]*.ipynb"))]
        text = report.pages({task: {"reasons": []} for task in tasks}, "go", report.PAGE)[report.PAGE]
        pictures = [report.PAGE.parent / p["src"] for p in Page(text).pictures if not p["src"].startswith("data:")]
        self.assertLess(len(text) + sum(path.stat().st_size for path in pictures), 1e6)


class Markdown(unittest.TestCase):
    def test_blocks(self):
        for text, made in {
            "a\nb\n\nc": "<p>a b</p>\n<p>c</p>",
            "## A *b*\nc": "<h2>A <em>b</em></h2>\n<p>c</p>",
            "```go\na < b\n\nc\n```\nd": '<pre tabindex="0"><code>a &lt; b\n\nc</code></pre>\n<p>d</p>',
            "* a\n* b\n  c": "<ul><li>a</li><li>b c</li></ul>",
            "* a\n  * b\n  * c\n* d": "<ul><li>a\n<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>",
            "* a\n\n* b": "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
            "a:\n* b\n\nc": "<p>a:</p>\n<ul><li>b</li></ul>\n<p>c</p>",
            "2. a\n3. b": '<ol start="2"><li>a</li><li>b</li></ol>',
            "```\nopen": '<pre tabindex="0"><code>open</code></pre>',
            "| a |\nb": "<p>| a | b</p>",
            "*not* a list": "<p><em>not</em> a list</p>",
        }.items():
            self.assertEqual(prose.convert(text), made, text)

    def test_tables(self):
        made = prose.convert("| *X* | `V` |\n| :-- | --: |\n| a \\| b | – |\n| $x$ | 1.5 | more |\n")
        for words in ('<th scope="col" class=""><em>X</em></th>', '<th scope="col" class="number"><code>V</code></th>', '<td class="" data-column="X">a | b</td>',
                      '<td class="number none" data-column="V">–</td>', '<td class="number" data-column="V">1.5</td><td class="" data-column="">more</td>'):  # fmt: skip
            self.assertIn(words, made)

    def test_spans(self):
        for text, made in {
            "**a *b* c**": "<strong>a <em>b</em> c</strong>",
            "*a **b** c*": "<em>a <strong>b</strong> c</em>",
            "`a*b*` 2 * 3 * 4": "<code>a*b*</code> 2 * 3 * 4",
            "``a`b``": "<code>a`b</code>",
            r"\*a\* \$5": "*a* $5",
            "costs $5 and $6": "costs $5 and $6",
            "snake_case_name _em_": "snake_case_name <em>em</em>",
            "[a `b]` c](d.md#e)": '<a href="d.md#e">a <code>b]</code> c</a>',
            "[a] (b) & <i>": "[a] (b) &amp; &lt;i&gt;",
            "**open": "**open",
        }.items():
            self.assertEqual(prose.inline(text), made, text)


if __name__ == "__main__":
    unittest.main()
