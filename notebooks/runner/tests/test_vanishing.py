"""Folders that are deleted during a run."""

import json
import logging
import os
import shutil
import sys
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path

import checkout
import compare
import environment
import processes
import provenance
import readme
from fixtures import agrees, Checkout, HERE, main


class FakeExecute(types.ModuleType):
    """In place of execute.py: a notebook of three cells that write a file each."""

    class NotebookError(checkout.ReproduceError):
        pass

    class ParameterError(NotebookError):
        pass

    class ParameterHelp(NotebookError):
        pass

    def run(self, path, temporary, staging, env, progress, records):
        for name in ("a.csv", "b.csv", "findings.md"):
            staging.path.mkdir(exist_ok=True)  # as notebook.Save does
            (staging.path / name).write_text("new " + name)
            Path(env["CVGM_STORE"]).mkdir(parents=True, exist_ok=True)
            (Path(env["CVGM_STORE"]) / name).write_text("result")
            staging.check()
        return path.read_bytes()


class Vanishing(unittest.TestCase):
    """Folders that are deleted at any moment of a run cost at most the run."""

    GO = "go1.26 amd64"

    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.root = self.checkout.root
        self.checkout.write("notebooks/n.ipynb", json.dumps({"cells": []}))
        handler = logging.Handler()
        handler.emit = lambda record: self.said.append(record.getMessage())
        checkout.log.addHandler(handler)
        self.addCleanup(checkout.log.removeHandler, handler)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.temporary = Path(temporary.name)
        for module, name, value in (
            (environment, "build_packages", lambda env: None),
            (processes, "discard", lambda folder: shutil.rmtree(folder, ignore_errors=True)),
            (provenance, "examine", lambda tasks, env: {t: {"reasons": [] if agrees(t) else ["x"], "rewrite": False, "inputs": {}, "changed": []} for t in tasks}),
            (provenance, "version", lambda: {}),
            (os, "fsync", lambda fd: None),
            (tempfile, "tempdir", temporary.name),
        ):
            patch = unittest.mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = unittest.mock.patch.dict(sys.modules, {"execute": FakeExecute("execute")})
        patch.start()
        self.addCleanup(patch.stop)

    def committed(self):
        places = compare.files_in(self.root / "figures/out/n")
        return {name: data.decode() for name, data in places.items()} | {"README.md": (self.root / "README.md").read_text()}

    SPEED = readme.with_speed(readme.SPEED_BEGIN + readme.SPEED_END)
    OLD = {"a.csv": "old a", "b.csv": "old b", "findings.md": "old c", "obsolete.csv": "old d", "README.md": readme.BEGIN + "old c\n" + readme.END + SPEED}
    NEW = {name: "new " + name for name in ("a.csv", "b.csv", "findings.md")}
    NEW["README.md"] = readme.BEGIN + NEW["findings.md"] + "\n" + readme.END + SPEED

    def run_at(self, args, delete, moment):
        """Runs from the old outputs and calls delete at that call of a function by
        the runner's code; the exit status, and whether the moment came."""
        shutil.rmtree(self.root / ".work", ignore_errors=True)
        shutil.rmtree(self.root / "figures", ignore_errors=True)
        for name, data in self.OLD.items():
            self.checkout.write(name if name == "README.md" else f"figures/out/n/{name}", data)
        self.said, self.before_the_end, count = [], False, 0

        def on_event(frame, event, _):
            nonlocal count
            if event in ("call", "c_call") and os.path.dirname(frame.f_code.co_filename) == str(HERE):
                count += 1
                if count == moment:
                    sys.setprofile(None)
                    while frame and frame.f_code.co_name != "run_task":
                        frame = frame.f_back
                    self.before_the_end = frame is not None
                    delete()
                    sys.setprofile(on_event)

        sys.setprofile(on_event)
        try:
            status = self.reproduce(args)
        finally:
            sys.setprofile(None)
        return status, count >= moment

    def reproduce(self, args):
        try:
            return main.run([self.task(args)], args, {environment.TOOLCHAIN: self.GO})
        except (checkout.ReproduceError, OSError) as e:
            self.said.append(str(e))
            return 1

    def task(self, args):
        return provenance.Task(self.root / "notebooks/n.ipynb", tuple(sorted(args.overrides.items())))

    def staged(self):
        return [*self.temporary.glob("cvgm-*/out")]

    def delete_work(self):
        shutil.rmtree(self.root / ".work", ignore_errors=True)

    def delete_staging(self):
        for folder in self.staged():
            shutil.rmtree(folder)

    def empty_staging(self):
        for folder in self.staged():
            for path in folder.iterdir():
                path.unlink()

    def delete_temporary(self):
        for folder in self.temporary.glob("cvgm-*"):
            shutil.rmtree(folder)

    # CVGM_MOMENTS=1 tries every one, in minutes.
    STRIDE = int(os.environ.get("CVGM_MOMENTS", 23))

    def test_at_every_moment(self):
        failures, first = {}, 0
        for delete in (self.delete_work, self.delete_staging, self.empty_staging, self.delete_temporary):
            for args in map(main.parse, (["n"], ["n", "--force"], ["n", "--check"], ["n", "-p", "K=3"])):
                first, came = first + 1, True  # so that the moments differ
                moment = first - self.STRIDE
                while came:
                    moment += self.STRIDE
                    where = f"{delete.__name__}, {args}, moment {moment}"
                    status, came = self.run_at(args, delete, moment)
                    committed = self.committed()
                    if args.mode == "check" or args.overrides:
                        self.assertEqual(committed, self.OLD, where)
                    if status:
                        failures[delete.__name__] = failures.get(delete.__name__, 0) + (args.mode != "check")
                        if args.mode != "check":
                            self.assertRegex("\n".join(self.said), "deleted|No such file", where)
                        for name, data in committed.items():
                            self.assertIn(data, (self.OLD.get(name), self.NEW.get(name)), where)
                        self.assertLessEqual(self.NEW.keys(), committed.keys(), where)
                        if args.mode != "check":
                            self.assertEqual(self.reproduce(args), 0, where)
                    if args.overrides:
                        if not agrees(self.task(args)):
                            self.assertFalse(self.before_the_end and status == 0, where)
                            self.assertEqual(self.reproduce(args), 0, where)
                        made = compare.files_in(self.task(args).out)
                        self.assertEqual({k: v.decode() for k, v in made.items() if not k.endswith(".ipynb")}, {k: v for k, v in self.NEW.items() if k != "README.md"}, where)
                    elif args.mode != "check":
                        self.assertEqual(self.committed(), self.NEW, where)
                        self.assertTrue(agrees(self.task(args)), where)
        # Deleting .work spoils only what a run with -p puts there.
        self.assertEqual(failures.keys() - {"delete_work"}, {"delete_staging", "empty_staging", "delete_temporary"})

    def test_an_edit_during_the_run_is_kept(self):
        edit = json.dumps({"cells": [{"cell_type": "markdown", "source": ["edited"]}]})
        status, _ = self.run_at(main.parse(["n"]), lambda: None, 0)
        self.assertEqual(status, 0)
        path = self.root / "notebooks/n.ipynb"

        def run(path, *args, true=FakeExecute.run):
            notebook = true(None, path, *args)
            path.write_text(edit)
            return notebook

        for argv, status, committed in ((["n"], 1, self.OLD), (["n", "-p", "K=3"], 0, self.OLD)):
            with self.subTest(argv), unittest.mock.patch.object(sys.modules["execute"], "run", run):
                self.assertEqual(self.run_at(main.parse(argv), lambda: None, 0)[0], status)
                self.assertEqual((path.read_text(), self.committed()), (edit, committed))
                self.assertEqual("was edited during the run" in "\n".join(self.said), status == 1)
                self.checkout.write("notebooks/n.ipynb", json.dumps({"cells": []}))

    def test_markers_that_are_gone_fail_a_run_and_a_check(self):
        for args in (main.parse(["n"]), main.parse(["n", "--check"])):
            self.run_at(main.parse(["n"]), lambda: None, 0)
            self.assertTrue(agrees(self.task(args)))
            (self.root / "README.md").write_text("no markers\n")
            self.said = []
            self.assertEqual(self.reproduce(args), 1)
            self.assertIn("README.md has no place for the findings", "\n".join(self.said))
            self.assertEqual((self.root / "README.md").read_text(), "no markers\n")
            # A run that finds nothing stale brings the claims up to date, too.
            (self.root / "README.md").write_text(self.OLD["README.md"])
            self.assertEqual(self.reproduce(main.parse(["n"])), 0)
            self.assertEqual(self.committed(), self.NEW)
