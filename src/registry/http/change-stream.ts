import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, eventText, oneLine, sseHeaders } from '../../http/sse-writer.ts'
import type { RegistryChange } from '../changes.ts'
import type { Registry } from '../registry.ts'
import { problem } from './answers.ts'

export interface ChangeStreamOptions {
  /** Readers at the same time. */
  readonly maxFollowers: number
  /** Milliseconds. */
  readonly heartbeat: number
}

/** What changes, as server-sent events. The id of each is its number: `Last-Event-ID` continues behind it. */
export function createChangeStream(registry: Registry, { maxFollowers, heartbeat }: ChangeStreamOptions) {
  let followers = 0

  async function* texts(changes: AsyncIterable<RegistryChange>): AsyncGenerator<string> {
    yield 'retry: 2000\n\n'
    for await (const { number, type, ...change } of changes) {
      yield eventText({ id: number, event: type, data: oneLine(JSON.stringify({ number, type, ...change })) })
    }
  }

  /** Counts it for as long as somebody reads. */
  function counted(source: AsyncIterableIterator<string>, signal: AbortSignal): AsyncIterable<string> {
    followers++
    let isOver = false
    const leave = () => {
      if (!isOver) followers--
      isOver = true
      signal.removeEventListener('abort', leave)
    }
    // Who leaves before it reads is gone as well.
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    return {
      [Symbol.asyncIterator]: () => ({
        async next() {
          const step = await source.next().catch((error) => {
            leave()
            throw error
          })
          if (step.done) leave()
          return step
        },
        async return() {
          leave()
          await source.return?.()
          return { done: true, value: undefined }
        },
      }),
    }
  }

  return async (incoming: Incoming): Promise<Outgoing> => {
    const given = incoming.header('last-event-id') ?? new URLSearchParams(incoming.query).get('after') ?? undefined
    if (given !== undefined && !/^\d{1,15}$/.test(given)) {
      return problem(400, 'Last-Event-ID: expected the number of a change. Leave it out to begin now.')
    }
    // Who has an answer misses nothing from then on.
    const after = given === undefined ? (await registry.entries.changes(0, 1)).latest : Number(given)
    if (followers >= maxFollowers) {
      return problem(503, `${maxFollowers} readers follow already.`, { 'retry-after': '10' })
    }
    const { signal } = incoming
    const changes = registry.follow({ signal, after })
    return {
      status: 200,
      headers: sseHeaders,
      body: counted(eventStream(texts(changes), { heartbeat, signal }), signal),
    }
  }
}
