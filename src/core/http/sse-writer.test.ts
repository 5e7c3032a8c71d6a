import { setTimeout as sleep } from 'node:timers/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { describe, expect, it } from 'vitest'
import { awaitFirst, type EventStreamOptions, eventStream, eventText, oneLine } from './sse-writer.ts'

describe('the text of an event', () => {
  it.each([
    [{ data: '{}' }, 'data: {}\n\n'],
    [{ id: 7, data: '{}' }, 'id: 7\ndata: {}\n\n'],
    [{ id: 7, follows: 5, data: '{}' }, ': follows 5\nid: 7\ndata: {}\n\n'],
    [{ id: '7', event: 'error', data: '{}' }, 'event: error\nid: 7\ndata: {}\n\n'],
  ])('the text of an event has a line for each field: %j', (event, text) => {
    expect(eventText(event)).toBe(text)
  })

  it('the text of an event has no character that some readers treat as a line break', () => {
    const data = JSON.stringify({ text: 'a\u2028b\u2029c\u0085d\u00e9' })
    const line = oneLine(data)
    expect(line).toBe('{"text":"a\\u2028b\\u2029c\\u0085d\u00e9"}')
    expect(JSON.parse(line)).toEqual(JSON.parse(data))
  })

  it('the text of an event is parsed back into the same event', () => {
    const events: EventSourceMessage[] = []
    const parser = createParser({ onEvent: (event) => events.push(event) })
    parser.feed(eventText({ id: 1, data: '"a"' }) + eventText({ event: 'error', data: '"\\n"' }))
    expect(events).toMatchObject([
      { id: '1', data: '"a"' },
      { event: 'error', data: '"\\n"' },
    ])
  })
})

describe('an event stream', () => {
  const keepAlive = ': keep-alive\n\n'

  function open(source: AsyncIterable<string>, options: Partial<EventStreamOptions> = {}) {
    return eventStream(source, { heartbeat: 10_000, signal: new AbortController().signal, ...options })
  }

  /** Yields the items and then stays silent. Not a generator, so that its release is visible at once. */
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

  it('carries all items in order and ends with its source', async () => {
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

  it('an event stream sends heartbeats while the source is silent, and loses no item', async () => {
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

  it('an event stream fails when its source fails', async () => {
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

  it('an event stream releases its source at once on return, even while it waits for an item', async () => {
    const source = createSource('a')
    const stream = open(source)
    await stream.next()
    const pending = stream.next()
    await sleep(1)
    await stream.return?.()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(source.isReleased).toBe(true)
  })

  it('an event stream releases its source on return before the first read', async () => {
    const source = createSource('a')
    await open(source).return?.()
    expect(source.isReleased).toBe(true)
  })

  it('an event stream ends and releases its source when the signal aborts', async () => {
    const controller = new AbortController()
    const source = createSource('a')
    const stream = open(source, { signal: controller.signal })
    await stream.next()
    const pending = stream.next()
    controller.abort()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(source.isReleased).toBe(true)
  })

  it('an event stream yields nothing if it is aborted before it starts', async () => {
    const source = createSource('a')
    expect(await Array.fromAsync(open(source, { signal: AbortSignal.abort() }))).toEqual([])
    expect(source.isReleased).toBe(true)
  })
})

describe('awaitFirst', () => {
  const options = { timeout: 10_000, failureItem: () => -1 }

  it('awaitFirst returns an iterable that starts with the first item', async () => {
    async function* source() {
      yield 1
      yield 2
    }
    expect(await Array.fromAsync(await awaitFirst(source(), options))).toEqual([1, 2])
  })

  it('awaitFirst leaves an empty source empty', async () => {
    async function* source() {}
    expect(await Array.fromAsync(await awaitFirst(source(), options))).toEqual([])
  })

  it('awaitFirst rejects if the source fails before the first item', async () => {
    // biome-ignore lint/correctness/useYield: it fails before it yields
    async function* source(): AsyncGenerator<number> {
      throw new Error('no such task')
    }
    await expect(awaitFirst(source(), options)).rejects.toThrow('no such task')
  })

  it('breaks the stream if the source fails after the first item', async () => {
    async function* source() {
      yield 1
      throw new Error('lost')
    }
    const items: number[] = []
    const read = async () => {
      for await (const item of await awaitFirst(source(), options)) items.push(item)
    }
    await expect(read()).rejects.toThrow('lost')
    expect(items).toEqual([1])
  })

  it('awaitFirst releases the source even if the first item is never read', async () => {
    let isReleased = false
    async function* source() {
      try {
        yield 1
        yield 2
      } finally {
        isReleased = true
      }
    }
    const rest = await awaitFirst(source(), options)
    await rest[Symbol.asyncIterator]().return?.()
    expect(isReleased).toBe(true)
  })

  it('awaitFirst starts the stream after the timeout and reports a later failure in it', async () => {
    const start = Promise.withResolvers<void>()
    async function* source(fails: boolean) {
      await start.promise
      if (fails) throw new Error('lost')
      yield 1
    }
    const streams = await Promise.all(
      [source(false), source(true)].map((items) => awaitFirst(items, { ...options, timeout: 1 })),
    )
    start.resolve()
    expect(await Promise.all(streams.map((stream) => Array.fromAsync(stream)))).toEqual([[1], [-1]])
  })
})

describe('the chunks of an event stream', () => {
  function open(source: AsyncIterable<string>, limit: number) {
    return eventStream(source, { heartbeat: 10_000, signal: new AbortController().signal, limit })
  }

  it('a chunk joins items that are ready together', async () => {
    async function* source() {
      yield 'a'
      await Promise.resolve()
      yield 'b'
      yield 'c'
      await sleep(5)
      yield 'd'
      yield 'e'
    }
    expect(await Array.fromAsync(open(source(), 100))).toEqual(['abc', 'de'])
  })

  it('a chunk ends at its limit', async () => {
    async function* source() {
      for (let item = 0; item < 7; item++) yield 'xx'
    }
    expect(await Array.fromAsync(open(source(), 5))).toEqual(['xxxxxx', 'xxxxxx', 'xx'])
  })

  it('an event stream pulls at most one item ahead of the requested chunk', async () => {
    let pulled = 0
    async function* source() {
      for (;;) {
        pulled++
        yield 'x'
      }
    }
    const chunks = open(source(), 10)
    expect((await chunks.next()).value).toBe('xxxxxxxxxx')
    await sleep(5)
    expect(pulled).toBeLessThanOrEqual(11)
  })

  it('an event stream yields the items before a failure', async () => {
    async function* source() {
      yield 'a'
      yield 'b'
      throw new Error('lost')
    }
    const chunks = open(source(), 100)
    expect(await chunks.next()).toEqual({ done: false, value: 'ab' })
    await expect(chunks.next()).rejects.toThrow('lost')
  })

  it('an event stream does not starve other work when its source is always ready', async () => {
    async function* source() {
      for (;;) yield 'x'.repeat(1000)
    }
    let turns = 0
    const ticking = setInterval(() => turns++, 0)
    const chunks = open(source(), 10_000)
    for (let count = 0; count < 50_000 && turns <= 5; count++) await chunks.next()
    clearInterval(ticking)
    expect(turns).toBeGreaterThan(5)
  })
})
