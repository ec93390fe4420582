"""docs/hazards.md has every row, each with tests that exist or as open."""

import glob
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# The rows of the list of hazards. One that is new there comes here too.
ROWS = (
    "P1 P3 P4 P5 P7 P8 P10 S1 S3 S4 S5 I1 I3 D1 D2 D4 D5 E1 F1 F2 W1 W2 W4 W5 W6 W7 W9 W10 M1 M2 C1 C2 C3 C5 B1 R1 "
    "R3 T1 T3 T4 L1 L2 L4 A1 A2 K1 K3 K4 K5 K7 Q1 Q3 X1 X2 X3 X4 V1 V3 V5"
).split()


def tests_in_sources():
    names = set()
    for path in glob.glob(os.path.join(ROOT, "tests", "**", "*.cpp"), recursive=True):
        with open(path, encoding="utf-8") as f:
            names.update(".".join(m) for m in re.findall(r"^TEST(?:_F|_P)?\((\w+), *(\w+)\)", f.read(), re.MULTILINE))
    return names


class HazardsDoc(unittest.TestCase):
    def test_every_test_that_it_names_exists(self):
        with open(os.path.join(ROOT, "docs", "hazards.md"), encoding="utf-8") as f:
            named = re.findall(r"`([A-Z]\w*(?:\.[\w*]+)?)`", f.read())
        self.assertGreater(len(named), 50)
        have = tests_in_sources()
        for name in named:
            pattern = re.escape(name).replace(r"\*", ".*") + ("" if "." in name else r"\..*")
            if not re.fullmatch(r"[A-Z]\w+", name) or any(h.startswith(name + ".") for h in have):
                self.assertTrue(any(re.fullmatch(pattern, h) for h in have), name + " is no test")

    def test_every_row_is_held_or_open(self):
        with open(os.path.join(ROOT, "docs", "hazards.md"), encoding="utf-8") as f:
            table = f.read().split("## Siblings")[0]
        rows = re.findall(r"^\| ([A-Z]\d+(?:, [A-Z]\d+)*) \| [^|]+ \| ([^|]+) \|$", table, re.MULTILINE)
        named = [name for names, _ in rows for name in names.split(", ")]
        self.assertEqual(sorted(named), sorted(ROWS))
        for names, held in rows:
            self.assertTrue("`" in held or held.startswith("open"), names + " has neither a test nor the word open")


if __name__ == "__main__":
    unittest.main()
