"""Tests --on slurm on a real Slurm: two nodes on the loopback interface.

python3 -I notebooks/runner/test_slurm.py [--required] [-v]

Without Slurm the tests are skipped; with --required that is a failure.
"""

import contextlib
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "runs")]

import cluster
import slurm
import small
import watchdog
from checkout import ROOT

REQUIRED = "--required" in sys.argv
KEY = "0123456789abcdef" * 4
LIMIT = 1800  # s for a test
CELLS = 40
PARAMS = {"Seeds": CELLS, "LongSteps": 2000}  # a cell takes some tenths of a second, so a test has seconds to break off a sweep
BRIEF = {"Seeds": CELLS, "LongSteps": 100, "K": 16}  # all cells together take half a second


def setUpModule():
    global nodes, folder, worker, own, expected
    if reason := cluster.absent():
        if REQUIRED:
            raise RuntimeError(f"--required: {reason}")
        raise unittest.SkipTest(f"no Slurm: {reason}")
    own = tempfile.mkdtemp(prefix="cvgm-slurm-", dir="/tmp")
    unittest.addModuleCleanup(shutil.rmtree, own, ignore_errors=True)
    folder = Path(own)
    folder.chmod(0o755)
    (folder / "cluster").mkdir()
    nodes = cluster.Cluster(folder / "cluster").__enter__()
    unittest.addModuleCleanup(nodes.__exit__)
    os.environ |= {"SLURM_CONF": str(nodes.conf), "PATH": nodes.env["PATH"]}
    worker = folder / "worker"
    env = os.environ | {"CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-trimpath", "-o", str(worker), "./notebooks/worker"], cwd=ROOT, env=env, check=True)
    expected = {}
    for params in (PARAMS, BRIEF):
        local = Path(tempfile.mkdtemp(dir=folder))
        for step in ([], ["-gather"]):
            subprocess.run([str(worker), "-name", "elastic_net_seeds", "-params", json.dumps(params), "-key", KEY, "-out", str(local), *step], check=True)
        expected[named(params)] = result(local).read_bytes()


def named(params):
    """The parameters in one order, whoever wrote them."""
    return json.dumps(params, sort_keys=True)


def result(store):
    found = [p for p in Path(store).glob("*") if p.is_file() and p.suffix != ".cells"]
    return found[0] if found else None


class TestCluster(unittest.TestCase):
    def test_daemons_listen_on_the_loopback_interface_alone(self):
        found = nodes.listening()
        self.assertGreaterEqual(len(found), 1 + len(nodes.nodes), "slurmctld and each slurmd")
        self.assertEqual([a for a in found if not a.startswith("0100007F:")], [])


