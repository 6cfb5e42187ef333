PACKAGE

public class CLASS {
    @Test
    public void PASS() { ASSERT.assertEquals(1, 1); }

    @Test
    public void FAIL() {
        Runnable[] checks = {
            () -> ASSERT.assertEquals(1, 2), () -> ASSERT.assertTrue(false), () -> ASSERT.assertFalse(true),
            () -> ASSERT.assertNull(""), () -> ASSERT.assertArrayEquals(new int[] {1}, new int[] {2}), () -> ASSERT.fail()
        };
        for (Runnable check : checks) {
            try { check.run(); } catch (Throwable e) { continue; }
            return;
        }
        throw new AssertionError("WORD");
    }
}
