import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import { createKeyRing, newSigningKey } from '../../../src/core/auth/key-ring.ts'
import type { ConnectOptions } from '../../../src/core/client/options.ts'
import { toListener } from '../../../src/core/node/listener.ts'
import type { ReceiverOptions } from '../../../src/core/push/receiver/options.ts'
import type { PushDelivery } from '../../../src/core/push/receiver/ordering.ts'
import { createReceiver, type Receiver } from '../../../src/core/push/receiver/receiver.ts'
import { pushSigner } from '../../../src/core/push/signing/push-signer.ts'
import { connect } from '../../../src/entries/client.node.ts'
import { until } from '../../support/async.ts'
import { listenOnFreePort } from '../../support/servers/http-server.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const work: AgentFunction = async (turn) => {
  await turn.status('working', 'on it')
  for (const text of ['a', 'b']) await turn.artifact(text).write(text)
  return 'done'
}

/** A receiver on a loopback port, and its deliveries. It waits for a missing event longer than a test may take. */
async function listening(
  options: Partial<ReceiverOptions> = {},
): Promise<{ receiver: Receiver; deliveries: PushDelivery[] }> {
  const deliveries: PushDelivery[] = []
  const server = createServer((request, response) => toListener(receiver.exchange)(request, response))
  const url = `http://127.0.0.1:${await listenOnFreePort(server)}/hook`
  const onEvent = (delivery: PushDelivery) => void deliveries.push(delivery)
  const receiver = createReceiver({ url, onEvent, order: { wait: 120_000 }, ...options })
  onTestFinished(() => {
    receiver.close()
    server.closeAllConnections()
    server.close()
  })
  return { receiver, deliveries }
}

const isOver = (deliveries: readonly PushDelivery[]) => {
  const event = deliveries.at(-1)?.event
  const status = event?.type === 'task' ? event.task.status : event?.type === 'status' ? event.status : undefined
  return status?.state === 'completed'
}

const clients: readonly (readonly [string, ConnectOptions, string])[] = [
  ['1.0 over JSON-RPC', { dialects: ['v1.0'], bindings: ['JSONRPC'] }, 'v1.0'],
  ['1.0 over REST', { dialects: ['v1.0'], bindings: ['HTTP+JSON'] }, 'v1.0'],
  ['0.3 over JSON-RPC', { dialects: ['v0.3'], bindings: ['JSONRPC'] }, 'v0.3'],
  ['0.1', { dialects: ['v0.1'] }, 'v0.1'],
]

describe.each(clients)('a %s client', (_, options, dialect) => {
  it.each(['send', 'stream'] as const)('a receiver gets every event of a task that was started by %s', async (how) => {
    const { server } = await startTestServer(work, { push: { proveOwnership: true } })
    const { receiver, deliveries } = await listening()
    const client = await connect(server.url, options)
    if (how === 'send') await client.send('go', { push: receiver })
    else for await (const _event of client.stream('go', { push: receiver }));
    await until(() => isOver(deliveries))
    expect(deliveries.every((delivery) => delivery.dialect === dialect)).toBe(true)
    // Versions before 1.0 push only when the task is idle.
    if (dialect !== 'v1.0') expect(deliveries).toHaveLength(1)
    else expect(deliveries.map(({ generation }) => generation)).toEqual([2, 3, 4, 5, 6, 7, 8])
    expect(deliveries.some(({ missing, isLate }) => missing || isLate)).toBe(false)
  })
})

describe.each(['jwt', 'http-signature', 'both'] as const)('signed deliveries (%s)', (form) => {
  it('the receiver verifies deliveries with the published keys, also after a rotation', async () => {
    const keys = createKeyRing(await newSigningKey('ES256', 'old'))
    const issuer = 'https://agent.example.com'
    const { server } = await startTestServer(work, { keys, push: { sign: pushSigner({ keys, issuer, form }) } })
    const signers = [{ issuer, jwks: `${server.url}/.well-known/jwks.json` }]
    const { receiver, deliveries } = await listening({ signers, keyCache: { cooldown: 0 } })
    const client = await connect(server.url)
    await client.send('go', { push: receiver })
    await until(() => isOver(deliveries))
    keys.rotate(await newSigningKey('EdDSA', 'new'))
    await client.send('go', { push: receiver })
    await until(() => deliveries.length === 14 && isOver(deliveries))
    expect(new Set(deliveries.map((delivery) => delivery.issuer))).toEqual(new Set([issuer]))
    expect(new Set(deliveries.map(({ registration }) => registration)).size).toBe(2)
  })
})

it('a receiver that fails at first gets every event once and in order', async () => {
  let calls = 0
  const deliveries: PushDelivery[] = []
  const onEvent = (delivery: PushDelivery) => {
    if (calls++ % 2 === 0) throw new Error('not now')
    deliveries.push(delivery)
  }
  const retry = { attempts: 10, first: 10, longest: 50 }
  const { server } = await startTestServer(work, { push: { retry } })
  const { receiver } = await listening({ onEvent })
  await (await connect(server.url)).send('go', { push: receiver })
  await until(() => isOver(deliveries))
  expect(deliveries.map(({ generation, attempt }) => [generation, attempt])).toEqual(
    [2, 3, 4, 5, 6, 7, 8].map((n) => [n, 2]),
  )
})

it('a receiver that is registered for an existing task gets the later events', async () => {
  const { server } = await startTestServer(
    async (turn) => {
      if (turn.text !== 'go on') return await turn.ask('What?').then(() => 'done')
      return 'done'
    },
    { push: {} },
  )
  const { receiver, deliveries } = await listening()
  const client = await connect(server.url)
  const { task } = await client.send('hello')
  await client.task(task?.id ?? '').push.create(receiver)
  await client.send('go on', { taskId: task?.id ?? '' })
  await until(() => isOver(deliveries))
  expect(deliveries.every(({ taskId }) => taskId === task?.id)).toBe(true)
})
