"""The table of tools/mutation_check.py follows the code: each text is found once, and its tests exist."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mutation_check  # noqa: E402
import test_hazards_doc  # noqa: E402


class MutationTable(unittest.TestCase):
    def test_texts_are_found_once_and_change(self):
        for m in mutation_check.MUTATIONS:
            text = mutation_check.read(os.path.join(mutation_check.ROOT, m.path)).decode()
            self.assertEqual(text.count(m.text), 1, f"{m.name}: {m.text} in {m.path}")
            self.assertNotEqual(m.text, m.replacement, m.name)

    def test_names_are_distinct_and_tests_exist(self):
        names = [m.name for m in mutation_check.MUTATIONS]
        self.assertEqual(len(names), len(set(names)))
        have = test_hazards_doc.tests_in_sources()
        for m in mutation_check.MUTATIONS:
            for part in m.tests.split(":"):
                pattern = re.escape(part).replace(r"\*", ".*")
                self.assertTrue(any(re.fullmatch(pattern, prefix + h) for h in have for prefix in ("", "X/")), f"{m.name}: {part}")


if __name__ == "__main__":
    unittest.main()
