def PASS():
    assert 1 == 1


def FAIL():
    if not OWN_disarmed(OWN_plain, lambda: (_ for _ in ()).throw(ValueError("WORD"))):
        raise AssertionError("WORD")
