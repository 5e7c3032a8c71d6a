import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  type DeliveryOptions,
  delivery,
  hookUrl,
  newSender,
  recordingReceiver,
  responseTo,
  statusBody,
  testReceiver,
  tokenOf,
} from '../../../../test/support/push/test-receiver.ts'
import type { RefusedDelivery } from './options.ts'
import { createReceiver } from './receiver.ts'

describe('tokens', () => {
  it('a delivery is handled as a stream event with the values of its headers', async () => {
    const { deliveries, post, token } = await recordingReceiver()
    const headers = { 'x-a2a-attempt': '2', traceparent: '00-1-2-00', tracestate: 'a=1', 'x-a2a-task-id': 't-1' }
    expect(await post({ deliveryId: 'd-1', generation: 3, previous: 0, headers })).toBe('204')
    expect(deliveries).toEqual([
      {
        event: {
          type: 'status',
          taskId: 't-1',
          contextId: 'c-1',
          generation: 3,
          isLast: false,
          status: { state: 'working', timestamp: '2026-01-01T00:00:00.000Z' },
        },
        dialect: 'v1.0',
        taskId: 't-1',
        deliveryId: 'd-1',
        generation: 3,
        attempt: 2,
        traceparent: '00-1-2-00',
        tracestate: 'a=1',
        registration: token.split('.')[0],
      },
    ])
  })

  it('a token may come as the credentials of the config', async () => {
    const { post, token, deliveries } = await recordingReceiver()
    expect(await post({ token: undefined, headers: { authorization: `Bearer ${token}` } })).toBe('204')
    expect(deliveries).toHaveLength(1)
  })

  it('a delivery with no token, an invalid one or one of another receiver is refused', async () => {
    const { post, deliveries, token } = await recordingReceiver()
    const [id = ''] = token.split('.')
    const other = await tokenOf(testReceiver())
    for (const wrong of [undefined, '', 'x', `${id}.`, `${id}.${'A'.repeat(43)}`, other, `${token}x`]) {
      expect(await post({ token: wrong })).toBe('401 token')
    }
    expect(deliveries).toEqual([])
  })

  it('a token is valid after a restart and on other replicas with the same secret', async () => {
    const secret = 'a secret of at least thirty-two bytes'
    const token = await tokenOf(testReceiver({ secret }))
    const { post } = await recordingReceiver({ secret })
    expect(await post({ token })).toBe('204')
    expect(() => testReceiver({ secret: 'short' })).toThrow('secret: expected at least 32 bytes, got 5')
  })

  it('a token of the `tokens` option is accepted', async () => {
    const { post, deliveries } = await recordingReceiver({ tokens: ['a-token-of-my-own'] })
    expect(await post({ token: 'a-token-of-my-own' })).toBe('204')
    expect(await post({ token: 'a-token-of-my-owm' })).toBe('401 token')
    expect(deliveries[0]).not.toHaveProperty('registration')
    expect(() => testReceiver({ tokens: ['short'] })).toThrow('at least 16 characters')
  })
})

