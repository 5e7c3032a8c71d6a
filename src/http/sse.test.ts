import { setTimeout as sleep } from 'node:timers/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { describe, expect, test } from 'vitest'
import { type EventStreamOptions, eventStream, eventText, oneLine } from './sse-writer.ts'

describe('the text of an event', () => {
  test.each([
    [{ data: '{}' }, 'data: {}\n\n'],
    [{ id: 7, data: '{}' }, 'id: 7\ndata: {}\n\n'],
    [{ id: '7', event: 'error', data: '{}' }, 'event: error\nid: 7\ndata: {}\n\n'],
  ])('%j', (event, text) => {
    expect(eventText(event)).toBe(text)
  })

  test('has none of the characters at which some readers split lines', () => {
    const data = JSON.stringify({ text: 'a\u2028b\u2029c\u0085d\u00e9' })
    const line = oneLine(data)
    expect(line).toBe('{"text":"a\\u2028b\\u2029c\\u0085d\u00e9"}')
    expect(JSON.parse(line)).toEqual(JSON.parse(data))
  })

  test('a parser reads it back', () => {
    const seen: EventSourceMessage[] = []
    const parser = createParser({ onEvent: (event) => seen.push(event) })
    parser.feed(eventText({ id: 1, data: '"a"' }) + eventText({ event: 'error', data: '"\\n"' }))
    expect(seen).toMatchObject([
      { id: '1', data: '"a"' },
      { event: 'error', data: '"\\n"' },
    ])
  })
})

describe('the stream of events', () => {
  const keepAlive = ': keep-alive\n\n'

  function open(source: AsyncIterable<string>, options: Partial<EventStreamOptions> = {}) {
    return eventStream(source, { heartbeat: 10_000, signal: new AbortController().signal, ...options })
  }

  /** Yields what it is given, then never again. Not a generator, so that its release can be seen at once. */
  function createSource(...items: string[]) {
    const source = {
      isReleased: false,
      async next(): Promise<IteratorResult<string>> {
        const value = items.shift()
        return value === undefined ? new Promise(() => {}) : { done: false, value }
      },
      async return(): Promise<IteratorResult<string>> {
        source.isReleased = true
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => source,
    }
    return source
  }

  test('it carries everything, in order, and ends with its source', async () => {
    async function* source() {
      for (let item = 0; item < 1000; item++) {
        if (item % 7 === 0) await sleep(0)
        yield `${item};`
      }
    }
    const chunks = await Array.fromAsync(open(source()))
    expect(chunks.join('')).toBe(Array.from({ length: 1000 }, (_, item) => `${item};`).join(''))
    expect(chunks.length).toBeLessThan(400)
  })

  test('silence is filled with heartbeats and nothing is lost in it', async () => {
    async function* source() {
      yield 'a'
      await sleep(70)
      yield 'b'
    }
    const chunks = await Array.fromAsync(open(source(), { heartbeat: 20 }))
    expect(chunks.filter((chunk) => chunk !== keepAlive)).toEqual(['a', 'b'])
    expect(chunks.filter((chunk) => chunk === keepAlive).length).toBeGreaterThanOrEqual(2)
    expect(chunks.at(-1)).toBe('b')
  })

  test('the failure of the source is the failure of the stream', async () => {
    async function* source() {
      yield 'a'
      await sleep(1)
      throw new Error('lost')
    }
    const stream = open(source())
    expect(await stream.next()).toEqual({ done: false, value: 'a' })
    await expect(stream.next()).rejects.toThrow('lost')
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test('a return releases the source at once, also while the stream waits for it', async () => {
    const source = createSource('a')
    const stream = open(source)
    await stream.next()
    const waiting = stream.next()
    await sleep(1)
    await stream.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(source.isReleased).toBe(true)
  })

  test('a return before the first read releases the source', async () => {
    const source = createSource('a')
    await open(source).return?.()
    expect(source.isReleased).toBe(true)
  })

  test('an abort ends the stream and releases the source', async () => {
    const controller = new AbortController()
    const source = createSource('a')
    const stream = open(source, { signal: controller.signal })
    await stream.next()
    const waiting = stream.next()
    controller.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(source.isReleased).toBe(true)
  })

  test('a stream that is aborted before it begins yields nothing', async () => {
    const source = createSource('a')
    expect(await Array.fromAsync(open(source, { signal: AbortSignal.abort() }))).toEqual([])
    expect(source.isReleased).toBe(true)
  })
})
