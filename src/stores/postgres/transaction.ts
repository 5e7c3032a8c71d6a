import { within } from './database.ts'
import type { PostgresPool, PostgresValue } from './driver.ts'

export type Ask = <Row>(text: string, ...values: PostgresValue[]) => Promise<readonly Row[]>

/** Does all of the work on one connection, or nothing. */
export async function inTransaction<T>(
  pool: PostgresPool,
  timeout: number,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  const connecting = pool.connect()
  const client = await within(timeout, connecting).catch((error) => {
    connecting.then((late) => late.release()).catch(() => {})
    throw error
  })
  const ask: Ask = async <Row>(text: string, ...values: PostgresValue[]) =>
    (await client.query({ text, values, query_timeout: timeout })).rows as Row[]
  let isBroken = true
  try {
    await ask('BEGIN')
    const result = await work(ask)
    await ask('COMMIT')
    isBroken = false
    return result
  } finally {
    client.release(isBroken) // what is closed is rolled back
  }
}
