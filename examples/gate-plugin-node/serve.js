// What it takes to be a gate plugin of runplan in JavaScript. Copy this file and gate.proto; write your gate as in gate.js.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import protoLoader from '@grpc/proto-loader'

const COOKIE = ['RUNPLAN_GATE_PLUGIN', '8d1f0c52-gate-of-runplan']
const PROTOCOL = 1

// serve makes a plugin of a gate: { info(settings), check(request, settings, signal) }. Both may be async. What they throw
// means that the gate could not run, which is neither a pass nor a failure of the code.
export async function serve(gate) {
  if (process.env[COOKIE[0]] !== COOKIE[1]) {
    console.error('This is a gate plugin of runplan and does nothing by itself; name it under [[gates.plugin]].')
    process.exit(2)
  }
  // Standard output belongs to the handshake. What is printed goes to standard error, which runplan keeps as the log.
  console.log = console.info = console.debug = console.error

  const proto = grpc.loadPackageDefinition(protoLoader.loadSync(fileURLToPath(new URL('gate.proto', import.meta.url)), {
    keepCase: true, // names as in gate.proto
    enums: String, // "STATUS_PASS" instead of 1
    longs: Number,
    defaults: true,
  }))
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 }) // a change may touch many files
  server.addService(proto.runplan.gate.v1.GateService.service, {
    Info: answer((req) => gate.info(settingsOf(req))),
    Check: answer(async (req, signal) => ({ report: await gate.check(req, settingsOf(req), signal) })),
  })

  const socket = join(mkdtempSync(join(process.env.PLUGIN_UNIX_SOCKET_DIR || tmpdir(), 'n')), 's')
  await new Promise((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, grpc.ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve()))
  })
  // The handshake line, and all that may ever be printed there: CORE|PROTOCOL|NETWORK|ADDRESS|grpc
  process.stdout.write(`1|${PROTOCOL}|unix|${socket}|grpc\n`)

  // runplan holds the other end of standard input. When it is gone, however it went, so are we.
  process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0)).resume()
}

function settingsOf(req) {
  try {
    return JSON.parse(req.settings || '{}')
  } catch (err) {
    throw refusal(`the settings are not JSON: ${err.message}`)
  }
}

// refusal is an error for settings that cannot be worked with.
export function refusal(message) {
  return Object.assign(new Error(message), { code: grpc.status.INVALID_ARGUMENT })
}

function answer(handle) {
  return (call, callback) => {
    const stop = new AbortController()
    call.on('cancelled', () => stop.abort(new Error('cancelled')))
    Promise.resolve()
      .then(() => handle(call.request, stop.signal))
      .then((res) => callback(null, res))
      .catch((err) => {
        console.error(err)
        const code = Number.isInteger(err.code) ? err.code : grpc.status.FAILED_PRECONDITION
        callback({ code, message: err.message })
      })
  }
}
