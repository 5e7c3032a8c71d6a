import { expect, test } from 'vitest'
import { BodyTooLarge, type Exchange, type Incoming, runExchange } from './exchange.ts'

const incoming: Incoming = {
  method: 'GET',
  path: '/',
  query: '',
  base: '',
  secure: false,
  certificate: () => undefined,
  header: () => undefined,
  bytes: async () => new Uint8Array(),
  signal: new AbortController().signal,
}

async function run(exchange: Exchange, request = incoming) {
  const reported: unknown[] = []
  const outgoing = await runExchange(exchange, request, (error) => reported.push(error))
  return { outgoing, reported }
}

test('what an exchange answers is the answer', async () => {
  const created = { status: 201, headers: {} }
  expect(await run(async () => created)).toEqual({ outgoing: created, reported: [] })
})

test('what an exchange throws is reported, and the caller sees nothing of it', async () => {
  const bug = new Error('secret detail')
  const { outgoing, reported } = await run(async () => {
    throw bug
  })
  expect(reported).toEqual([bug])
  expect(outgoing).toEqual({
    status: 500,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"internal error"}',
  })
})

test('an exchange may throw before it gives a promise', async () => {
  const { outgoing } = await run(() => {
    throw new Error('early')
  })
  expect(outgoing.status).toBe(500)
})

test('a body over the limit is the doing of the caller', async () => {
  const { outgoing, reported } = await run(async () => {
    throw new BodyTooLarge(10)
  })
  expect(reported).toEqual([])
  expect(outgoing).toMatchObject({ status: 413, body: '{"error":"the body is longer than 10 bytes"}' })
})

test('an exchange that stops because the caller has gone is no bug', async () => {
  const gone = { ...incoming, signal: AbortSignal.abort() }
  const { reported } = await run(async ({ signal }) => {
    throw signal.reason
  }, gone)
  expect(reported).toEqual([])
})