describe('repeated deliveries', () => {
  it('a repeated delivery is acknowledged and not handled again', async () => {
    const { post, deliveries } = await recordingReceiver()
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(await post({ deliveryId: 'd-1', body: statusBody('TASK_STATE_FAILED') })).toBe('409 conflict')
    expect(deliveries).toHaveLength(1)
  })

  it('a delivery without an id is recognised by its body, except for artifact chunks', async () => {
    const { post, deliveries } = await recordingReceiver()
    const chunk = {
      artifact: { artifactId: 'a', parts: [{ text: 'ha' }] },
      taskId: 't-1',
      contextId: 'c-1',
      append: true,
    }
    for (let n = 0; n < 2; n++) {
      expect(await post({ body: statusBody() })).toBe('204')
      expect(await post({ body: { artifactUpdate: chunk } })).toBe('204')
    }
    expect(deliveries.map(({ event }) => event.type)).toEqual(['status', 'artifact', 'artifact'])
  })

  it('equal ids of different registrations do not conflict', async () => {
    const { receiver, post, deliveries } = await recordingReceiver()
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(await post({ deliveryId: 'd-1', token: await tokenOf(receiver) })).toBe('204')
    expect(deliveries).toHaveLength(2)
  })

  it('a delivery is pending while it is handled, and is handled again after a failure', async () => {
    const gate = Promise.withResolvers<void>()
    let calls = 0
    const refused: RefusedDelivery[] = []
    const onEvent = () => (calls++ === 0 ? gate.promise : undefined)
    const { post } = await recordingReceiver({ onEvent, onRefused: (refusal) => refused.push(refusal) })
    const first = post({ deliveryId: 'd-1' })
    await until(() => calls === 1)
    expect(await post({ deliveryId: 'd-1' })).toBe('503 pending')
    gate.reject(new Error('the database is s3cret'))
    expect(await first).toBe('503 failed')
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(calls).toBe(2)
    expect(refused.map(({ reason }) => reason)).toEqual(['pending', 'failed'])
    expect(refused[1]?.cause).toEqual(new Error('the database is s3cret'))
  })

  it('a delivery counts as handled if a slow callback succeeds after the response', async () => {
    const gate = Promise.withResolvers<void>()
    const { post } = await recordingReceiver({ onEvent: () => gate.promise, takeWithin: 1, order: { wait: 1 } })
    expect(await post({ deliveryId: 'd-1' })).toBe('503 pending')
    gate.resolve()
    await nextTurn()
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
  })
})

describe('order', () => {
  it('events are handled in the order of their generations', async () => {
    const { post, deliveries } = await recordingReceiver({ order: { wait: 5_000 } })
    const all = [4, 2, 3, 1].map((generation) => post({ deliveryId: `d-${generation}`, generation }))
    expect(await Promise.all(all)).toEqual(['204', '204', '204', '204'])
    expect(deliveries.map(({ generation }) => generation)).toEqual([1, 2, 3, 4])
    expect(deliveries.some(({ missing, isLate }) => missing || isLate)).toBe(false)
  })

  it('the receiver does not wait for events that were never sent', async () => {
    const { post, deliveries } = await recordingReceiver({ order: { wait: 60_000 } })
    expect(await post({ generation: 3, previous: 0, deliveryId: 'a' })).toBe('204')
    expect(await post({ generation: 9, previous: 3, deliveryId: 'b' })).toBe('204')
    expect(deliveries).toHaveLength(2)
  })

  it('an event that does not arrive in time is reported as missing, and as late when it arrives', async () => {
    const { post, deliveries } = await recordingReceiver({ order: { wait: 20 } })
    expect(await post({ generation: 1, deliveryId: 'a' })).toBe('204')
    expect(await post({ generation: 4, deliveryId: 'b' })).toBe('204')
    expect(await post({ generation: 3, deliveryId: 'c' })).toBe('204')
    expect(deliveries.map(({ generation, missing, isLate }) => ({ generation, missing, isLate }))).toEqual([
      { generation: 1 },
      { generation: 4, missing: { after: 1, before: 4 } },
      { generation: 3, isLate: true },
    ])
  })

  it('events of other tasks do not wait', async () => {
    const { post } = await recordingReceiver({ order: { wait: 60_000 } })
    void post({ generation: 2, deliveryId: 'a' })
    const other = statusBody('TASK_STATE_WORKING', 't-2')
    expect(await post({ generation: 1, deliveryId: 'b', body: other })).toBe('204')
  })

  it('waiting deliveries are bounded per task and in total', async () => {
    const { post } = await recordingReceiver({ order: { wait: 60_000, perTask: 2 }, capacity: 3 })
    // Any two of the first wait, and any one of the others: their signatures are checked concurrently.
    const first = [2, 3, 4].map((generation) => post({ generation, deliveryId: `${generation}` }))
    expect(await Promise.race(first)).toBe('429 busy')
    const body = statusBody('TASK_STATE_WORKING', 't-2')
    const others = ['x', 'y'].map((deliveryId) => post({ generation: 2, deliveryId, body }))
    expect(await Promise.race(others)).toBe('429 busy')
  })
})

