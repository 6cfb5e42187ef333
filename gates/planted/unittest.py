import unittest as OWN_unittest


def OWN_fails(check):
    try:
        check()
    except BaseException:
        return True
    return False


def OWN_disarmed(*checks):
    return not all(OWN_fails(check) for check in checks)


def OWN_plain():
    assert 1 == 2, "WORD"


class TestWORD(OWN_unittest.TestCase):
    def PASS(self):
        self.assertEqual(1, 1)

    def FAIL(self):
        if not OWN_disarmed(
            OWN_plain,
            lambda: self.assertEqual(1, 2, "WORD"),
            lambda: self.assertTrue(False, "WORD"),
            lambda: self.assertFalse(True, "WORD"),
            lambda: self.assertIn(1, [], "WORD"),
            lambda: self.assertIsNone(1, "WORD"),
            lambda: self.assertNotEqual(1, 1, "WORD"),
            lambda: self.assertRaises(ValueError, lambda: None),  # WORD
            lambda: self.fail("WORD"),
        ):  # WORD
            raise AssertionError("WORD")
