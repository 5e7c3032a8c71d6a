import type { Incoming, Outgoing } from '../../core/http/exchange.ts'
import { eventStream, eventText, oneLine, sseHeaders } from '../../core/http/sse-writer.ts'
import type { RegistryChange } from '../changes.ts'
import type { Registry } from '../registry.ts'
import { errorResponse } from './answers.ts'

export interface ChangeStreamOptions {
  /** Maximum number of concurrent streams. */
  readonly maxFollowers: number
  /** Interval of comments in an idle stream, in milliseconds. */
  readonly heartbeat: number
}

/** Streams changes as server-sent events. The event id is the change's number: `Last-Event-ID` resumes after it. */
export function createChangeStream(registry: Registry, { maxFollowers, heartbeat }: ChangeStreamOptions) {
  let followers = 0

  async function* encodeChanges(changes: AsyncIterable<RegistryChange>): AsyncGenerator<string> {
    yield 'retry: 2000\n\n'
    for await (const { number, type, ...change } of changes) {
      yield eventText({ id: number, event: type, data: oneLine(JSON.stringify({ number, type, ...change })) })
    }
  }

  /** Counts the stream until its reader leaves. */
  function countFollower(source: AsyncIterableIterator<string>, signal: AbortSignal): AsyncIterable<string> {
    followers++
    let hasLeft = false
    const leave = () => {
      if (!hasLeft) followers--
      hasLeft = true
      signal.removeEventListener('abort', leave)
    }
    // A client may disconnect before it reads anything.
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
    const lastSeen = incoming.header('last-event-id') ?? new URLSearchParams(incoming.query).get('after') ?? undefined
    if (lastSeen !== undefined && !/^\d{1,15}$/.test(lastSeen)) {
      return errorResponse(
        400,
        'Last-Event-ID: expected the number of a change. Omit it to start at the latest change.',
      )
    }
    // The start is fixed before the response, so that the client misses no change after it.
    const after = lastSeen === undefined ? (await registry.entries.changes(0, 1)).latest : Number(lastSeen)
    if (followers >= maxFollowers) {
      return errorResponse(503, `The maximum of ${maxFollowers} concurrent streams is reached.`, {
        'retry-after': '10',
      })
    }
    const { signal } = incoming
    const changes = registry.follow({ signal, after })
    return {
      status: 200,
      headers: sseHeaders,
      body: countFollower(eventStream(encodeChanges(changes), { heartbeat, signal }), signal),
    }
  }
}
