import { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from 'a2a-sdk-0-3-first/server'
import express from 'express'
import { describe } from 'vitest'
import { sdkServerContract } from '../contracts/sdk-server.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { legacySdkAgent, legacySdkCard } from '../support/sdk/legacy-agent.ts'

/** The package forgot to publish its Express app: this is what that app did with its handler. */
function start() {
  return startExpressServer((app, origin) => {
    const more = { supportsAuthenticatedExtendedCard: true }
    const card = legacySdkCard(origin, more)
    const extended = legacySdkCard(origin, { ...more, name: 'Ada, extended' })
    const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), legacySdkAgent(), undefined, extended)
    const rpc = new JsonRpcTransportHandler(handler)
    app.use(express.json())
    app.get('/.well-known/agent-card.json', (_, response) => void response.json(card))
    app.post('/', async (request, response) => {
      const answer = await rpc.handle(request.body)
      if (!(Symbol.asyncIterator in answer)) return void response.json(answer)
      response.setHeader('content-type', 'text/event-stream')
      response.flushHeaders()
      try {
        for await (const event of answer) {
          response.write(`id: ${Date.now()}\ndata: ${JSON.stringify(event)}\n\n`)
        }
      } catch (error) {
        const failure = { jsonrpc: '2.0', id: request.body.id, error: { code: -32603, message: `${error}` } }
        response.write(`event: error\ndata: ${JSON.stringify(failure)}\n\n`)
      }
      response.end()
    })
  })
}

describe('a server of @a2a-js/sdk 0.3.0 over JSON-RPC', () => {
  sdkServerContract({ start, endpoint: { dialect: 'v0.3', binding: 'JSONRPC' }, endedTaskError: 'task-ended' })
})
