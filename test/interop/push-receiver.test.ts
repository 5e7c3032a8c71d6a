import { createServer } from 'node:http'
import * as sdk1 from '@a2a-js/sdk/server'
import * as express1 from '@a2a-js/sdk/server/express'
import * as sdk03 from 'a2a-sdk-0-3-last/server'
import * as express03 from 'a2a-sdk-0-3-last/server/express'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectOptions } from '../../src/core/client/options.ts'
import { toListener } from '../../src/core/node/listener.ts'
import type { PushDelivery } from '../../src/core/push/receiver/ordering.ts'
import { createReceiver, type Receiver } from '../../src/core/push/receiver/receiver.ts'
import { connect } from '../../src/entries/client.node.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'
import { listenOnFreePort } from '../support/servers/http-server.ts'

/** Starts a receiver on loopback that records its deliveries. */
async function startReceiver(): Promise<{ receiver: Receiver; deliveries: PushDelivery[] }> {
  const deliveries: PushDelivery[] = []
  const server = createServer((request, response) => toListener(receiver.exchange)(request, response))
  const url = `http://127.0.0.1:${await listenOnFreePort(server)}/hook`
  const receiver = createReceiver({ url, onEvent: (delivery) => void deliveries.push(delivery) })
  onTestFinished(() => {
    receiver.close()
    server.closeAllConnections()
    server.close()
  })
  return { receiver, deliveries }
}

function startServer(): Promise<string> {
  return startExpressServer((app, origin) => {
    const store = new sdk1.InMemoryPushNotificationStore()
    const requestHandler = new sdk1.DefaultRequestHandler(
      sdkCard(origin),
      new sdk1.InMemoryTaskStore(),
      sdkAgent(),
      undefined,
      store,
    )
    const options = {
      requestHandler,
      userBuilder: express1.UserBuilder.noAuthentication,
      legacyCompat: { enabled: true },
    }
    app.use('/.well-known/agent-card.json', express1.agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', express1.jsonRpcHandler(options))
    app.use('/rest', express1.restHandler(options))
  })
}

function startLegacyServer(): Promise<string> {
  return startExpressServer((app, origin) => {
    const store = new sdk03.InMemoryPushNotificationStore()
    const requestHandler = new sdk03.DefaultRequestHandler(
      legacySdkCard(origin),
      new sdk03.InMemoryTaskStore(),
      legacySdkAgent(),
      undefined,
      store,
    )
    app.use('/.well-known/agent-card.json', express03.agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/', express03.jsonRpcHandler({ requestHandler, userBuilder: express03.UserBuilder.noAuthentication }))
  })
}

const senders: readonly (readonly [string, () => Promise<string>, ConnectOptions, readonly string[]])[] = [
  ['@a2a-js/sdk 1.3.0 with A2A 1.0', startServer, { dialects: ['v1.0'] }, ['v1.0']],
  ['@a2a-js/sdk 1.3.0 with A2A 0.3', startServer, { dialects: ['v0.3'], bindings: ['JSONRPC'] }, ['v0.3', 'v1.0']],
  ['@a2a-js/sdk 0.3.14', startLegacyServer, {}, ['v0.3']],
]

describe.each(senders)('a server of %s', (_, start, options, dialects) => {
  it.each(['send', 'stream'] as const)(
    'the server posts to the receiver that the client registers with %s',
    async (operation) => {
      const { receiver, deliveries } = await startReceiver()
      const client = await connect(await start(), options)
      if (operation === 'send') await client.send('count', { push: receiver })
      else for await (const _event of client.stream('count', { push: receiver }));
      await expect.poll(() => stateOf(deliveries.at(-1)), { timeout: 10_000 }).toBe('completed')
      expect(deliveries.every(({ dialect }) => dialects.includes(dialect))).toBe(true)
      expect(new Set(deliveries.map(({ taskId }) => taskId)).size).toBe(1)
      expect(new Set(deliveries.map(({ registration }) => registration)).size).toBe(1)
      expect(deliveries[0]?.registration).toMatch(/^[\w-]{22}$/)
    },
  )
})

function stateOf(delivery: PushDelivery | undefined): string | undefined {
  const { event } = delivery ?? {}
  if (event?.type === 'task') return event.task.status.state
  return event?.type === 'status' ? event.status.state : undefined
}