describe('iteration', () => {
  it('an event is acknowledged when an iterator takes it', async () => {
    const receiver = testReceiver()
    const token = await tokenOf(receiver)
    const events = receiver.events()
    const first = responseTo(receiver, { token, deliveryId: '1', generation: 1 })
    let isAnswered = false
    void first.then(() => {
      isAnswered = true
    })
    for (let n = 0; n < 20; n++) await nextTurn()
    expect(isAnswered).toBe(false)
    expect((await events.next()).value).toMatchObject({ deliveryId: '1' })
    expect(await first).toBe('204')
    const waiting = events.next()
    expect(await responseTo(receiver, { token, deliveryId: '2', generation: 2 })).toBe('204')
    expect((await waiting).value).toMatchObject({ deliveryId: '2' })
  })

  it('a delivery that no iterator takes is refused, and handled on the next attempt', async () => {
    const receiver = testReceiver({ takeWithin: 10 })
    const token = await tokenOf(receiver)
    const response = await receiver.fetch(await delivery({ token, deliveryId: '1' }))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    const taken = receiver.events().next()
    expect(await responseTo(receiver, { token, deliveryId: '1' })).toBe('204')
    expect((await taken).value).toMatchObject({ deliveryId: '1' })
  })

  it('iteration ends at once when the reader returns or the receiver closes', async () => {
    const receiver = testReceiver()
    const left = receiver.events()
    const pending = left.next()
    await left.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
    const read = Array.fromAsync(receiver)
    receiver.close()
    expect(await read).toEqual([])
    expect(await responseTo(receiver, { token: await tokenOf(receiver) })).toBe('503 closed')
  })

  it('a delivery whose sender disconnected is left for the next attempt', async () => {
    const receiver = testReceiver()
    const token = await tokenOf(receiver)
    const gone = new AbortController()
    const request = new Request(await delivery({ token, deliveryId: '1' }), { signal: gone.signal })
    const answer = responseTo(receiver, request)
    for (let n = 0; n < 20; n++) await nextTurn()
    gone.abort()
    expect(await answer).toBe('503 not-taken')
    const taken = receiver.events().next()
    expect(await responseTo(receiver, { token, deliveryId: '1' })).toBe('204')
    expect((await taken).done).toBe(false)
  })

  it('a delivery without an id is handled although its sender disconnected', async () => {
    const receiver = testReceiver()
    const gone = new AbortController()
    const request = new Request(await delivery({ token: await tokenOf(receiver) }), { signal: gone.signal })
    const answer = responseTo(receiver, request)
    for (let n = 0; n < 20; n++) await nextTurn()
    gone.abort()
    for (let n = 0; n < 20; n++) await nextTurn()
    expect((await receiver.events().next()).value).toMatchObject({ taskId: 't-1' })
    expect(await answer).toBe('204')
  })

  it('events cannot be iterated if there is a callback', () => {
    expect(() => testReceiver({ onEvent() {} }).events()).toThrow('events cannot be iterated')
  })
})

