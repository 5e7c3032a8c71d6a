import { expect, it } from 'vitest'
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

it('a response of an exchange is passed through', async () => {
  const created = { status: 201, headers: {} }
  expect(await run(async () => created)).toEqual({ outgoing: created, reported: [] })
})

it('an error of an exchange is reported, and the caller sees no detail of it', async () => {
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

it('an exchange may throw before it returns a promise', async () => {
  const { outgoing } = await run(() => {
    throw new Error('early')
  })
  expect(outgoing.status).toBe(500)
})

it('a body over the limit is reported to the caller only', async () => {
  const { outgoing, reported } = await run(async () => {
    throw new BodyTooLarge(10)
  })
  expect(reported).toEqual([])
  expect(outgoing).toMatchObject({ status: 413, body: '{"error":"the body is longer than 10 bytes"}' })
})

it('an error after the caller has disconnected is not reported', async () => {
  const disconnected = { ...incoming, signal: AbortSignal.abort() }
  const { reported } = await run(async ({ signal }) => {
    throw signal.reason
  }, disconnected)
  expect(reported).toEqual([])
})
