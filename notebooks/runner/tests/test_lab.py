"""The terminal of lab."""

import unittest

import lab

HEAD = "E1128 06:36:52.240501   19717 goexec.go:194] \x1b[7;39;32m[926e58a0]\x1b[0m \n"
ADVICE = """Program gopls is not installed. It is used to inspect into code
and provide contextual information and autocompletion. It is a
standard Go toolkit package. You can install it from the notebook
with:

```
!go install golang.org/x/tools/gopls@latest
```
""".splitlines(True)


class Terminal(unittest.TestCase):
    def test_what_a_kernel_prints_before_gopls_is_built(self):
        other = [HEAD, "Program goimports is not installed.\n"]
        for lines, shown in (
            ([HEAD, *ADVICE], []),
            (["a\n", HEAD, *ADVICE, "b\n", HEAD, *ADVICE], ["a\n", "b\n"]),
            (other, other),
            ([HEAD, HEAD, *ADVICE, "c\n"], [HEAD, "c\n"]),
            ([HEAD], [HEAD]),
            (["E1128 06:36:52.240501   19717 goexec.go:194] failed\n", *ADVICE], ["E1128 06:36:52.240501   19717 goexec.go:194] failed\n", *ADVICE]),
        ):
            with self.subTest(lines=lines):
                self.assertEqual(list(lab.without_advice(lines)), shown)
