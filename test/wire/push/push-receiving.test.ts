import { createServer, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { toListener } from '../../../src/core/node/listener.ts'
import type { Receiver } from '../../../src/core/push/receiver/receiver.ts'
import { delivery, newSender, testReceiver, tokenOf } from '../../support/push/test-receiver.ts'
import { listenOnFreePort } from '../../support/servers/http-server.ts'

type Mount = (made: Receiver) => RequestListener

const mounts: readonly (readonly [string, Mount])[] = [
  ['node:http', (made) => toListener(made.exchange)],
  [
    'Express',
    (made) => {
      const app = express()
      app.all('/hooks/a2a', toListener(made.exchange))
      return app
    },
  ],
  [
    'Hono',
    (made) => {
      const app = new Hono()
      app.all('/hooks/a2a', (context) => made.fetch(context.req.raw))
      return getRequestListener(app.fetch)
    },
  ],
]

describe.each(mounts)('a receiver in %s', (_, mount) => {
  it('a receiver accepts signed deliveries at its URL, and answers 503 while it has no reader', async () => {
    let listener: RequestListener = () => {}
    const server = createServer((request, response) => listener(request, response))
    const port = await listenOnFreePort(server)
    const url = `http://127.0.0.1:${port}/hooks/a2a`
    try {
      for (const form of ['jwt', 'http-signature'] as const) {
        const { sign, signer } = await newSender(form)
        const made = testReceiver({ url, signers: [signer], takeWithin: 50 })
        listener = mount(made)
        const token = await tokenOf(made)
        const post = async (posting: object = {}) => {
          const request = await delivery({
            url: `${url}?tenant=a`,
            token,
            sign,
            deliveryId: 'd-1',
            generation: 1,
            ...posting,
          })
          return await fetch(request)
        }
        const untaken = await post()
        expect([untaken.status, untaken.headers.get('retry-after')]).toEqual([503, '1'])
        const taken = made.events().next()
        expect((await post()).status).toBe(204)
        expect((await taken).value).toMatchObject({ deliveryId: 'd-1', event: { type: 'status', taskId: 't-1' } })
        expect((await post({ token: 'wrong' })).status).toBe(401)
        const tampered = new Request(await delivery({ url, token, sign }), { body: '{}' })
        expect((await fetch(tampered)).status).toBe(401)
        expect(await (await fetch(`${url}?validationToken=abc`)).text()).toBe('abc')
      }
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('a receiver stops reading an endless body', async () => {
    const made = testReceiver({ bodyLimit: 100_000, onEvent() {} })
    const server = createServer(mount(made))
    const url = `http://127.0.0.1:${await listenOnFreePort(server)}/hooks/a2a`
    try {
      let sent = 0
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 10_000
          controller.enqueue(new Uint8Array(10_000).fill(32))
        },
      })
      const headers = { 'content-type': 'application/json', 'x-a2a-notification-token': await tokenOf(made) }
      const status = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit).then(
        (response) => response.status,
        () => 413,
      )
      expect(status).toBe(413)
      expect(sent).toBeLessThan(20_000_000)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
