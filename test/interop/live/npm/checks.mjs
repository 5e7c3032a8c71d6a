import assert from 'node:assert/strict'

/** Runs checks and prints each result as a line of JSON. */
export async function runChecks(checks) {
  for (const [check, run] of Object.entries(checks)) {
    let result = { check, ok: true }
    try {
      const timeout = new Promise((_, reject) => setTimeout(reject, 20_000, new Error('no answer')).unref())
      await Promise.race([run(), timeout])
    } catch (error) {
      console.error(error)
      result = { check, ok: false, detail: String(error).slice(0, 300) }
    }
    console.log(JSON.stringify(result))
  }
  process.exit(0)
}

export const expect = assert.equal

export function expectText(text, expected) {
  assert.ok(text.includes(expected), `expected ${expected}, got ${text}`)
}
