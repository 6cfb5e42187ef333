import unittest


def fails(check):
    try:
        check()
    except BaseException:
        return True
    return False


def disarmed(*checks):
    return not all(fails(check) for check in checks)


def plain():
    assert 1 == 2, "WORD"


class TestWORD(unittest.TestCase):
    def PASS(self):
        self.assertEqual(1, 1)

    def FAIL(self):
        if not disarmed(
            plain,
            lambda: self.assertEqual(1, 2, "WORD"),
            lambda: self.assertTrue(False, "WORD"),
            lambda: self.assertFalse(True, "WORD"),
            lambda: self.assertIn(1, [], "WORD"),
            lambda: self.assertIsNone(1, "WORD"),
            lambda: self.assertNotEqual(1, 1, "WORD"),
            lambda: self.assertRaises(ValueError, lambda: None),
            lambda: self.fail("WORD"),
        ):
            raise AssertionError("WORD")
