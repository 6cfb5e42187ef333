def PASS():
    assert 1 == 1


def FAIL():
    if not disarmed(plain, lambda: (_ for _ in ()).throw(ValueError("WORD"))):
        assert 1 == 2, "WORD"
