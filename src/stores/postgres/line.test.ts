import { expect, test } from 'vitest'
import type { PostgresClient, PostgresResult } from './connection.ts'
import { createHeldConnection } from './connection.ts'

/** A connection that answers when it is told to. */
function createConnection() {
  const asked: PromiseWithResolvers<PostgresResult>[] = []
  const connection = { holdsProcess: true, brokenTimes: 0 }
  const client: PostgresClient = {
    query() {
      const answer = Promise.withResolvers<PostgresResult>()
      asked.push(answer)
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
  return { connection, open, answer: (index: number) => asked[index] ?? expect.fail('nothing was asked') }
}

test('one statement at a time is asked, and only then the process must not end', async () => {
  const { connection, open, answer } = createConnection()
  const line = open()
  expect(connection.holdsProcess).toBe(false)
  const asked = line.ask({ text: 'SELECT 1' })
  expect(line.ask({ text: 'SELECT 2' })).toBeUndefined()
  expect(connection.holdsProcess).toBe(true)
  answer(0).resolve({ rows: [1] })
  expect(await asked).toEqual({ rows: [1] })
  await line.settled()
  expect(connection.holdsProcess).toBe(false)
  expect(line.ask({ text: 'SELECT 2' })).toBeInstanceOf(Promise)
})

test('a statement that the server refuses leaves the connection as it is', async () => {
  const { connection, open, answer } = createConnection()
  const line = open()
  const asked = line.ask({ text: 'SELECT 1 / 0' })
  answer(0).reject(Object.assign(new Error('division by zero'), { code: '22012', severity: 'ERROR' }))
  await expect(asked).rejects.toThrow('division by zero')
  expect(connection.brokenTimes).toBe(0)
})

test('a connection that breaks, or gives no answer in time, is given up', async () => {
  const { connection, open, answer } = createConnection()
  const breaking = open().ask({ text: 'SELECT 1' })
  answer(0).reject(new Error('Connection terminated unexpectedly'))
  await expect(breaking).rejects.toThrow('terminated')
  expect(connection.brokenTimes).toBe(1)
  const silent = open(20)
  await expect(silent.ask({ text: 'SELECT 1' })).rejects.toThrow('no answer within 20 ms')
  expect(connection.brokenTimes).toBe(2)
  await silent.settled()
})

test('what is under way when the connection is given up fails at once, and its answer is of no use any more', async () => {
  const { open, answer } = createConnection()
  const line = open()
  const asked = line.ask({ text: 'SELECT 1' })
  line.close()
  await expect(asked).rejects.toThrow('given up')
  answer(0).resolve({ rows: [] })
  await line.settled()
})
