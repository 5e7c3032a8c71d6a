import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, serve } from 'parley-a2a'

/** A webhook first fails and hangs, and the agent restarts in between; the webhook still receives every event in order. */

const counter = agent({ name: 'Counter' }, async (turn) => {
  const numbers = turn.artifact('numbers')
  for (let number = 1; number <= 10; number++) await numbers.write(`${number} `)
  return 'Counted.'
})

const generations: number[] = []
let requests = 0
let hasRecovered = false
const receiver = createServer((request, response) => {
  request.resume()
  const generation = Number(request.headers['x-a2a-generation'])
  if (++requests === 2) return // hangs until the sender times out
  if (requests < 4 || (generations.length === 4 && !hasRecovered)) return void response.writeHead(503).end()
  if (!generations.includes(generation)) generations.push(generation)
  response.writeHead(204).end()
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`

const directory = await mkdtemp(join(tmpdir(), 'parley-push-'))
const start = () =>
  serve(counter, {
    directory,
    push: { loopback: 'allow', timeout: 500, retry: { first: 50, longest: 500, attempts: 100 } },
  })
const until = async (condition: () => boolean) => {
  for (let elapsed = 0; !condition(); elapsed += 10) {
    assert(elapsed < 30_000, `timed out; received the generations ${generations}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const first = await start()
const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Count' }] }
await fetch(first.url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message, configuration: { taskPushNotificationConfig: { url } } },
  }),
})
await until(() => generations.length === 4)
console.log(`The receiver failed and hung, then received ${generations.length} events. The agent stops.`)
await first.close()

hasRecovered = true
const second = await start()
await until(() => generations.length === 14)
assert.deepEqual(
  generations,
  Array.from({ length: 14 }, (_, index) => index + 2),
)
console.log(
  `The agent has restarted, and all ${generations.length} events have arrived in order, in ${requests} requests.`,
)

await second.close()
receiver.closeAllConnections()
receiver.close()
await rm(directory, { recursive: true })
