"""The report's pages, as a web server shows them: their length, their width, their pictures, and
what axe finds in them that keeps people from reading them."""

import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import unquote, urlsplit

from harness import CHECKOUT, COMMAND, DRIVER, browser, watchdog

LONGEST = 15_000  # pixels of a page on a wide screen
FIRST_PAGE = 1_000_000  # bytes that a reader fetches of the first page, with its pictures
MEASURE = "() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
OPEN = "() => { for (const e of document.querySelectorAll('details')) e.open = true }"
WIDE = "() => [...document.querySelectorAll('.wide')].filter(e => !e.closest('details:not([open])') && e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 80))"
BROKEN = """() => [...document.querySelectorAll('td.number')].filter(cell => {
    const text = document.createRange()
    text.selectNodeContents(cell)
    return new Set([...text.getClientRects()].map(box => Math.round(box.top))).size > 1
}).map(cell => cell.innerText)"""


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        watchdog.arm()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([CHECKOUT / "reproduce.sh", "site", folder.name], check=True, capture_output=True, timeout=COMMAND)
        cls.pages = [Path(folder.name) / "index.html", *sorted(Path(folder.name).glob("report/*.html"))]
        browser().require()

    def each(self, width, **options):
        """Each page with a browser's tab of this width."""
        context = browser().new_context(width=width, **options)
        self.addCleanup(context.close)
        tab = context.new_page()
        for page in self.pages:
            tab.goto(page.as_uri())
            yield page.name, tab

    def test_no_page_is_long(self):
        for name, tab in self.each(1280):
            self.assertLess(tab.evaluate(MEASURE)[0], LONGEST, name)

    def test_tables_fit_and_numbers_are_on_one_line(self):
        """Long tables, which are folded, may be wider than the page."""
        for name, tab in self.each(1280):
            self.assertEqual(tab.evaluate(WIDE), [], name)
            tab.evaluate(OPEN)
            self.assertEqual(tab.evaluate(BROKEN), [], name)

    def test_no_page_is_wider_than_a_telephone(self):
        for name, tab in self.each(390):
            self.assertEqual(tab.evaluate(MEASURE)[1], 390, name)

    def test_the_first_screen_has_findings(self):
        _, tab = next(self.each(1280))
        self.assertLess(tab.get_by_text("Seven findings").bounding_box()["y"], 400)

    def test_the_first_page_is_small(self):
        _, tab = next(self.each(1280))
        fetched = set()
        tab.on("response", lambda response: fetched.add(response.url))
        tab.reload()
        files = [Path(unquote(urlsplit(url).path)) for url in fetched if urlsplit(url).scheme == "file"]
        self.assertIn(self.pages[0], files)
        self.assertLessEqual(sum(file.stat().st_size for file in files), FIRST_PAGE)

    def violations(self, tab, rules):
        """What axe finds in the page, with all that is folded opened."""
        tab.evaluate(OPEN)
        tab.add_script_tag(path=DRIVER / "axe_playwright_python" / "axe.min.js")
        found = tab.evaluate("rules => axe.run({resultTypes: ['violations'], ...rules}).then(r => r.violations)", rules)
        return [f"{violation['id']}: {node['html'][:200]}" for violation in found for node in violation["nodes"]]

    def test_axe_finds_nothing(self):
        for name, tab in self.each(1280, color_scheme="light"):
            self.assertEqual(self.violations(tab, {}), [], name)

    def test_axe_finds_nothing_in_the_dark(self):
        """Its colours alone differ from the page in the light."""
        for name, tab in self.each(1280, color_scheme="dark"):
            self.assertEqual(self.violations(tab, {"runOnly": ["color-contrast"]}), [], name)

    def test_axe_finds_what_is_wrong(self):
        _, tab = next(self.each(1280, color_scheme="dark"))
        tab.set_content("<html lang=en><title>t</title><main><h1 style='color:#333;background:#222'>Grey</h1><img src=x></main>")
        found = self.violations(tab, {})
        self.assertEqual(sorted(words.split(":")[0] for words in found), ["color-contrast", "image-alt"])

    def test_every_picture_is_shown(self):
        for name, tab in self.each(1280):
            for picture in tab.locator("img").all():
                picture.scroll_into_view_if_needed()
                picture.evaluate("e => e.decode()")  # fails for one that cannot be shown


if __name__ == "__main__":
    unittest.main()
