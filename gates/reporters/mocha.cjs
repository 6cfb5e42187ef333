// A reporter for mocha: its own spec reporter, and one JSON object a line for each test that ended.
'use strict';
const fs = require('fs');
const Mocha = require(require.resolve('mocha', { paths: [process.cwd(), ...(require.main?.paths ?? [])] }));

module.exports = class extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = __filename + '.report';
    fs.writeFileSync(file, '');
    const tell = (test, status, error) => fs.appendFileSync(file, JSON.stringify({
      name: test.fullTitle(), path: test.file ?? '', status,
      message: String(error?.message ?? error ?? ''), stack: String(error?.stack ?? ''),
    }) + '\n');
    runner.on('pass', (test) => tell(test, 'pass'));
    runner.on('fail', (test, error) => tell(test, 'fail', error));
    runner.on('pending', (test) => tell(test, 'skip'));
    runner.on('end', () => fs.appendFileSync(file, '{"end":true}\n'));
  }
};
