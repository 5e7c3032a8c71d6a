import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, serve } from 'parley-a2a'

/** A webhook that fails and hangs at first, an agent that restarts in the middle, and every event in order in the end. */

const counter = agent({ name: 'Counter' }, async (turn) => {
  const numbers = turn.artifact('numbers')
  for (let number = 1; number <= 10; number++) await numbers.write(`${number} `)
  return 'Counted.'
})

const arrived: number[] = []
let requests = 0
let isBack = false
const receiver = createServer((request, response) => {
  request.resume()
  const generation = Number(request.headers['x-a2a-generation'])
  if (++requests === 2) return // it hangs, until the sender has had enough
  if (requests < 4 || (arrived.length === 4 && !isBack)) return void response.writeHead(503).end()
  if (!arrived.includes(generation)) arrived.push(generation)
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
const until = async (isSo: () => boolean) => {
  for (let waited = 0; !isSo(); waited += 10) {
    assert(waited < 30_000, `it did not happen in time; what arrived is ${arrived}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const before = await start()
const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Count' }] }
await fetch(before.url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message, configuration: { taskPushNotificationConfig: { url } } },
  }),
})
await until(() => arrived.length === 4)
console.log(`The receiver failed and hung, then got ${arrived.length} events. The agent stops.`)
await before.close()

isBack = true
const after = await start()
await until(() => arrived.length === 12)
assert.deepEqual(
  arrived,
  Array.from({ length: 12 }, (_, at) => at + 2),
)
console.log(`The agent is back, and all ${arrived.length} events have arrived in order, by ${requests} requests.`)

await after.close()
receiver.closeAllConnections()
receiver.close()
await rm(directory, { recursive: true })
