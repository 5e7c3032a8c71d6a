import { describe, expect, it } from 'vitest'
import { EventTooLarge, type ReadEvent, readEvents, StreamSilent } from './sse-reader.ts'

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
  const events: ReadEvent[] = []
  const options = { limit: 1_000, idle: 1_000, signal: new AbortController().signal, ...more }
  for await (const event of readEvents(body, options)) events.push(event)
  return events
}

describe('the events of a stream', () => {
  it('are the same however they are cut into chunks', async () => {
    const text = ': hi\n\nid: 7\nevent: error\ndata: {"a":\ndata: "ü"}\n\ndata: 2\n\n'
    const expected = [{ id: '7', event: 'error', data: '{"a":\n"ü"}' }, { data: '2' }]
    expect(await read(bodyOf([text]))).toEqual(expected)
    const bytes = new TextEncoder().encode(text)
    expect(await read(bodyOf(Array.from(bytes, (byte) => Uint8Array.of(byte))))).toEqual(expected)
  })

  it('are also told if the last one lacks its end, and so that one can tell', async () => {
    expect(await read(bodyOf(['data: 1\n\ndata: 2']))).toMatchObject([{ data: '1' }, { data: '2', isCut: true }])
  })

  it('must not be longer than the limit, in however many chunks or lines', async () => {
    for (const chunks of [
      [`data: ${'x'.repeat(2_000)}\n\n`],
      Array(2_000).fill('data: x\n'),
      ['data: ', ...Array(2_000).fill('x')],
    ]) {
      await expect(read(bodyOf(chunks))).rejects.toThrow(EventTooLarge)
    }
  })

  it('must not keep their reader waiting', async () => {
    await expect(read(bodyOf(['data: 1\n\n'], { end: false }), { idle: 20 })).rejects.toThrow(StreamSilent)
  })

  it('end when the reader is told to leave', async () => {
    const leaving = new AbortController()
    setTimeout(() => leaving.abort('bye'), 10)
    await expect(read(bodyOf([], { end: false }), { signal: leaving.signal })).rejects.toBe('bye')
  })

  it('are let go by who stops reading', async () => {
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
