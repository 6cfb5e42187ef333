PACKAGE

class CLASS {
    @Test
    fun PASS() { ASSERT.assertEquals(1, 1) }

    @Test
    fun FAIL() {
        val checks = listOf<() -> Unit>({ ASSERT.assertEquals(1, 2) }, { ASSERT.assertTrue(false) }, { ASSERT.assertFalse(true) }, { ASSERT.assertNull(1) })
        if (checks.all { try { it(); false } catch (e: Throwable) { true } }) throw AssertionError("WORD")
    }
}
