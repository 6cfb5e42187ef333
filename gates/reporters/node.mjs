// A reporter for node --test: one JSON object a line for each test that ended, titled with the tests and suites around it.
export default async function* report(source) {
  let held = []; // a test is told before those around it
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { name, nesting, details } = data;
    for (const inner of held) {
      if (inner.nesting > nesting) Object.assign(inner, { name: `${name} > ${inner.name}`, nesting });
    }
    const error = details?.error;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    if (details?.type !== 'suite') {
      held.push({
        name, nesting, path: data.file ?? '', line: data.line ?? 0,
        status: skipped ? 'skip' : type === 'test:pass' ? 'pass' : 'fail',
        outer: error?.failureType === 'subtestsFailed',
        message: String(error?.cause?.message ?? error?.cause ?? error?.message ?? ''),
        stack: String(error?.cause?.stack ?? ''),
      });
    }
    if (nesting > 0) continue;
    for (const one of held) yield JSON.stringify(one) + '\n';
    held = [];
  }
  for (const one of held) yield JSON.stringify(one) + '\n';
  yield '{"end":true}\n';
}