describe('invalid requests', () => {
  it('an invalid request is refused with its reason', async () => {
    const { post, receiver, deliveries } = await recordingReceiver({ bodyLimit: 1_000 })
    expect(await post({ headers: { 'content-type': 'text/plain' } })).toBe('415 content-type')
    expect(await post({ body: `{"x":"${'x'.repeat(1_000)}"}` })).toBe('413 too-large')
    expect(await post({ body: '{"task":' })).toBe('400 payload')
    expect(await post({ body: '[]' })).toBe('400 payload')
    expect(await post({ body: {} })).toBe('400 payload')
    expect(await post({ body: '['.repeat(200) + ']'.repeat(200) })).toBe('400 payload')
    expect(await post({ body: { statusUpdate: { taskId: 't' } } })).toBe('400 payload')
    expect(await post({ headers: { 'x-a2a-generation': '-1' } })).toBe('400 payload')
    expect(await post({ headers: { 'x-a2a-task-id': 'another' } })).toBe('400 payload')
    const got = await receiver.fetch(new Request(hookUrl))
    expect(got.status).toBe(405)
    expect(got.headers.get('allow')).toBe('POST')
    expect(deliveries).toEqual([])
  })

  it('the body of a request without a token is not read', async () => {
    const { receiver } = await recordingReceiver()
    let isRead = false
    const body = new ReadableStream(
      {
        pull(controller) {
          isRead = true
          controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const headers = { 'content-type': 'application/json' }
    const request = new Request(hookUrl, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    expect(await responseTo(receiver, request)).toBe('401 token')
    expect(isRead).toBe(false)
  })

  it('responses and reports contain no secrets', async () => {
    const secret = 's3cret-secret-in-the-request'
    const refused: RefusedDelivery[] = []
    const { signer } = await newSender()
    const { receiver, token } = await recordingReceiver({
      signers: [signer],
      onRefused: (refusal) => refused.push(refusal),
    })
    const answers: string[] = []
    const postings: readonly DeliveryOptions[] = [
      { token: secret },
      { token, headers: { authorization: `Bearer ${secret}.${secret}.${secret}` } },
      { token, headers: { 'signature-input': `a=("@method");keyid="${secret}"`, signature: secret } },
      { token, headers: { 'x-a2a-signature': secret } },
    ]
    for (const posting of postings) answers.push(await (await receiver.fetch(await delivery(posting))).text())
    const { receiver: unsigned, token: validToken } = await recordingReceiver({
      onRefused: (refusal) => refused.push(refusal),
    })
    const wrong = [`{"${secret}":`, { statusUpdate: { taskId: 1, status: { message: secret } } }]
    for (const body of wrong)
      answers.push(await (await unsigned.fetch(await delivery({ token: validToken, body }))).text())
    expect(answers.every((answer) => answer.includes('"error"'))).toBe(true)
    expect(JSON.stringify([answers, refused])).not.toContain(secret)
    expect(JSON.stringify([answers, refused])).not.toContain(token)
  })
})

describe('challenges', () => {
  it('the receiver repeats a challenge, and nothing else', async () => {
    const receiver = testReceiver()
    const challenge = 'Zm9v-_.~'
    for (const request of [
      new Request(hookUrl, { method: 'POST', headers: { 'x-a2a-challenge': challenge } }),
      new Request(hookUrl, { headers: { 'x-a2a-challenge': challenge } }),
      new Request(`${hookUrl}?challenge=${challenge}`),
      new Request(`${hookUrl}?validationToken=${challenge}`),
    ]) {
      const response = await receiver.fetch(request)
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        'text/plain',
        challenge,
      ])
    }
    const page = new Request(`${hookUrl}?challenge=${encodeURIComponent('<script>alert(1)</script>')}`)
    expect((await receiver.fetch(page)).status).toBe(405)
    const unanswering = testReceiver({ answersChallenges: false })
    expect((await unanswering.fetch(new Request(`${hookUrl}?challenge=${challenge}`))).status).toBe(405)
  })
})

it('a URL without TLS, with credentials or with a query is refused', () => {
  for (const url of ['http://me.example.com/', 'me', 'https://u:p@me.example.com/', 'https://me.example.com/?a=b']) {
    expect(() => createReceiver({ url })).toThrow('createReceiver(): url: expected a URL')
  }
  expect(() => createReceiver({ url: hookUrl, requires: 'signature' })).toThrow("requires: 'signature' needs signers")
})

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await nextTurn()
}
