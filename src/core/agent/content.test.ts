import { describe, expect, it } from 'vitest'
import { A2AError } from '../protocol/errors.ts'
import { readContent, readEvent } from './content.ts'

class Order {
  readonly id = 7
}

function problemOf(content: unknown): string {
  try {
    readContent(content)
  } catch (error) {
    if (error instanceof A2AError && error.code === 'invalid-agent-response') return error.message
    throw error
  }
  throw new Error('expected an error')
}

describe('content', () => {
  it.each([
    ['text', 'hi', [{ text: 'hi' }]],
    ['empty text', '', [{ text: '' }]],
    ['a text part', { text: 'hi', metadata: { a: 1 } }, [{ text: 'hi', metadata: { a: 1 } }]],
    ['a part with undefined members', { text: 'hi', filename: undefined }, [{ text: 'hi' }]],
    ['null as data', { data: null }, [{ data: null }]],
    ['a raw part', { raw: 'aGk=', filename: 'a.txt' }, [{ raw: 'aGk=', filename: 'a.txt' }]],
    ['a raw part with bytes', { raw: new Uint8Array([104, 105]) }, [{ raw: 'aGk=' }]],
    ['bytes', new Uint8Array([104, 105]), [{ raw: 'aGk=' }]],
    ['a URL part', { url: 'https://a.test/x' }, [{ url: 'https://a.test/x' }]],
    ['a file with text', { name: 'a.txt', content: 'hi' }, [{ raw: 'aGk=', filename: 'a.txt' }]],
    [
      'a file at a URL',
      { name: 'a', content: new URL('https://a.test/x'), mediaType: 'image/png' },
      [{ url: 'https://a.test/x', filename: 'a', mediaType: 'image/png' }],
    ],
    ['a list', ['one', { data: [1] }], [{ text: 'one' }, { data: [1] }]],
    ['a JSON object', { total: 3 }, [{ data: { total: 3 }, mediaType: 'application/json' }]],
    [
      'an object with a type',
      { type: 'order', id: 1 },
      [{ data: { type: 'order', id: 1 }, mediaType: 'application/json' }],
    ],
    ['an empty object', {}, [{ data: {}, mediaType: 'application/json' }]],
    [
      'an object with some members of a file',
      { name: 'Ada', content: { a: 1 } },
      [{ data: { name: 'Ada', content: { a: 1 } }, mediaType: 'application/json' }],
    ],
  ])('%s is content', (_, content, parts) => {
    expect(readContent(content)).toEqual({ parts })
  })

  it('a message keeps its metadata, extensions and referenced tasks, and loses its ids and its role', () => {
    const fields = { metadata: { a: 1 }, extensions: ['https://a.test/x'], referenceTaskIds: ['t-1'] }
    const message = { messageId: 'm', role: 'user', taskId: 't', contextId: 'c', parts: ['hi'], ...fields }
    expect(readContent(message)).toEqual({ parts: [{ text: 'hi' }], ...fields })
  })

  it('data is copied, so that a later change does not reach the caller', () => {
    const value = { list: [1] }
    const { parts } = readContent({ data: value })
    value.list.push(2)
    expect(parts).toEqual([{ data: { list: [1] } }])
  })

  it.each([
    ['a number', 5, 'got a number'],
    ['a boolean', true, 'got a boolean'],
    ['null', null, 'got null'],
    ['a function', () => 'hi', 'got a function'],
    ['an empty list', [], 'got an empty list'],
    ['a list of numbers', [1, 2], 'expected text, a part'],
    ['a list with undefined', ['a', undefined], 'got undefined'],
    ['a list in a list', [['a']], 'item 1 of the list: expected text, a part, a file or bytes, got a list'],
    [
      'a list of plain objects',
      [{ a: 1 }],
      'item 1 of the list: expected text, a part, a file or bytes, got an object',
    ],
    ['an instance of a class', new Order(), 'got an instance of Order'],
    ['a date', new Date(), 'got an instance of Date'],
    ['an error', new Error('secret'), 'got an instance of Error'],
    ['a part without a value', { text: undefined }, 'text: expected a value, got undefined'],
    ['a part with a wrong text', { text: 5 }, 'text: expected text, got a number'],
    ['a part with a wrong file name', { text: 'a', filename: 5 }, 'filename: expected text, got a number'],
    ['a part that is also data', { url: 'https://a.test', title: 'A' }, 'the members url, title can be a part or data'],
    ['a part with two contents', { text: 'a', data: 1 }, 'can be a part or data'],
    ['a 0.3 part', { kind: 'text', text: 'a' }, 'the members kind, text can be a part or data'],
    ['a relative URL', { url: '/x' }, 'url: expected an absolute URL'],
    ['text that is not base64', { raw: 'not base64!' }, 'raw: expected bytes, or a text in base64'],
    ['data with a class', { data: { at: new Date() } }, 'data.at: expected a value that JSON can hold, got a Date'],
    ['data that JSON cannot hold', { data: [Number.NaN] }, 'data[0]: expected a value that JSON can hold'],
    ['an object with a big integer', { n: 10n }, 'data.n: expected a value that JSON can hold'],
    ['metadata that is a text', { parts: ['a'], metadata: 'b' }, 'metadata: expected a JSON object'],
    ['extensions that are a text', { parts: ['a'], extensions: 'b' }, 'extensions: expected a list of texts'],
    ['a message without parts', { parts: [] }, 'got an empty list'],
  ])('%s is rejected with the expected form', (_, content, problem) => {
    const message = problemOf(content)
    expect(message).toMatch(/^The agent gave an answer that cannot be sent: /)
    expect(message).toContain(problem)
    expect(message).not.toContain('secret')
  })

  it('data that is too deep for readers is rejected', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    expect(readContent({ data: nested(50) }).parts).toHaveLength(1)
    expect(problemOf({ data: nested(51) })).toContain('at most 50 levels')
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(problemOf({ data: circle })).toContain('contains itself')
    let deep: unknown = 1
    for (let n = 0; n < 100_000; n++) deep = [deep]
    expect(problemOf({ data: deep })).toContain('expected a value that JSON can hold')
  })
})

