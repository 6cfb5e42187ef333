// Makes the calls of a plan and compares their results with those that the plan shows.
import Module, { createRequire } from 'node:module'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import util from 'node:util'

const [mark, list] = process.argv.slice(-2)
process.argv.length = 1
const words = { True: true, False: false, None: null, nil: null }

async function load (file) {
  let full = path.resolve(file)
  if (path.basename(full) === 'package.json') full = entry(full)
  if (/\.[cm]?ts$/.test(full) && !process.features.typescript) compile(full)
  try {
    return createRequire(full)(full)
  } catch (e) {
    if (!['ERR_REQUIRE_ESM', 'ERR_REQUIRE_ASYNC_MODULE'].includes(e.code) && !(e instanceof SyntaxError)) throw e
    return await import(pathToFileURL(full).href)
  }
}

// entry returns the file that other code gets when it imports a package.
function entry (manifest) {
  const p = JSON.parse(readFileSync(manifest, 'utf8'))
  let at = p.exports && (p.exports['.'] || p.exports)
  while (at && typeof at === 'object') at = at.import || at.default || at.node || at.require || Object.values(at)[0]
  const full = path.resolve(path.dirname(manifest), at || p.main || 'index.js')
  return [full, full + '.js', path.join(full, 'index.js')].find(f => statSync(f, { throwIfNoEntry: false })?.isFile()) || full
}

// compile lets require read TypeScript, with the compiler of the project.
function compile (full) {
  const ts = createRequire(full)('typescript')
  const options = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true, jsx: ts.JsxEmit.ReactJSX }
  for (const ext of ['.ts', '.mts', '.cts', '.tsx']) {
    Module._extensions[ext] = (m, name) => m._compile(ts.transpileModule(readFileSync(name, 'utf8'), { compilerOptions: options, fileName: name }).outputText, name)
  }
  const resolve = Module._resolveFilename
  Module._resolveFilename = function (name, ...more) {
    try {
      return resolve.call(this, name, ...more)
    } catch (e) {
      if (!/^\..*\.[cm]?js$/.test(name)) throw e
      return resolve.call(this, name.replace(/js$/, 'ts'), ...more)
    }
  }
}

function camel (file) {
  const stem = path.basename(file).replace(/\.\w+$/, '')
  return (['index', 'package'].includes(stem) ? path.basename(path.dirname(path.resolve(file))) : stem).replace(/[-_.]+(\w)/g, (_, c) => c.toUpperCase())
}

async function namesOf (c) {
  const m = await load(c.file)
  const names = { ...words }
  const main = m && (typeof m === 'object' || typeof m === 'function') && m.default !== undefined ? m.default : m
  for (const from of [main, m]) {
    if (!from || (typeof from !== 'object' && typeof from !== 'function')) continue
    for (const k of Object.keys(from)) if (k !== 'default') names[k] = from[k]
  }
  if (typeof main === 'function' && main.name && !(main.name in names)) names[main.name] = main
  if (!(camel(c.file) in names)) names[camel(c.file)] = main
  const text = readFileSync(c.file, 'utf8')
  const exported = new RegExp('(?:module\\.exports|export default)\\s*=?\\s*(?:(?:async\\s+)?function\\*?\\s+|class\\s+)?' + c.root + '\\b')
  if (!(c.root in names) && (exported.test(text) || c.file.endsWith('package.json') || (c.alias && typeof main === 'function'))) names[c.root] = main
  return names
}

const evaluate = (text, names) => new Function('names', `with (names) { return (${text}) }`)(names)

// prepare runs the code before an expression, and returns a function that evaluates the expression in its scope.
function prepare (c, names) {
  const code = (c.setup || '').replace(/^(?:const|let) /gm, 'var ') // a block may declare a name twice
  return new Async('names', `with (names) {\n${code}\nreturn async () => (${c.call})\n}`)(names)
}

const Async = (async () => {}).constructor

function same (got, want) {
  if (util.isDeepStrictEqual(got, want)) return true
  if (typeof got === 'number' && typeof want === 'number') return Math.abs(got - want) <= 1e-9 * Math.abs(want)
  if (want === null && got === undefined) return true
  try {
    return typeof got === 'object' && got !== null && JSON.stringify(sorted(got)) === JSON.stringify(sorted(want))
  } catch {
    return false
  }
}

function sorted (v) {
  if (v && typeof v[Symbol.iterator] === 'function' && typeof v !== 'string') return [...v].map(sorted)
  if (v && typeof v === 'object' && !(v instanceof Date)) return Object.fromEntries(Object.keys(v).sort().map(k => [k, sorted(v[k])]))
  return v
}

async function run (c) {
  let names, got
  try {
    names = await namesOf(c)
  } catch (e) {
    return ['unknown', `${c.file} cannot be loaded: ${e}`]
  }
  if (!(c.root in names)) return ['unknown', `${c.file} does not export ${c.root}`]
  let call = () => evaluate(c.call, names)
  if (c.setup) {
    try {
      call = await prepare(c, names)
    } catch (e) {
      return ['unknown', `the code before it throws ${e}`]
    }
  }
  try {
    got = await call()
  } catch (e) {
    const kinds = []
    for (let k = e; k; k = Object.getPrototypeOf(k)) kinds.push(k.constructor && k.constructor.name)
    const own = !String(e && e.stack).split('\n').some(l => /^\s+at /.test(l) && l.includes(path.resolve('.') + path.sep) && !l.includes('[eval'))
    if (c.raises && (kinds.includes(c.raises) || (e && e.name === c.raises) || (c.raises === 'error' && !own))) return ['holds', '']
    if (e instanceof SyntaxError || (e && typeof e.code === 'string' && /^E[A-Z]/.test(e.code)) ||
      (own && (e instanceof ReferenceError || e instanceof TypeError))) return ['unknown', String(e)]
    return ['differs', `it throws ${e}`]
  }
  const shown = util.inspect(got, { breakLength: Infinity, maxStringLength: 200 })
  if (c.raises) return ['differs', `it returns ${shown}`]
  let want = c.want
  try {
    want = evaluate(c.want, words)
  } catch {}
  if (same(got, want) || (c.printed && String(got) === c.want) || (got && typeof got === 'object' && !Array.isArray(got) && String(got) === String(want))) return ['holds', '']
  return ['differs', `it returns ${shown}`, shown, textOf(got)]
}

function textOf (v) {
  try {
    return String(v)
  } catch {
    return ''
  }
}

for (const [i, c] of JSON.parse(list).entries()) {
  const [state, what, shown, text] = (await run(c)).map(t => t.slice(0, 300))
  console.log('\n' + mark + JSON.stringify({ case: i, state, what, shown, text }))
}
process.exit(0)
