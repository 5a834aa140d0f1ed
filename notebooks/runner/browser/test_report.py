"""The report's pages, as a web server shows them: their length, their width, their pictures."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import CHECKOUT, COMMAND, browser, watchdog

LONGEST = 15_000  # pixels of a page on a wide screen
MEASURE = "() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth]"


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        watchdog.arm()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([CHECKOUT / "reproduce.sh", "site", folder.name], check=True, capture_output=True, timeout=COMMAND)
        cls.pages = [Path(folder.name) / "index.html", *sorted(Path(folder.name).glob("report/*.html"))]
        browser().require()

    def each(self, width):
        """Each page with a browser's tab of this width."""
        context = browser().new_context(width=width)
        self.addCleanup(context.close)
        tab = context.new_page()
        for page in self.pages:
            tab.goto(page.as_uri())
            yield page.name, tab

    def test_no_page_is_long(self):
        for name, tab in self.each(1280):
            self.assertLess(tab.evaluate(MEASURE)[0], LONGEST, name)

    def test_no_page_is_wider_than_a_telephone(self):
        for name, tab in self.each(390):
            self.assertEqual(tab.evaluate(MEASURE)[1], 390, name)

    def test_the_first_screen_has_findings(self):
        _, tab = next(self.each(1280))
        self.assertLess(tab.get_by_text("Seven findings").bounding_box()["y"], 400)

    def test_every_picture_is_shown(self):
        for name, tab in self.each(1280):
            for picture in tab.locator("img").all():
                picture.scroll_into_view_if_needed()
                picture.evaluate("e => e.decode()")  # fails for one that cannot be shown


if __name__ == "__main__":
    unittest.main()
