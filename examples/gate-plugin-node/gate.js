// A gate plugin of runplan in JavaScript: it finds what people leave in while they look for a fault, debugger statements
// and tests that are run alone, in the JavaScript and TypeScript files that have changed.
//
// Settings: allow, paths that may hold them (default none).
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { refusal, serve } from './serve.js'

const RULES = [
  { rule: 'no-debugger', pattern: /^\s*debugger\b/, message: 'a debugger statement stops anyone who runs this', fix: 'take it out' },
  { rule: 'no-focused-test', pattern: /\b(?:describe|it|test)\.only\s*\(/, message: 'only this test runs, and no other', fix: 'take .only out' },
]
const SOURCE = /\.[cm]?[jt]sx?$/

await serve({
  info(settings) {
    allowed(settings) // wrong settings are refused before anything is checked
    return { name: 'left-behind', version: '1.0.0', kind: 'KIND_STATIC', cost: 'COST_INSTANT', blocking: true }
  },

  async check(req, settings, signal) {
    const allow = allowed(settings)
    const paths = req.changed_known ? req.changed : await walk(req.dir)
    const findings = []
    for (const path of paths.filter((p) => SOURCE.test(p) && !allow.has(p))) {
      signal.throwIfAborted()
      const lines = (await read(join(req.dir, path))).split('\n')
      lines.forEach((line, i) => {
        for (const { rule, pattern, message, fix } of RULES) {
          const hit = pattern.exec(line)
          if (hit) {
            const col = Buffer.byteLength(line.slice(0, hit.index + hit[0].search(/\S/))) + 1
            findings.push({ rule, path, line: i + 1, col, severity: 'SEVERITY_ERROR', message, fix })
          }
        }
      })
    }
    return { status: findings.length > 0 ? 'STATUS_FAIL' : 'STATUS_PASS', findings }
  },
})

function allowed({ allow = [], ...rest }) {
  const [name] = Object.keys(rest)
  if (name !== undefined) throw refusal(`unknown setting ${name}; use allow`)
  if (!Array.isArray(allow)) throw refusal('allow is a list of paths')
  return new Set(allow)
}

// read returns the text of a plain file, '' for one that was deleted and for a link, which may lead anywhere.
async function read(file) {
  const st = await lstat(file).catch((err) => {
    if (err.code === 'ENOENT') return null
    throw err
  })
  return st?.isFile() ? readFile(file, 'utf8') : ''
}

async function walk(root, below = '') {
  const out = []
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = below + entry.name
    if (entry.isFile()) out.push(path)
    else if (entry.isDirectory() && !['.git', 'node_modules'].includes(entry.name)) out.push(...(await walk(root, `${path}/`)))
  }
  return out.sort()
}
