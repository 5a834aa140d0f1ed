"""The line of progress and the time left."""

import io
import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import durations
import progress
import provenance
from fixtures import Checkout, main


def task(name, **overrides):
    return provenance.Task(Path(f"{name}.ipynb"), tuple(sorted(overrides.items())))


KNOWN = {"notebooks": {"a": {"seconds": 10, "results": ["F", "G"]}, "b": {"seconds": 20, "results": ["G"]}}, "results": {"F": 100, "G": 200}}
NOTHING = {"notebooks": {}, "results": {}}


class TimeLeft(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)

    def left(self, estimate, now):
        share, left = estimate.at(now)
        return None if left is None else round(left)

    def test_the_seconds_of_the_last_run_here(self):
        e = durations.Estimate([task("a"), task("b")], set(), KNOWN, NOTHING)
        e.begin(task("a"), 0)
        self.assertEqual(self.left(e, 0), 330)  # each result is computed once
        self.assertEqual(self.left(e, 5), 325)
        e.computes("F", 5)
        self.assertEqual(self.left(e, 105), 225)
        e.computed(105)
        e.computes("G", 105)
        e.computed(305)
        self.assertEqual(self.left(e, 305), 25)
        e.end(310)
        e.begin(task("b"), 310)
        self.assertEqual(self.left(e, 320), 10)
        self.assertAlmostEqual(e.at(320)[0], 320 / 330)

    def test_a_slower_machine_takes_longer(self):
        e = durations.Estimate([task("a"), task("b")], set(), NOTHING, KNOWN)
        self.assertEqual(e.at(0), (None, None))
        e.begin(task("a"), 0)
        self.assertEqual(e.at(0), (0, 330), "as long as there")
        e.computes("F", 0)
        self.assertEqual(self.left(e, 200), 2 * 230, "F takes at least twice as long as there")
        e.computed(300)
        e.computes("G", 300)
        self.assertEqual(self.left(e, 300), 3 * 230)
        self.assertEqual(self.left(e, 600), 3 * 230 - 300)
        self.assertEqual(self.left(e, 900), 3 * 30)
        self.assertEqual(self.left(e, 1800), 6 * 30, "a part that takes longer than known makes all longer")

    def test_what_the_experiment_counts(self):
        e = durations.Estimate([task("a")], set(), {"notebooks": {"a": {"seconds": 0, "results": ["F"]}}, "results": {"F": 90}}, NOTHING)
        e.begin(task("a"), 0)
        e.computes("F", 0)
        left = [round(e.at(now, share)[1]) for now, share in ((0, 0), (10, 0.01), (30, 1 / 3), (60, 1 / 3), (120, 2 / 3), (179, 0.99))]
        self.assertEqual(left, [90, 98, 60, 80, 53, 2], "the first parts may take long: they say little")

    def test_the_first_line_of_a_run(self):
        def first(tasks, known, reference):
            return main.announcement(tasks, *durations.Estimate(tasks, set(), known, reference).total())

        self.assertEqual(first([task("a")], KNOWN, NOTHING), "running a: about 5 min 10 s")
        self.assertEqual(first([task("a"), task("b")], NOTHING, KNOWN), "running 2 notebooks, a first and b last: about 5 min 30 s on the machine that made the committed outputs")
        self.assertEqual(first([task("a", K="5")], KNOWN, KNOWN), "running a K=5: the first run with these parameters, so its time is not known")
        self.assertEqual(first([task("new")], KNOWN, KNOWN), "running new: how long it takes is not known, since no time is recorded of new")
        self.assertEqual(first([task("a"), task("new")], KNOWN, KNOWN), "running 2 notebooks, a first and new last: how long it takes is not known, since no time is recorded of new")

    def test_kept_results_take_no_time(self):
        notebook = task("a")
        self.checkout.write("figures/out/a/provenance.json", json.dumps({
            "notebook": "a.ipynb", **dict.fromkeys(provenance.TABLES, {}),
            "results": [{"function": "F", "key": "f" * 64}, {"function": "G", "key": "0" * 64}],
        }))  # fmt: skip
        e = durations.Estimate([notebook, task("b")], {"f" * 16}, KNOWN, NOTHING)
        e.begin(notebook, 0)
        self.assertEqual(self.left(e, 0), 230)
        e.computes("F", 0)  # in spite of that
        self.assertEqual(self.left(e, 0), 330)
        e.computed(100)
        self.assertEqual(self.left(e, 100), 230)
        again = durations.Estimate([notebook, task("b")], {"f" * 16}, KNOWN, NOTHING, changed={"F"})
        again.begin(notebook, 0)
        self.assertEqual(self.left(again, 0), 330, "F of other sources is computed again")

    def test_unknown_notebooks_and_results(self):
        e = durations.Estimate([task("a"), task("new")], set(), KNOWN, NOTHING)
        e.begin(task("a"), 0)
        e.computes("F", 1)
        self.assertEqual(e.at(2), (None, None))
        e.end(3)
        e.begin(task("new"), 3)
        e.computes("H", 4)
        self.assertEqual(e.at(5), (None, None))
        e.computed(6)
        e.end(7)
        only = durations.Estimate([task("a")], set(), KNOWN, NOTHING)
        only.begin(task("a"), 0)
        only.computes("H", 0)
        self.assertGreater(self.left(only, 1), 300)

    def test_failed_notebooks_end_too(self):
        e = durations.Estimate([task("a"), task("b")], set(), KNOWN, NOTHING)
        e.begin(task("a"), 0)
        e.computes("F", 0)
        e.end(1)
        e.begin(task("b"), 1)
        self.assertIsNotNone(self.left(e, 1))

    def test_record_and_load(self):
        records = [{"function": "F", "key": "k1"}, {"computed": "k1", "seconds": 3.0}, {"function": "G", "key": "k2"}, {"note": "n"}]
        durations.record(task("a"), 5, records)
        durations.record(task("a", K="5"), 50, [{"function": "F", "key": "k3"}, {"computed": "k3", "seconds": 30}])
        want = {
            "notebooks": {"a": {"seconds": 2.0, "results": ["F", "G"]}, "a K=5": {"seconds": 20, "results": ["a K=5 F"]}},
            "results": {"F": 3.0, "a K=5 F": 30},
        }
        self.assertEqual(durations.load(durations.FILE), want)
        durations.record(task("a"), 1, [{"function": "F", "key": "k1"}])  # from the store
        self.assertEqual(durations.load(durations.FILE)["results"]["F"], 3.0)
        self.checkout.write("figures/out/timings.json", json.dumps({"benchmarks": {}, durations.PART: want}))
        self.assertEqual(durations.load(provenance.TIMINGS), want)

    def test_the_committed_seconds_are_of_one_machine(self):
        committed = {"notebooks": {"a": {"seconds": 1.0, "results": []}}, "results": {}}
        self.checkout.write("figures/out/timings.json", json.dumps({durations.PART: committed}))
        self.assertEqual(durations.reference(["a", "b"]), committed, "nothing ran here")
        durations.record(task("a"), 5, [{"function": "F", "key": "k1"}, {"computed": "k1", "seconds": 3.0}])
        durations.record(task("a", K="5"), 5, [])
        self.assertEqual(durations.reference(["a", "b"]), committed, "b did not run here")
        durations.record(task("b"), 5, [{"function": "G", "key": "k2"}])
        self.assertEqual(durations.reference(["a", "b"]), committed, "G was not computed here")
        durations.record(task("b"), 5, [{"function": "G", "key": "k2"}, {"computed": "k2", "seconds": 4.0}])
        self.assertEqual(durations.reference(["a", "b"]), {
            "notebooks": {"a": {"seconds": 2.0, "results": ["F"]}, "b": {"seconds": 1.0, "results": ["G"]}},
            "results": {"F": 3.0, "G": 4.0},
        })  # fmt: skip

    def test_damaged_records_count_as_none(self):
        for text in ("", "[]", "{}", '{"runs": 1}', '{"notebooks": [], "results": {}}', '{"notebooks": {"a": {}}, "results": {}}', "\x00"):
            self.checkout.write(".work/seconds.json", text)
            self.checkout.write("figures/out/timings.json", text)
            self.assertEqual((durations.load(durations.FILE), durations.load(provenance.TIMINGS)), (NOTHING, NOTHING), text)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressLine(unittest.TestCase):
    def line(self, stream):
        estimate = durations.Estimate([task("a"), task("b")], set(), KNOWN, NOTHING)
        line = progress.Progress(2, estimate, stream)
        self.addCleanup(line.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.record = Path(folder.name, "progress"), Path(folder.name, "record")
        line.start(1, task("a"))
        line.experiment(self.file, self.record)
        return line

    def test_one_bar_for_the_whole_run(self):
        began = 1000.0
        clock = unittest.mock.patch.object(progress.time, "monotonic", return_value=began)
        with clock, unittest.mock.patch.dict("os.environ", TERM="xterm"), unittest.mock.patch.object(progress.threading, "Thread"):
            line = self.line(Terminal())
            self.assertIsNone(line.text(), "there is no cell yet")
            line.cell(4, 9)

        def text(after):
            with unittest.mock.patch.object(progress.time, "monotonic", return_value=began + after):
                return line.text()

        self.assertRegex(text(1), r"^\[ {20}\] 1/2 a, cell 4/9  1 s, about 5 min 29 s left$")
        self.record.write_text('{"function": "F", "key": "1"}\n{"computing": "F"}\n{"compu')
        self.file.write_text("[7, 128]")
        self.assertRegex(text(2), "1/2 a, cell 4/9: 7 of 128 done  2 s, about 5 min 2\\d s left$")
        self.assertEqual(line.estimate.result, "F")
        self.file.write_text("[17, 128]")
        self.assertIn(": 17 of 128 done, 2.5/s  6 s", text(6))
        with open(self.record, "a") as f:
            f.write('ted": "1", "seconds": 1}\n')
        self.assertRegex(text(102), r"^\[#{6} {14}\] .* about 3 min 48 s left$")
        self.assertRegex(text(900), "more than 3 min 48 s left$", "the rest of the notebook takes long")
        self.assertIsNone(line.estimate.result)
        for damaged in ("", "[1", "{}", "7"):
            self.file.write_text(damaged)
            self.assertNotIn("done", text(103))
        line.end("fine")
        self.assertIsNone(line.text())

    def test_the_time_left_never_grows(self):
        line = self.line(io.StringIO())
        shown = [line.left(s) for s in (100, 90, 110, 120, 300, 100, 80, 0, 1, 2)]
        self.assertEqual(shown, [
            "about 1 min 40 s", "about 1 min 30 s", "about 1 min 30 s", "more than 1 min 30 s", "more than 1 min 30 s",
            "about 1 min 30 s", "about 1 min 20 s", "about 1 s", "about 1 s", "more than 1 s",
        ])  # fmt: skip

    def test_only_ends_show_where_there_is_no_terminal(self):
        stream = io.StringIO()
        line = self.line(stream)
        line.cell(1, 2)
        line.line.draw()
        with self.assertLogs("reproduce") as said:
            line.end("files changed: 2")
        self.assertRegex(said.output[0], r"\[1/2\] a  files changed: 2, \d+\.\d s$")
        self.assertEqual(stream.getvalue(), "")

    def test_steps_of_set_up(self):
        for stream, want in ((Terminal(), r"a step: 3 of 7 packages  \d+ s"), (io.StringIO(), "^$")):
            with unittest.mock.patch.dict("os.environ", TERM="xterm"), self.assertLogs("reproduce") as said:
                with progress.Waiting("a step", stream=stream) as waiting:
                    waiting.parts = ": 3 of 7 packages"
                    waiting.line.draw()
            self.assertRegex(stream.getvalue(), want)
            self.assertEqual(len(said.output), 1)

    def test_durations(self):
        self.assertEqual([progress.duration(s) for s in (0.4, 59.4, 60, 3599, 3700)], ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 1 min"])
