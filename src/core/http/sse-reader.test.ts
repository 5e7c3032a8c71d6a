import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventParser, EventTooLarge, type ReadEvent, readEvents, StreamSilent } from './sse-reader.ts'
import { eventText } from './sse-writer.ts'

describe('the event parser', () => {
  function parse(pieces: readonly string[], limit = 1_000): readonly ReadEvent[] {
    const take = createEventParser(limit)
    return pieces.flatMap((piece) => [...take(piece)])
  }

  const fragment = fc.constantFrom(
    ...['data', 'event', 'id', 'retry', 'other', ':', ': ', ': follows 1', ' ', '\n', '\r', '\r\n', '\n\n', '\0'],
    ...['x', 'ü', '{"a":1}', ''],
  )

  it('the event parser reads the same events however the text is split', () => {
    const pieces = fc.array(
      fc.array(fragment, { maxLength: 12 }).map((parts) => parts.join('')),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(pieces, (split) => {
        expect(parse(split)).toEqual(parse([split.join('')]))
      }),
      { numRuns: 2_000 },
    )
  })

  it('the event parser reads the id of the previous event, even if its line is split', () => {
    const text = eventText({ id: 9, follows: 7, data: '1' }) + eventText({ id: 10, data: '2' })
    for (const pieces of [[text], [...text]]) {
      expect(parse(pieces)).toEqual([
        { id: '9', follows: '7', data: '1' },
        { id: '10', data: '2' },
      ])
    }
  })

  it('the event parser accepts an event of the limit and none that is longer, however it is split', () => {
    for (const size of [1, 3, 7, 1_000]) {
      const piecesOf = (length: number) =>
        `data: ${'x'.repeat(length)}\n\n`.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      expect(parse(piecesOf(50), 50)).toHaveLength(1)
      expect(() => parse(piecesOf(51), 50)).toThrow(EventTooLarge)
    }
  })

  it('the event parser limits every line, also comments and ids', () => {
    for (const start of [': ', 'id: ', 'event: ']) {
      expect(() => parse([start, ...Array<string>(100).fill('x')], 50)).toThrow(EventTooLarge)
    }
    expect(parse(['unknown: ', ...Array<string>(100).fill('x'), '\ndata: 1\n\n'], 50)).toMatchObject([{ data: '1' }])
  })

  it.each(['id: 1\n', 'id: 1\n\n', 'retry: 5\n', 'event: a\n', 'x: y\n'])(
    'the event parser ends a stream of nothing but %j',
    (line) => {
      const take = createEventParser(1_000)
      const feed = () => {
        for (let count = 0; count < 10_000; count++) for (const _ of take(line));
      }
      expect(feed).toThrow(EventTooLarge)
    },
  )

  it('the event parser allows any number of heartbeats between two events', () => {
    const take = createEventParser(1_000)
    for (let count = 0; count < 900; count++) expect([...take(': heartbeat\n\n')]).toEqual([])
    expect([...take('data: 1\n\n')]).toMatchObject([{ data: '1' }])
  })

  it('the event parser reads a million lines of one character in one event, or rejects it as too long', () => {
    const piece = 'data: x\n'.repeat(10_000)
    const read = (limit: number) => {
      const take = createEventParser(limit)
      for (let count = 0; count < 100; count++) for (const _ of take(piece));
      return [...take('\n')]
    }
    expect(read(10 * 2 ** 20)[0]?.data).toHaveLength(1_999_999)
    expect(() => read(100_000)).toThrow(EventTooLarge)
  })

  it('the event parser returns complete events before it rejects one that is too long', () => {
    const events = createEventParser(10)(`data: 1\n\ndata: ${'x'.repeat(11)}\n\ndata: 3\n\n`)
    expect(events.next().value).toEqual({ data: '1' })
    expect(() => events.next()).toThrow(EventTooLarge)
  })

  it('the event parser reads an event of many pieces in time that grows with its length', () => {
    const pieces = ['data: ', ...Array<string>(200_000).fill('0123456789'), '\n\n']
    expect(parse(pieces, 2_000_000)[0]?.data).toHaveLength(2_000_000)
  })
})

describe('an event stream', () => {
  function bodyOf(chunks: readonly (string | Uint8Array)[], { end = true } = {}): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start(controller) {
        for (const chunk of chunks)
          controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk)
        if (end) controller.close()
      },
    })
  }

  async function read(body: ReadableStream<Uint8Array>, more: Partial<Parameters<typeof readEvents>[1]> = {}) {
    const options = { limit: 1_000, idle: 1_000, signal: new AbortController().signal, ...more }
    return await Array.fromAsync(readEvents(body, options))
  }

  it('an event stream yields the same events however it is split into chunks', async () => {
    const text = ': hi\n\nid: 7\nevent: error\ndata: {"a":\ndata: "ü"}\n\ndata: 2\n\n'
    const expected = [{ id: '7', event: 'error', data: '{"a":\n"ü"}' }, { data: '2' }]
    expect(await read(bodyOf([text]))).toEqual(expected)
    const bytes = new TextEncoder().encode(text)
    expect(await read(bodyOf(Array.from(bytes, (byte) => Uint8Array.of(byte))))).toEqual(expected)
  })

  it('marks a last event that lacks its end', async () => {
    expect(await read(bodyOf(['data: 1\n\ndata: 2']))).toMatchObject([{ data: '1' }, { data: '2', isCut: true }])
  })

  it('an event stream rejects an event beyond the limit, in any number of chunks and lines', async () => {
    for (const chunks of [
      [`data: ${'x'.repeat(2_000)}\n\n`],
      Array(2_000).fill('data: x\n'),
      ['data: ', ...Array(2_000).fill('x')],
    ]) {
      await expect(read(bodyOf(chunks))).rejects.toThrow(EventTooLarge)
    }
  })

  it('an event stream fails when it is silent for too long', async () => {
    await expect(read(bodyOf(['data: 1\n\n'], { end: false }), { idle: 20 })).rejects.toThrow(StreamSilent)
  })

  it('an event stream ends when its signal aborts', async () => {
    const caller = new AbortController()
    setTimeout(() => caller.abort('bye'), 10)
    await expect(read(bodyOf([], { end: false }), { signal: caller.signal })).rejects.toBe('bye')
  })

  it('an event stream is canceled when its reader stops', async () => {
    let isCanceled = false
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
      cancel() {
        isCanceled = true
      },
    })
    for await (const _ of readEvents(body, { limit: 10, idle: 10, signal: new AbortController().signal })) break
    expect(isCanceled).toBe(true)
  })
})
