import type { Clock } from '../core/base/clock.ts'

/** A fault of a call. */
export interface CallFault {
  readonly type: 'refuse' | 'lose'
}

/** A fault of one stream. Events are counted from 1 in each stream. */
export type Fault =
  | CallFault
  | { readonly type: 'cut' | 'end' | 'silence'; readonly after: number }
  | { readonly type: 'drop' | 'duplicate' | 'reorder'; readonly event: number }
  | { readonly type: 'delay'; readonly event: number; readonly milliseconds: number }

/**
 * Creates faults of a connection, for `createPair`.
 *
 * @example
 * await using pair = await createPair(echo, { faults: [fault.cut(2)] })
 */
export const fault = {
  /** The request does not reach the agent. */
  refuse: (): CallFault => ({ type: 'refuse' }),
  /** The agent gets the request, but the response is lost. */
  lose: (): CallFault => ({ type: 'lose' }),
  /** The connection breaks after this many events. */
  cut: (after: number): Fault => ({ type: 'cut', after }),
  /** The stream ends cleanly after this many events. */
  end: (after: number): Fault => ({ type: 'end', after }),
  /** The connection stays open but sends nothing after this many events. */
  silence: (after: number): Fault => ({ type: 'silence', after }),
  /** This event is lost. */
  drop: (event: number): Fault => ({ type: 'drop', event }),
  /** This event is sent twice. */
  duplicate: (event: number): Fault => ({ type: 'duplicate', event }),
  /** This event is sent after the one that follows it. */
  reorder: (event: number): Fault => ({ type: 'reorder', event }),
  /** Delays this event and all later ones, in milliseconds of the clock. */
  delay: (event: number, milliseconds: number): Fault => ({ type: 'delay', event, milliseconds }),
} as const

/** Applies faults to a stream of server-sent events. */
export function spoil(
  body: ReadableStream<Uint8Array>,
  faults: readonly Fault[],
  clock: Clock,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const source = spoiled(textsIn(reader), faults, clock)
  const encoder = new TextEncoder()
  const leave = () => reader.cancel().catch(() => {})
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await source.next()
          if (!done) return controller.enqueue(encoder.encode(value))
          controller.close()
        } catch (error) {
          controller.error(error)
        }
        await leave()
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

export function connectionFailure(code: 'ECONNRESET' | 'ECONNREFUSED'): Error {
  return Object.assign(new TypeError('fetch failed'), { code })
}

async function* spoiled(texts: AsyncIterable<string>, faults: readonly Fault[], clock: Clock): AsyncGenerator<string> {
  let count = 0
  let held = ''
  if (await isOver(faults, count)) return
  for await (const text of texts) {
    // Heartbeats are comments and are not counted.
    if (!/^data:/m.test(text)) {
      yield text
      continue
    }
    count++
    const output = await applyFaults(text, faults, count, clock)
    if (output === undefined) held = text
    else if (output !== '') {
      yield output + held
      held = ''
    }
    if (await isOver(faults, count)) return
  }
  if (held !== '') yield held
}

/** Whether the stream ends after this event. Throws if the connection breaks, and never settles if it falls silent. */
async function isOver(faults: readonly Fault[], count: number): Promise<boolean> {
  const ending = faults.find((candidate) => 'after' in candidate && candidate.after === count)
  if (ending?.type === 'cut') throw connectionFailure('ECONNRESET')
  if (ending?.type === 'silence') await new Promise(() => {})
  return ending !== undefined
}

/** The text to send instead of an event; undefined if the event is sent after the next one. */
async function applyFaults(
  text: string,
  faults: readonly Fault[],
  count: number,
  clock: Clock,
): Promise<string | undefined> {
  let output: string | undefined = text
  for (const fault of faults) {
    if (!('event' in fault) || fault.event !== count) continue
    switch (fault.type) {
      case 'delay':
        await new Promise<void>((resolve) => clock.setTimeout(resolve, fault.milliseconds))
        break
      case 'drop':
        output = ''
        break
      case 'duplicate':
        output = text + text
        break
      case 'reorder':
        output = undefined
        break
    }
  }
  return output
}

/** Splits a stream into events, each with the empty line that ends it. */
async function* textsIn(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const texts = (rest + decoder.decode(next.value, { stream: true })).split(/(?<=\n\n)/)
    rest = texts.at(-1)?.endsWith('\n\n') ? '' : (texts.pop() ?? '')
    yield* texts
  }
  if (rest !== '') yield rest
}
