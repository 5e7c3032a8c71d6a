import { expect, test } from 'vitest'
import { createHeldConnection, type PostgresClient, type PostgresResult } from './connection.ts'

/** A connection whose statements finish when the test says so. */
function createConnection() {
  const statements: PromiseWithResolvers<PostgresResult>[] = []
  const connection = { holdsProcess: true, brokenTimes: 0 }
  const client: PostgresClient = {
    query() {
      const answer = Promise.withResolvers<PostgresResult>()
      statements.push(answer)
      return answer.promise
    },
    on() {},
    release() {},
    ref() {
      connection.holdsProcess = true
    },
    unref() {
      connection.holdsProcess = false
    },
  }
  const open = (timeout = 10_000) => createHeldConnection({ client, timeout, onBroken: () => connection.brokenTimes++ })
  return { connection, open, answer: (index: number) => statements[index] ?? expect.fail('no statement was sent') }
}

test('a held connection runs one statement at a time, and keeps the process alive only meanwhile', async () => {
  const { connection, open, answer } = createConnection()
  const held = open()
  expect(connection.holdsProcess).toBe(false)
  const running = held.query({ text: 'SELECT 1' })
  expect(held.query({ text: 'SELECT 2' })).toBeUndefined()
  expect(connection.holdsProcess).toBe(true)
  answer(0).resolve({ rows: [1] })
  expect(await running).toEqual({ rows: [1] })
  await held.idle()
  expect(connection.holdsProcess).toBe(false)
  const next = held.query({ text: 'SELECT 2' })
  answer(1).resolve({ rows: [2] })
  expect(await next).toEqual({ rows: [2] })
})

test('a statement that the server rejects does not break the connection', async () => {
  const { connection, open, answer } = createConnection()
  const held = open()
  const running = held.query({ text: 'SELECT 1 / 0' })
  answer(0).reject(Object.assign(new Error('division by zero'), { code: '22012', severity: 'ERROR' }))
  await expect(running).rejects.toThrow('division by zero')
  expect(connection.brokenTimes).toBe(0)
})

test('a held connection that breaks or times out is reported as broken', async () => {
  const { connection, open, answer } = createConnection()
  const breaking = open().query({ text: 'SELECT 1' })
  answer(0).reject(new Error('Connection terminated unexpectedly'))
  await expect(breaking).rejects.toThrow('terminated')
  expect(connection.brokenTimes).toBe(1)
  const silent = open(20)
  await expect(silent.query({ text: 'SELECT 1' })).rejects.toThrow('no answer within 20 ms')
  expect(connection.brokenTimes).toBe(2)
  await silent.idle()
})

test('closing a held connection fails the running statement, and its late result is ignored', async () => {
  const { open, answer } = createConnection()
  const held = open()
  const running = held.query({ text: 'SELECT 1' })
  held.close()
  await expect(running).rejects.toThrow('was closed')
  answer(0).resolve({ rows: [] })
  await held.idle()
})