describe('an event of an author', () => {
  it('a status gets what readers need', () => {
    const status = { state: 'working', message: { parts: ['a'] } }
    const event = readEvent({ type: 'status', status } as never)
    expect(event).toMatchObject({
      status: {
        message: { role: 'agent', parts: [{ text: 'a' }], messageId: expect.any(String) },
        timestamp: expect.stringMatching(/^2\d{3}-/),
      },
    })
  })

  it.each([
    ['a status with a wrong message', { type: 'status', status: { state: 'working', message: 'hi' } }],
    ['an artifact without an id', { type: 'artifact', artifact: { parts: ['a'] } }],
    ['an artifact without parts', { type: 'artifact', artifact: { artifactId: 'a', parts: [] } }],
    ['an artifact whose parts are no list', { type: 'artifact', artifact: { artifactId: 'a' }, append: true }],
    ['metadata that is a list', { type: 'artifact', artifact: { artifactId: 'a', parts: ['a'] }, metadata: [1] }],
  ])('%s is rejected', (_, event) => {
    expect(() => readEvent(event as never)).toThrow('The agent gave an answer that cannot be sent')
  })
})

it.each([
  ['0.3 without its kind', { role: 'agent', messageId: 'm', parts: [{ kind: 'text', text: 'hi' }] }],
  ['0.1', { role: 'agent', parts: [{ type: 'text', text: 'hi' }] }],
  ['1.0', { role: 'ROLE_AGENT', messageId: 'm', parts: [{ text: 'hi' }] }],
])('a message as %s writes it is that message, not data', (_, message) => {
  expect(readContent(message)).toEqual({ parts: [{ text: 'hi' }] })
})

it('a message as 0.3 writes it is that message, not data', () => {
  const file = { bytes: 'AQI=', name: 'a.bin', mimeType: 'application/x-a' }
  const parts = [
    { kind: 'text', text: 'hi' },
    { kind: 'data', data: { a: 1 } },
    { kind: 'file', file },
  ]
  const message = { kind: 'message', role: 'agent', messageId: 'm', parts, metadata: { confidence: 1 } }
  expect(readContent(message)).toEqual({
    parts: [{ text: 'hi' }, { data: { a: 1 } }, { raw: 'AQI=', filename: 'a.bin', mediaType: 'application/x-a' }],
    metadata: { confidence: 1 },
  })
})