class TestSweeps(unittest.TestCase):
    def setUp(self):
        cluster.wait_for(nodes.idle, "the nodes are not idle")
        self.store = Path(tempfile.mkdtemp(dir=folder))
        slurm.FOLDER = Path(tempfile.mkdtemp(dir=folder))
        slurm.LATE = "4s"  # the folder is local

    def submit(self, shards=2, params=PARAMS, store=None, **options):
        args = types.SimpleNamespace(**{"shards": shards, "throttle": None, "sbatch": ""} | options)
        wanted = {KEY: {"Name": "elastic_net_seeds", "Params": params, "Key": KEY}}
        return slurm.submit(wanted, args, worker, store or self.store)

    def finish(self, sweep):
        slurm.finish(sweep, slurm.follow(sweep, 0.3))
        [of] = sweep.plan["Sweeps"]
        self.assertEqual(result(self.store).read_bytes(), expected[named(of["Params"])])

    def working(self, sweep, least=4):
        cluster.wait_for(lambda: slurm.totals(sweep.count())[0] >= least, "no cell is done")

    def start_now(self, sweep):
        """Takes away the two minutes that Slurm lets a task wait after its node has failed."""
        pending = [e[0] for e in sweep.elements() or [] if e[1] == "PENDING" and e[0].split("_")[0] == sweep.jobs["array"]]
        for name in pending:
            nodes.run("scontrol", "update", f"JobId={name}", "StartTime=now")
        return pending

    def test_same_bytes_with_any_number_of_shards(self):
        for shards in (1, 5):
            with self.subTest(shards=shards):
                shutil.rmtree(self.store)
                self.finish(self.submit(shards, BRIEF))

    def test_nothing_is_submitted_twice(self):
        self.finish(self.submit(params=BRIEF))
        self.assertIsNone(self.submit(params=BRIEF))

    def test_second_submission_computes_missing_cells_alone(self):
        sweep = self.submit()
        self.working(sweep)
        nodes.run("scancel", sweep.jobs["array"])
        with self.assertRaisesRegex(slurm.SlurmError, r"cells are missing(.|\n)*on n[12](.|\n)*CANCELLED"):
            self.finish(sweep)
        done = slurm.totals(sweep.count())[0]
        again = self.submit()
        self.assertEqual(slurm.totals(again.count())[1], CELLS - done)
        self.finish(again)

    def test_task_is_requeued(self):
        sweep = self.submit(1)
        self.working(sweep)
        self.assertEqual(nodes.run("scontrol", "requeue", f"{sweep.jobs['array']}_0").returncode, 0)
        cluster.wait_for(nodes.idle, "the task does not end")
        time.sleep(1.1)  # a node refuses a task whose credential is of the second in which it ended the task before
        cluster.wait_for(lambda: self.start_now(sweep), "the task is not requeued")
        self.finish(sweep)

    def test_node_dies(self):
        sweep = self.submit()
        self.working(sweep)
        self.addCleanup(nodes.start, "n2")
        self.assertTrue(nodes.kill("n2"))
        cluster.wait_for(lambda: self.start_now(sweep), "the task of the dead node is not requeued")
        self.finish(sweep)

    def test_node_is_cut_off_and_its_worker_lives_on(self):
        sweep = self.submit()
        self.working(sweep, 2)
        self.addCleanup(nodes.start, "n2")
        orphans = nodes.kill("n2", orphan=True)
        for pid in orphans:
            self.addCleanup(cluster.end, pid)
        workers = [p for p in orphans if str(worker) in cluster.processes_of().get(p, (0, ""))[1]]
        self.assertTrue(workers)
        for pid in workers:
            os.kill(pid, cluster.signal.SIGSTOP)  # so that it is still at work when its shard runs again
        cluster.wait_for(lambda: self.start_now(sweep), "the task of the lost node is not requeued")
        for pid in workers:
            os.kill(pid, cluster.signal.SIGCONT)
        self.finish(sweep)

    def test_one_shard_twice_at_the_same_time(self):
        sweep = self.submit(1)
        copies = [subprocess.Popen([str(worker), "-plan", str(sweep.folder / "plan.json"), "-shard", "0"]) for _ in range(2)]
        for c in copies:
            self.addCleanup(c.kill)
        self.assertEqual([c.wait() for c in copies], [0, 0])
        self.finish(sweep)

    def test_worker_is_killed(self):
        sweep = self.submit(1)
        self.working(sweep)
        for name in nodes.nodes:
            for pid in nodes.job_processes(name):
                if str(worker) in cluster.processes_of().get(pid, (0, ""))[1]:
                    cluster.end(pid)
        with self.assertRaisesRegex(slurm.SlurmError, "cells are missing(.|\n)*shard 0 on n[12](.|\n)*FAILED"):
            self.finish(sweep)
        for file in next(self.store.glob("*.shards")).glob("*.records"):  # a torn record besides
            with open(file, "ab") as f:
                f.write(b"cell 39 0123")
        self.finish(self.submit())

    def test_full_disk(self):
        small = folder / "small"
        small.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True, text=True)
        if mount.returncode:
            if REQUIRED:
                self.fail(mount.stderr)
            self.skipTest(f"no small file system: {mount.stderr.strip()}")
        try:
            self.store = small
            sweep = self.submit(1)
            (small / "ballast").write_bytes(bytes(44 << 10))
            fill = small / "fill"
            with open(fill, "wb", buffering=0) as f:
                try:
                    while True:
                        f.write(bytes(4096))
                except OSError:
                    pass
            with self.assertRaisesRegex(slurm.SlurmError, r"cells are missing(.|\n)*on n[12]:(.|\n)*no space left on device"):
                slurm.finish(sweep, slurm.follow(sweep, 0.3))
            fill.unlink()
            (small / "ballast").unlink()
            again = self.submit(2)
            slurm.finish(again, slurm.follow(again, 0.3))
            self.assertEqual(next(small.glob("elasticnet.*-0123456789abcdef")).read_bytes(), expected[named(PARAMS)])
        finally:
            subprocess.run(["umount", "-l", str(small)], check=True)

    def test_throttle_and_options_reach_sbatch(self):
        sweep = self.submit(4, throttle=1, sbatch="--comment='two words'")
        shown = nodes.run("scontrol", "show", "job", sweep.jobs["array"]).stdout
        self.assertIn("ArrayTaskThrottle=1", shown)
        self.assertIn("Comment=two words", shown)
        running = set()
        cluster.wait_for(lambda: running.add(sum(e[1] == "RUNNING" for e in sweep.elements())) or not slurm.alive(sweep.elements(), sweep.jobs["array"]), "the array does not end")
        self.assertEqual(max(running), 1)
        self.finish(sweep)

    def test_number_of_shards_is_bounded_by_the_site(self):
        sweep = self.submit(50)
        self.assertEqual((sweep.plan["Shards"], len({e[0] for e in sweep.elements()})), (10, 11))
        nodes.run("scancel", sweep.jobs["array"], sweep.jobs["gather"])

    def test_refused_submission_leaves_nothing(self):
        for options, words in (("--partition=none", "invalid partition"), ("--test-only", "want a job's number"), ("--nonsense", "unrecognized option")):
            with self.subTest(options), self.assertRaisesRegex(slurm.SlurmError, words):
                self.submit(sbatch=options)
            self.assertEqual(list(slurm.FOLDER.iterdir()), [])
            self.assertEqual(nodes.run("squeue", "-h").stdout, "")

    def test_killed_submission_is_found_again(self):
        """By the names of its jobs, where their numbers were not written any more."""
        sweep = self.submit(params=BRIEF)
        (sweep.folder / "jobs.json").unlink()
        [found] = slurm.sweeps()
        self.assertEqual(found.jobs, sweep.jobs)
        self.finish(found)

    def test_submission_killed_before_its_gathering_job(self):
        sweep = self.submit(params=BRIEF)
        nodes.run("scancel", sweep.jobs["array"], sweep.jobs["gather"])
        killed = slurm.FOLDER / "killed"
        killed.mkdir()
        shutil.copy(sweep.folder / "plan.json", killed)
        line = f"exec {worker} -plan {killed / 'plan.json'}"
        nodes.run("sbatch", "--job-name=cvgm-killed", "--array=0-1", "--output=/dev/null", f"--wrap={line}")
        [found] = [s for s in slurm.sweeps() if s.folder == killed]
        self.finish(found)

    def status(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            slurm.status()
        return out.getvalue()

    def test_status(self):
        self.assertIn("no sweep", self.status())
        sweep = self.submit(1)
        self.working(sweep)
        cluster.wait_for(lambda: "cells/s" in self.status(), "no rate is told")  # squeue counts whole seconds
        text = self.status()
        for words in (f"of {CELLS} cells done", "jobs at work: 1", "cells/s", "left", f"scancel {sweep.jobs['array']} {sweep.jobs['gather']}", str(sweep.folder)):
            self.assertIn(words, text)
        nodes.run("scancel", sweep.jobs["array"])
        cluster.wait_for(lambda: not slurm.alive(sweep.elements()), "the jobs do not end")
        self.assertRegex(self.status(), "CANCELLED on n[12]")  # of squeue: this site has no accounting
        programs = folder / "accounting"
        programs.mkdir()
        (programs / "sacct").write_text(f"#!/bin/sh\necho '{sweep.jobs['array']}_0|CANCELLED by 0|n7|0:15'\n")
        (programs / "sacct").chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{programs}:{before}"
        try:
            self.assertIn(f"job {sweep.jobs['array']}_0: CANCELLED by 0 on n7 with exit status 0:15", self.status())
        finally:
            os.environ["PATH"] = before

    def test_worker_without_an_array(self):
        """The same bytes by xargs -P, by GNU parallel where there is one, and inside one allocation."""
        flags = ["-name", "elastic_net_seeds", "-params", json.dumps(BRIEF), "-key", KEY, "-shards", "4"]
        engines = {
            "xargs": lambda words: ["sh", "-c", f"seq 0 3 | xargs -P 2 -I{{}} {words} -shard {{}}"],
            "srun": lambda words: ["srun", "--nodes=2", "--ntasks=2", "sh", "-c", f"for i in 0 2; do {words} -shard $((SLURM_PROCID + i)) || exit; done"],
        }
        if shutil.which("parallel"):
            engines["parallel"] = lambda words: ["sh", "-c", f"seq 0 3 | parallel -j 2 {shlex.quote(words)} -shard {{}}"]
        for name, command in engines.items():
            with self.subTest(name):
                out = self.store / name
                words = [str(worker), *flags, "-out", str(out)]
                done = nodes.run(*command(shlex.join(words)))
                self.assertEqual(done.returncode, 0, done.stderr)
                done = nodes.run(*words, "-gather")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(result(out).read_bytes(), expected[named(BRIEF)])

    def test_old_submissions_are_removed(self):
        old, recent, alive = self.submit(1, BRIEF), None, None
        self.finish(old)
        shutil.rmtree(self.store)
        recent = self.submit(1, BRIEF)
        self.finish(recent)
        shutil.rmtree(self.store)
        alive = self.submit(1)
        for sweep in (old, alive):
            for path in (*sweep.folder.iterdir(), sweep.folder):
                os.utime(path, (0, 0))
        unused = slurm.FOLDER / "worker-0"
        unused.write_text("")
        os.utime(unused, (0, 0))
        other = Path(tempfile.mkdtemp(dir=folder))
        new = self.submit(1, store=other)
        self.assertEqual({p.name for p in slurm.FOLDER.iterdir()}, {s.folder.name for s in (recent, alive, new)})
        for sweep in (alive, new):
            nodes.run("scancel", sweep.jobs["array"], sweep.jobs["gather"])

    def test_failing_cells_are_named(self):
        """A cell's error, with its number and its node, is in the message."""
        sweep = self.submit(2, BRIEF | {"Noise": 1e200})
        with self.assertRaisesRegex(slurm.SlurmError, r"cell \d+ failed on n[12]"):
            slurm.finish(sweep, slurm.follow(sweep, 0.3))


class TestReproduce(small.Small):
    """./reproduce.sh --on slurm, in a copy of this checkout."""

    SEEDS = 24
    OPTIONS = ("net", "-p", f"Seeds={SEEDS}", "-p", "LongSteps=1500")

    @classmethod
    def setUpClass(cls):
        if not (ROOT / ".venv").is_dir() and not REQUIRED:
            raise unittest.SkipTest(f"{ROOT / '.venv'} is missing; run ./reproduce.sh once")
        super().setUpClass()

    def setUp(self):
        super().setUp()
        cluster.wait_for(nodes.idle, "the nodes are not idle")
        self.experiment()

    def made(self):
        """The results and the outputs, as {name: bytes}."""
        paths = [p for folder in (".work/store", "runs") for p in (self.checkout / folder).rglob("*")]
        return {str(p): p.read_bytes() for p in paths if p.is_file() and p.name != "provenance.json"}

    def test_results_and_outputs_are_those_of_a_local_run(self):
        self.assertIn("01_net: there is no parameter Q; ./reproduce.sh 01_net -p help lists", self.reproduce("net", "-p", "Q=1", "--on", "slurm", status=1))
        said = self.reproduce(*self.OPTIONS, "--on", "slurm", "--shards", "3")
        self.assertIn(f"submitted {self.SEEDS} cells in 3 shards", said)
        self.assertRegex(said, f"{self.SEEDS} of {self.SEEDS} cells, .*cells/s")
        on_slurm = self.made()
        self.assertFalse([name for name in on_slurm if ".shards" in name])
        for folder in (".work", "runs"):
            shutil.rmtree(self.checkout / folder)
        self.reproduce(*self.OPTIONS)
        self.assertEqual(self.made(), on_slurm)

    def test_the_same_command_comes_back_and_the_checkout_is_free_meanwhile(self):
        with self.start(*self.OPTIONS, "--on", "slurm", "--sbatch", "--hold") as first:
            while "to stop them" not in (line := first.stdout.readline()):
                self.assertTrue(line, "the run ended before it submitted")
            self.notebook("02_other", small.WRITES)
            self.assertIn("02_other", self.reproduce("02"))
            self.assertIsNone(first.poll())
            first.send_signal(signal.SIGINT)
            self.assertIn("interrupted", first.stdout.read())
        said = self.reproduce("--status")
        for words in (f"0 of {self.SEEDS} cells, jobs that wait: 3 (JobHeldUser)", "scancel"):
            self.assertIn(words, said)
        with self.start(*self.OPTIONS, "--on", "slurm") as second:
            for job in nodes.run("squeue", "-h", "-o", "%A").stdout.split():
                nodes.run("scontrol", "release", job)
            said = second.stdout.read()
        self.assertNotIn("submitted", said)
        self.assertIn("files changed", said)


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--required"], testRunner=watchdog.runner(LIMIT))
