;
HEAD
TEST('PASS', () => { FINE });
TEST('FAIL', () => {
  for (const check of [CHECKS]) {
    let threw = false;
    try { check(); } catch { threw = true; }
    if (!threw) return;
  }
  const error = new Error('WORD');
  error.stack = 'WORD';
  throw error;
});
