import type { PostgresClient, PostgresResult, PostgresStatement } from './driver.ts'
import { isDisconnected } from './trouble.ts'

/** A connection that is held, and over which one statement at a time is asked. */
export interface Line {
  /** Undefined while somebody else asks. */
  ask(statement: PostgresStatement): Promise<PostgresResult> | undefined
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  close(): void
}

export interface LineOptions {
  readonly client: PostgresClient
  /** Milliseconds after which nobody waits for an answer any more. */
  readonly timeout: number
  /** No answer came, or the connection broke: nothing more can be asked over it. */
  readonly onBroken: () => void
}

export function createLine({ client, timeout, onBroken }: LineOptions): Line {
  let current: Asking | undefined
  // One for all, because making one for each takes longer than the rest of asking.
  const silence = setTimeout(() => fail(new Error(`no answer within ${timeout} ms`)), timeout).unref()
  client.unref?.() // Who only listens has nothing more to do.

  function finish(): Asking | undefined {
    const finished = current
    current = undefined
    client.unref?.()
    finished?.settle()
    return finished
  }

  function fail(error: unknown) {
    if (!current) return
    finish()?.reject(error)
    if (isDisconnected(error)) onBroken()
  }

  return {
    ask(statement) {
      if (current) return undefined
      const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
      return new Promise((resolve, reject) => {
        current = { settled, settle, reject }
        silence.refresh()
        client.ref?.()
        client.query(statement).then((result) => {
          finish()
          resolve(result)
        }, fail)
      })
    },
    settled: () => current?.settled ?? Promise.resolve(),
    close() {
      clearTimeout(silence)
      fail(new Error('the connection was given up'))
    },
  }
}

interface Asking {
  readonly settled: Promise<void>
  readonly settle: () => void
  readonly reject: (error: unknown) => void
}
