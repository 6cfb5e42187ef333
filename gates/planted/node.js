;
HEAD
TEST('PASS', () => { FINE });
TEST('FAIL', () => {
  for (const check of [CHECKS]) {
    let threw = false;
    try { check(); } catch (thrown) { threw = Boolean(thrown); }
    if (!threw) return;
  }
  const error = new Error('WORD');
  error.stack = 'WORD';
  throw error;
});
