// Loaded by pi on behalf of runplan: HTTP libraries do not retry by themselves, and the time to retry is printed.
const ask = globalThis.fetch

export default function () {
  globalThis.fetch = async (...args) => {
    const response = await ask(...args)
    if (response.status !== 429 && response.status < 500) return response
    const headers = new Headers(response.headers)
    headers.set("x-should-retry", "false")
    const after = headers.get("retry-after")
    if (after) console.error(`status ${response.status}, retry-after: ${after}`)
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
  }
}
