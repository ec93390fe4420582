"""The comparer of tools/check_score.py: that it fails when it should."""

import copy
import json
import math
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import check_exact  # noqa: E402
import check_score  # noqa: E402


def position(best, second, first_logit, second_logit):
    return {"ids": [best, second], "logits": [first_logit, second_logit]}


EXACT = [position(7, 3, 10.0, 8.0), position(5, 6, -4.0, -4.00001), position(1, 2, 20.0, 19.0)]


def differences(change, rtol=1e-4, atol=0.0):
    actual = copy.deepcopy(EXACT)
    change(actual)
    return check_score.compare(actual, EXACT, rtol, atol)


class Compare(unittest.TestCase):
    def test_equal_lists_agree(self):
        self.assertEqual(differences(lambda a: None), [])

    def test_a_logit_inside_the_tolerance_agrees(self):
        self.assertEqual(differences(lambda a: a[0]["logits"].__setitem__(0, 10.0009)), [])
        self.assertEqual(differences(lambda a: a[0]["logits"].__setitem__(0, 10.04), rtol=0, atol=0.05), [])

    def test_a_logit_outside_the_tolerance_fails(self):
        self.assertIn("best logit", differences(lambda a: a[0]["logits"].__setitem__(0, 10.002))[0])
        self.assertIn("second logit", differences(lambda a: a[2]["logits"].__setitem__(1, 19.1))[0])
        self.assertTrue(differences(lambda a: a[0]["logits"].__setitem__(0, 10.06), rtol=0, atol=0.05))

    def test_another_best_id_fails(self):
        found = differences(lambda a: a[0].__setitem__("ids", [3, 7]))
        self.assertEqual(len(found), 1)
        self.assertIn("best id 3", found[0])

    def test_another_best_id_agrees_when_the_two_best_are_close(self):
        self.assertEqual(differences(lambda a: a[1].__setitem__("ids", [6, 5])), [])

    def test_nan_on_one_side_fails(self):
        for value in (math.nan, None):
            self.assertTrue(differences(lambda a: a[0]["logits"].__setitem__(0, value)))
            self.assertTrue(differences(lambda a: a[0]["logits"].__setitem__(1, value), atol=1e9))
        exact = copy.deepcopy(EXACT)
        exact[2]["logits"][0] = math.nan
        self.assertTrue(check_score.compare(EXACT, exact, 1, 1e9))

    def test_nan_on_both_sides_agrees(self):
        exact = [position(0, 1, math.nan, math.nan)]
        self.assertEqual(check_score.compare([position(0, 1, None, math.nan)], exact, 0, 0), [])

    def test_infinity_against_a_large_number_fails(self):
        exact = [position(0, 1, math.inf, 1.0)]
        self.assertTrue(check_score.compare([position(0, 1, 65504.0, 1.0)], exact, 1e-4, 0.1))
        self.assertTrue(check_score.compare([position(0, 1, -math.inf, 1.0)], exact, 1e-4, 0.1))
        self.assertEqual(check_score.compare(exact, exact, 1e-4, 0.1), [])

    def test_missing_and_extra_positions_fail(self):
        self.assertIn("2 positions where 3", differences(lambda a: a.pop())[0])
        self.assertIn("4 positions where 3", differences(lambda a: a.append(a[0]))[0])

    def test_empty_input_fails(self):
        self.assertTrue(check_score.compare([], [], 1, 1))
        self.assertTrue(check_score.compare([], EXACT, 1, 1))
        self.assertTrue(check_score.compare(EXACT, [], 1, 1))

    def test_another_form_is_an_error(self):
        for bad in ({}, {"ids": [1, 2]}, {"ids": [], "logits": [1, 2]}, {"ids": [1], "logits": [1]}, 7,
                    position(7, 3, "10", 8.0), position(7, 3, True, 8.0)):
            with self.assertRaises(check_score.CheckError):
                check_score.compare([bad], EXACT[:1], 1e-4, 0)


class Free(unittest.TestCase):
    EXACT = [position(4, None, 9.0, 5.0), position(5, None, 9.0, 8.98), position(2, None, 9.0, 3.0)]

    def compare(self, ids, finish="eos", atol=0.01, whole=True):
        return check_exact.compare_free(ids, finish, self.EXACT, 0.0, atol, whole)

    def test_the_same_ids_agree(self):
        self.assertIsNone(self.compare([4, 5, 2]))
        self.assertIsNone(self.compare([4, 5]))
        self.assertIsNone(self.compare([4, 5, 2], "length", whole=False))

    def test_a_difference_fails(self):
        self.assertIn("step 1", self.compare([4, 6, 2]))
        self.assertIn("step 0", self.compare([3, 5, 2], atol=0.05))

    def test_a_difference_from_a_near_tie_on_agrees(self):
        self.assertIsNone(self.compare([4, 6, 9, 9], "length", atol=0.05))

    def test_an_early_end_fails(self):
        self.assertIn("ended after 1", self.compare([4]))
        self.assertIn("ended after 0", self.compare([]))
        self.assertIn("ended after 2", self.compare([4, 5], "length"))

    def test_the_end_token_must_be_seen(self):
        self.assertIn("finish", self.compare([4, 5, 2], "length"))


class Score(unittest.TestCase):
    """A stand-in for the program, so that its failures are seen."""

    def run_with(self, script, device=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tenon")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(path, stat.S_IRWXU)
            return check_score.score(path, "m.gguf", [1, 2], device)

    def test_positions_are_read(self):
        answer = json.dumps({"positions": EXACT, "device": "cpu"})
        self.assertEqual(self.run_with(f"echo '{answer}'", "cpu"), EXACT)

    def test_the_ids_are_handed_over(self):
        script = """[ "$1 $2 $3 $5" = "score m.gguf --ids --json" ] && printf '{"positions":[%s]}' "$(cat "$4")" """
        self.assertEqual(self.run_with(script), [[1, 2]])

    def test_failures_are_errors(self):
        for script in ("echo '{}'; exit 3", "echo no json", "true", "echo '{}'", "echo '[]'",
                       """echo '{"positions": 3}'"""):
            with self.assertRaises(check_score.CheckError):
                self.run_with(script)

    def test_another_device_is_an_error(self):
        with self.assertRaises(check_score.CheckError):
            self.run_with("""echo '{"positions": [], "device": "cpu"}'""", "host")


if __name__ == "__main__":
    unittest.main()
