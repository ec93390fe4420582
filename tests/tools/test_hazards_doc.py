"""docs/hazards.md names tests that exist."""

import glob
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


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


if __name__ == "__main__":
    unittest.main()
