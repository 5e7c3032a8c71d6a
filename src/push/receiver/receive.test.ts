import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  answerTo,
  delivery,
  hookUrl,
  newSender,
  noting,
  type Posting,
  receiver,
  statusBody,
  tokenOf,
} from '../../../test/support/push.ts'
import type { RefusedDelivery } from './options.ts'
import { receive } from './receiver.ts'

describe('a delivery with a token', () => {
  it('is told as an event of a stream, with all that its head says', async () => {
    const { told, post, token } = await noting()
    const headers = { 'x-a2a-attempt': '2', traceparent: '00-1-2-00', tracestate: 'a=1', 'x-a2a-task-id': 't-1' }
    expect(await post({ deliveryId: 'd-1', generation: 3, previous: 0, headers })).toBe('204')
    expect(told).toEqual([
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

  it('may bring it as the credentials of its config', async () => {
    const { post, token, told } = await noting()
    expect(await post({ token: undefined, headers: { authorization: `Bearer ${token}` } })).toBe('204')
    expect(told).toHaveLength(1)
  })

  it('is refused without it, with one that is made up, and with one of another receiver', async () => {
    const { post, told, token } = await noting()
    const [id = ''] = token.split('.')
    const other = await tokenOf(receiver())
    for (const wrong of [undefined, '', 'x', `${id}.`, `${id}.${'A'.repeat(43)}`, other, `${token}x`]) {
      expect(await post({ token: wrong })).toBe('401 token')
    }
    expect(told).toEqual([])
  })

  it('is known after a restart, and by other replicas, that have the same secret', async () => {
    const secret = 'a secret of at least thirty-two bytes'
    const token = await tokenOf(receiver({ secret }))
    const { post } = await noting({ secret })
    expect(await post({ token })).toBe('204')
    expect(() => receiver({ secret: 'short' })).toThrow('secret: expected at least 32 bytes, got 5')
  })

  it('may bring one that was handed in', async () => {
    const { post, told } = await noting({ tokens: ['a-token-of-my-own'] })
    expect(await post({ token: 'a-token-of-my-own' })).toBe('204')
    expect(await post({ token: 'a-token-of-my-owm' })).toBe('401 token')
    expect(told[0]).not.toHaveProperty('registration')
    expect(() => receiver({ tokens: ['short'] })).toThrow('at least 16 characters')
  })
})

describe('a delivery that came before', () => {
  it('is acknowledged and not told again', async () => {
    const { post, told } = await noting()
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(await post({ deliveryId: 'd-1', body: statusBody('TASK_STATE_FAILED') })).toBe('409 conflict')
    expect(told).toHaveLength(1)
  })

  it('is known by what it says if its sender has no ids, but chunks of artifacts may be equal', async () => {
    const { post, told } = await noting()
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
    expect(told.map(({ event }) => event.type)).toEqual(['status', 'artifact', 'artifact'])
  })

  it('does not use up the ids of others', async () => {
    const { made, post, told } = await noting()
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
    expect(await post({ deliveryId: 'd-1', token: await tokenOf(made) })).toBe('204')
    expect(told).toHaveLength(2)
  })

  it('is asked to come again while it is being dealt with, and when that failed it is told again', async () => {
    const gate = Promise.withResolvers<void>()
    let calls = 0
    const refused: RefusedDelivery[] = []
    const onEvent = () => (calls++ === 0 ? gate.promise : undefined)
    const { post } = await noting({ onEvent, onRefused: (each) => refused.push(each) })
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

  it('counts as told if a slow callback succeeds after its sender was sent away', async () => {
    const gate = Promise.withResolvers<void>()
    const { post } = await noting({ onEvent: () => gate.promise, takeWithin: 1, order: { wait: 1 } })
    expect(await post({ deliveryId: 'd-1' })).toBe('503 pending')
    gate.resolve()
    await nextTurn()
    expect(await post({ deliveryId: 'd-1' })).toBe('204')
  })
})

describe('events', () => {
  it('are told in the order of their numbers, whatever order they come in', async () => {
    const { post, told } = await noting({ order: { wait: 5_000 } })
    const all = [4, 2, 3, 1].map((generation) => post({ deliveryId: `d-${generation}`, generation }))
    expect(await Promise.all(all)).toEqual(['204', '204', '204', '204'])
    expect(told.map(({ generation }) => generation)).toEqual([1, 2, 3, 4])
    expect(told.some(({ missing, isLate }) => missing || isLate)).toBe(false)
  })

  it('are not waited for where the sender says that there are none', async () => {
    const { post, told } = await noting({ order: { wait: 60_000 } })
    expect(await post({ generation: 3, previous: 0, deliveryId: 'a' })).toBe('204')
    expect(await post({ generation: 9, previous: 3, deliveryId: 'b' })).toBe('204')
    expect(told).toHaveLength(2)
  })

  it('that do not come in time are told to be missing, and are late when they come', async () => {
    const { post, told } = await noting({ order: { wait: 20 } })
    expect(await post({ generation: 1, deliveryId: 'a' })).toBe('204')
    expect(await post({ generation: 4, deliveryId: 'b' })).toBe('204')
    expect(await post({ generation: 3, deliveryId: 'c' })).toBe('204')
    expect(told.map(({ generation, missing, isLate }) => ({ generation, missing, isLate }))).toEqual([
      { generation: 1 },
      { generation: 4, missing: { after: 1, before: 4 } },
      { generation: 3, isLate: true },
    ])
  })

  it('of other tasks do not wait', async () => {
    const { post } = await noting({ order: { wait: 60_000 } })
    void post({ generation: 2, deliveryId: 'a' })
    const other = statusBody('TASK_STATE_WORKING', 't-2')
    expect(await post({ generation: 1, deliveryId: 'b', body: other })).toBe('204')
  })

  it('that wait are bounded per task and in all', async () => {
    const { post } = await noting({ order: { wait: 60_000, perTask: 2 }, capacity: 3 })
    const waiting = [2, 3].map((generation) => post({ generation, deliveryId: `${generation}` }))
    await until(async () => (await post({ generation: 4, deliveryId: '4' })) === '429 busy')
    const other = statusBody('TASK_STATE_WORKING', 't-2')
    waiting.push(post({ generation: 2, deliveryId: 'x', body: other }))
    await until(async () => (await post({ generation: 5, deliveryId: 'y', body: other })) === '429 busy')
    expect(waiting).toHaveLength(3)
  })
})

describe('the iterable', () => {
  it('gets every event, and each is acknowledged when it is taken', async () => {
    const made = receiver()
    const token = await tokenOf(made)
    const events = made.events()
    const first = answerTo(made, { token, deliveryId: '1', generation: 1 })
    let isAnswered = false
    void first.then(() => {
      isAnswered = true
    })
    for (let n = 0; n < 20; n++) await nextTurn()
    expect(isAnswered).toBe(false)
    expect((await events.next()).value).toMatchObject({ deliveryId: '1' })
    expect(await first).toBe('204')
    const waiting = events.next()
    expect(await answerTo(made, { token, deliveryId: '2', generation: 2 })).toBe('204')
    expect((await waiting).value).toMatchObject({ deliveryId: '2' })
  })

  it('asks the sender to come again if nobody takes the event, and tells it then', async () => {
    const made = receiver({ takeWithin: 10 })
    const token = await tokenOf(made)
    const response = await made.fetch(await delivery({ token, deliveryId: '1' }))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    const taken = made.events().next()
    expect(await answerTo(made, { token, deliveryId: '1' })).toBe('204')
    expect((await taken).value).toMatchObject({ deliveryId: '1' })
  })

  it('ends at once when its reader leaves, or the receiver is closed', async () => {
    const made = receiver()
    const left = made.events()
    const pending = left.next()
    await left.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
    const read = Array.fromAsync(made)
    made.close()
    expect(await read).toEqual([])
    expect(await answerTo(made, { token: await tokenOf(made) })).toBe('503 closed')
  })

  it('tells nothing to a sender that has gone, so that nothing is told twice', async () => {
    const made = receiver()
    const token = await tokenOf(made)
    const gone = new AbortController()
    const request = new Request(await delivery({ token, deliveryId: '1' }), { signal: gone.signal })
    const answer = answerTo(made, request)
    for (let n = 0; n < 20; n++) await nextTurn()
    gone.abort()
    expect(await answer).toBe('503 not-taken')
    const taken = made.events().next()
    expect(await answerTo(made, { token, deliveryId: '1' })).toBe('204')
    expect((await taken).done).toBe(false)
  })

  it('tells what came from a sender that does not send again, although it has gone', async () => {
    const made = receiver()
    const gone = new AbortController()
    const request = new Request(await delivery({ token: await tokenOf(made) }), { signal: gone.signal })
    const answer = answerTo(made, request)
    for (let n = 0; n < 20; n++) await nextTurn()
    gone.abort()
    for (let n = 0; n < 20; n++) await nextTurn()
    expect((await made.events().next()).value).toMatchObject({ taskId: 't-1' })
    expect(await answer).toBe('204')
  })

  it('is not there beside a callback', () => {
    expect(() => receiver({ onEvent() {} }).events()).toThrow('with `onEvent`, events go there')
  })
})

describe('what is no delivery', () => {
  it('is refused, and the answer says what was expected', async () => {
    const { post, made, told } = await noting({ bodyLimit: 1_000 })
    expect(await post({ headers: { 'content-type': 'text/plain' } })).toBe('415 content-type')
    expect(await post({ body: `{"x":"${'x'.repeat(1_000)}"}` })).toBe('413 too-large')
    expect(await post({ body: '{"task":' })).toBe('400 payload')
    expect(await post({ body: '[]' })).toBe('400 payload')
    expect(await post({ body: {} })).toBe('400 payload')
    expect(await post({ body: '['.repeat(200) + ']'.repeat(200) })).toBe('400 payload')
    expect(await post({ body: { statusUpdate: { taskId: 't' } } })).toBe('400 payload')
    expect(await post({ headers: { 'x-a2a-generation': '-1' } })).toBe('400 payload')
    expect(await post({ headers: { 'x-a2a-task-id': 'another' } })).toBe('400 payload')
    const got = await made.fetch(new Request(hookUrl))
    expect(got.status).toBe(405)
    expect(got.headers.get('allow')).toBe('POST')
    expect(told).toEqual([])
  })

  it('is not even read from those who show no token', async () => {
    const { made } = await noting()
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
    expect(await answerTo(made, request)).toBe('401 token')
    expect(isRead).toBe(false)
  })

  it('brings no secret into an answer or a report', async () => {
    const planted = 's3cret-planted-in-the-request'
    const refused: RefusedDelivery[] = []
    const { signer } = await newSender()
    const { made, token } = await noting({ signers: [signer], onRefused: (each) => refused.push(each) })
    const answers: string[] = []
    const postings: readonly Posting[] = [
      { token: planted },
      { token, headers: { authorization: `Bearer ${planted}.${planted}.${planted}` } },
      { token, headers: { 'signature-input': `a=("@method");keyid="${planted}"`, signature: planted } },
      { token, headers: { 'x-a2a-signature': planted } },
    ]
    for (const posting of postings) answers.push(await (await made.fetch(await delivery(posting))).text())
    const { made: open, token: known } = await noting({ onRefused: (each) => refused.push(each) })
    const wrong = [`{"${planted}":`, { statusUpdate: { taskId: 1, status: { message: planted } } }]
    for (const body of wrong) answers.push(await (await open.fetch(await delivery({ token: known, body }))).text())
    expect(answers.every((answer) => answer.includes('"error"'))).toBe(true)
    expect(JSON.stringify([answers, refused])).not.toContain(planted)
    expect(JSON.stringify([answers, refused])).not.toContain(token)
  })
})

describe('a sender that asks who owns the address', () => {
  it('gets its word back, and nothing else', async () => {
    const made = receiver()
    const word = 'Zm9v-_.~'
    for (const request of [
      new Request(hookUrl, { method: 'POST', headers: { 'x-a2a-challenge': word } }),
      new Request(hookUrl, { headers: { 'x-a2a-challenge': word } }),
      new Request(`${hookUrl}?challenge=${word}`),
      new Request(`${hookUrl}?validationToken=${word}`),
    ]) {
      const response = await made.fetch(request)
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        200,
        'text/plain',
        word,
      ])
    }
    const page = new Request(`${hookUrl}?challenge=${encodeURIComponent('<script>alert(1)</script>')}`)
    expect((await made.fetch(page)).status).toBe(405)
    const silent = receiver({ answersChallenges: false })
    expect((await silent.fetch(new Request(`${hookUrl}?challenge=${word}`))).status).toBe(405)
  })
})

it('an address that others could read along is refused', () => {
  for (const url of ['http://me.example.com/', 'me', 'https://u:p@me.example.com/', 'https://me.example.com/?a=b']) {
    expect(() => receive({ url })).toThrow('receive(): url: expected an address')
  }
  expect(() => receive({ url: hookUrl, requires: 'signature' })).toThrow("requires: 'signature' needs signers")
})

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await nextTurn()
}
