"""Slurm's commands, where they do not answer."""

import io
import tempfile
import types
import unittest
import unittest.mock
from pathlib import Path

import slurm


class Commands(unittest.TestCase):
    def test_a_command_that_hangs_is_given_up(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(slurm, "ANSWER", 1):
            command = Path(folder, "sbatch")
            command.write_text("#!/bin/sh\nexec sleep 600\n")
            command.chmod(0o755)
            self.assertEqual(slurm.ask([str(command)]), (1, "", "no answer for 1 s"))
            with self.assertRaisesRegex(slurm.SlurmError, "sbatch … failed: no answer for 1 s"):
                slurm.answer([str(command)], "a script")

    def test_a_question_without_an_answer_is_told_and_asked_again(self):
        answers = iter([None, []])
        sweep = types.SimpleNamespace(count=lambda: {"Sweeps": []}, elements=lambda: next(answers))
        with self.assertLogs("reproduce") as said:
            self.assertEqual(slurm.follow(sweep, 0, io.StringIO()), [])
        self.assertIn("squeue does not answer", said.output[0])
        self.assertNotIn("squeue does not answer", said.output[1])
