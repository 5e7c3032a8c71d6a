// Puts an agent of A2A 0.1 behind a gateway: callers of 1.0 get tasks that survive, rules and redaction, and the agent is not
// touched. `node examples/gateway/start.ts`
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { apiKeyCredentials } from 'parley-a2a/client/auth'
import { createGateway, readGatewayConfig } from 'parley-a2a/gateway'

const directory = mkdtempSync(join(tmpdir(), 'gateway-'))

// The old agent. It knows neither message ids nor lists of tasks, and repeats whatever it gets.
const prices = agent({ name: 'Prices' }, async (turn) => {
  await turn.data({ item: 'chair', price: 40 }, 'price')
  await turn.status('completed', `For your request "${turn.text}": 40 francs.`)
})
const old = await serve(prices, { dialects: ['v0.1'], directory: join(directory, 'old'), console: false })

const env = {
  ...{ PRICES_URL: old.url, GATEWAY_DIRECTORY: join(directory, 'gateway') },
  ...{ ADA_KEY: 'key-of-ada', GUEST_KEY: 'key-of-guest' },
}
const file = new URL('./gateway.yaml', import.meta.url)
const { options } = await readGatewayConfig(readFileSync(file, 'utf8'), {
  ...{ file: 'gateway.yaml', env },
  readFile: (path) => readFileSync(path, 'utf8'),
})
const gateway = await createGateway(options)
try {
  const ada = await connect(`${gateway.url}/prices`, { auth: [apiKeyCredentials('key-of-ada')] })
  console.log(`Ada speaks A2A 1.0 to ${gateway.url}/prices, the agent speaks 0.1.`)
  const { task, text } = await ada.send('A chair, paid with 4111 1111 1111 1111')
  console.log(text)
  assert.equal(text, 'For your request "A chair, paid with [redacted: card number]": 40 francs.')

  const guest = await connect(`${gateway.url}/prices`, { auth: [apiKeyCredentials('key-of-guest')] })
  await assert.rejects(guest.send('A chair'), { code: 'forbidden' })
  console.log('A guest may read, not order.')

  await old.close()
  const stored = await ada.task(task?.id ?? '').get()
  assert.equal(stored.artifacts.length, 1)
  console.log('The old agent is gone, and its answer is still here.')
} finally {
  await gateway.close()
  rmSync(directory, { recursive: true, force: true })
}
