import type { Clock } from '../protocol/clock.ts'
import type { Fault } from './fault.ts'

/** A stream of server-sent events with what goes wrong with it. */
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

async function* spoiled(texts: AsyncIterable<string>, faults: readonly Fault[], clock: Clock): AsyncGenerator<string> {
  let count = 0
  let held = ''
  if (await isOver(faults, count)) return
  for await (const text of texts) {
    // Signs of life are no events.
    if (!/^data:/m.test(text)) {
      yield text
      continue
    }
    count++
    const told = await toldInstead(text, faults, count, clock)
    if (told === undefined) held = text
    else if (told !== '') {
      yield told + held
      held = ''
    }
    if (await isOver(faults, count)) return
  }
  if (held !== '') yield held
}

/** What comes in place of an event; undefined if it comes after the next one. */
async function toldInstead(
  text: string,
  faults: readonly Fault[],
  count: number,
  clock: Clock,
): Promise<string | undefined> {
  let told: string | undefined = text
  for (const fault of faults) {
    if (!('event' in fault) || fault.event !== count) continue
    switch (fault.type) {
      case 'delay':
        await new Promise<void>((resolve) => clock.setTimeout(resolve, fault.milliseconds))
        break
      case 'drop':
        told = ''
        break
      case 'duplicate':
        told = text + text
        break
      case 'reorder':
        told = undefined
        break
    }
  }
  return told
}

/** Whether the stream ends after so many events. It may also break, or never say anything again. */
async function isOver(faults: readonly Fault[], count: number): Promise<boolean> {
  const fault = faults.find((each) => 'after' in each && each.after === count)
  if (fault?.type === 'cut') throw connectionFailure('ECONNRESET')
  if (fault?.type === 'silence') await new Promise(() => {})
  return fault !== undefined
}

export function connectionFailure(code: 'ECONNRESET' | 'ECONNREFUSED'): Error {
  return Object.assign(new TypeError('fetch failed'), { code })
}

/** Event by event, each with the empty line that ends it. */
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
