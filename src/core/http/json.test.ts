import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isJson, JsonError, parseJson, parseJsonBody, parseJsonText } from './json.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const parse = (text: string, depth?: number): unknown => parseJson(encode(text), depth === undefined ? {} : { depth })

describe('accepted JSON', () => {
  it('accepted JSON is parsed as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.nat(4), (text, indent) => {
        const value = JSON.parse(text)
        expect(parse(JSON.stringify(value, null, indent))).toEqual(value)
      }),
    )
  })

  it('accepted JSON is exactly the JSON that JSON.parse accepts, apart from duplicate keys and infinite numbers', () => {
    fc.assert(
      fc.property(almostJson(), (text) => {
        const ours = attempt(() => parse(text))
        fc.pre(!/^duplicate|^a number/.test(ours.error ?? ''))
        const engine = attempt(() => JSON.parse(text))
        expect(ours.value).toEqual(engine.value)
        expect(ours.error === undefined).toBe(engine.error === undefined)
      }),
      { numRuns: 2_000 },
    )
  })

  it('accepted JSON may start with a byte order mark', () => {
    expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 })
  })

  it('accepted JSON may have a key named __proto__, which is a key like any other', () => {
    const value = parse('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>
    expect(Object.keys(value)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(value.isAdmin).toBeUndefined()
  })

  it('accepted JSON may have structural characters in strings', () => {
    const value = { 'a{': '[[[{"x":1}', 'b:': '\\', '"': '\\"{', c: '\\\\' }
    expect(parse(JSON.stringify(value), 1)).toEqual(value)
  })
})

describe('rejected JSON', () => {
  it.each([
    ['{"a":1,"b":2,"a":3}', 'duplicate key "a" at position 13'],
    ['{"a":1,"\\u0061":2}', 'duplicate key "a" at position 7'],
    ['[{"a":{"b":1,"b":1}}]', 'duplicate key "b" at position 13'],
    ['{"":1,"":1}', 'duplicate key "" at position 6'],
    ['{"__proto__":1,"__proto__":1}', 'duplicate key "__proto__" at position 15'],
  ])('rejected JSON has two members with the same key: %s', (text, message) => {
    expect(() => parse(text)).toThrow(new JsonError(message))
  })

  it('rejected JSON is not echoed with a long key', () => {
    const long = 'k'.repeat(1000)
    expect(() => parse(`{"${long}":1,"${long}":1}`)).toThrow(/^duplicate key "k{40}…" at position 1006$/)
  })

  it('rejected JSON has a member that was added to any object a second time', () => {
    const withObject = fc
      .dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 })
      .chain((object) => fc.record({ object: fc.constant(object), key: fc.constantFrom(...Object.keys(object)) }))
    fc.assert(
      fc.property(withObject, fc.jsonValue(), ({ object, key }, value) => {
        const twice = `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(key)}:${JSON.stringify(value)}}`
        expect(() => parse(`[${twice}]`)).toThrow(/^duplicate key /)
      }),
    )
  })

  it('rejected JSON does not include the same key in two objects', () => {
    expect(parse('[{"a":1},{"a":{"a":[{"a":1}]}}]')).toEqual([{ a: 1 }, { a: { a: [{ a: 1 }] } }])
  })

  it.each([
    ['', 0],
    [' ', 1],
    ['{', 1],
    ['{"a":}', 5],
    ['{"a" 1}', 5],
    ["{'a':1}", 1],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['01', 1],
    ['1.', 1],
    ['nul', 0],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ['{"\\x":1}', 2],
    ['"open', 5],
    ['{} {}', 3],
    [']', 0],
  ])('%j is invalid at position %d', (text, position) => {
    expect(() => parse(text)).toThrow(new JsonError(`not valid JSON at position ${position}`))
  })

  it('rejected JSON is located at the position that the engine reports, or at the start of that token', () => {
    fc.assert(
      fc.property(almostJson(), (text) => {
        const expected = positionIn(() => JSON.parse(text))
        const ours = positionIn(() => parse(text))
        if (expected === undefined || ours === undefined) return
        expect(ours).toBeLessThanOrEqual(expected)
        expect(text.slice(ours, expected)).toMatch(/^([\d.eE+-]*|[a-z]*|\\.*)$/)
      }),
    )
  })

  it('includes bytes that are not UTF-8', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc3, 0x22],
      [0xed, 0xa0, 0x80],
      [0x22, 0xc0, 0xaf, 0x22],
    ]) {
      expect(() => parseJson(new Uint8Array(bytes))).toThrow(new JsonError('not valid UTF-8'))
    }
  })

  it('rejected JSON is nested beyond the limit', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    expect(parse(nested(64))).toBeDefined()
    expect(() => parse(nested(65))).toThrow(new JsonError('nested deeper than 64 levels'))
    expect(() => parse('{"a":{"b":{}}}', 2)).toThrow(new JsonError('nested deeper than 2 levels'))
    expect(() => parse('['.repeat(5_000_000))).toThrow(new JsonError('nested deeper than 64 levels'))
  })

  it('rejected JSON has a number that a double cannot hold', () => {
    const error = new JsonError('a number is too large for JSON: expected at most 1.7976931348623157e308')
    for (const text of ['1e400', '[-1e400]', `{"a":[{"b":${'9'.repeat(400)}}]}`]) {
      expect(() => parse(text)).toThrow(error)
      expect(() => parseJsonText(text)).toThrow(error)
    }
    expect(parse('[1.7976931348623157e308,1e-400]')).toEqual([Number.MAX_VALUE, 0])
  })

  it('rejected JSON has more values than the limit', () => {
    const limits = { values: 10 }
    const error = /^more than 10 values and names/
    expect(parseJson(encode(`[${'0,'.repeat(8)}0]`), limits)).toHaveLength(9)
    for (const text of ['0,', '[],', '"",', '{"a":0},'].map((item) => `[${item.repeat(11)}0]`)) {
      expect(() => parseJson(encode(text), limits)).toThrow(error)
    }
    expect(parseJson(encode(JSON.stringify(',[{:"\\'.repeat(20))), limits)).toBe(',[{:"\\'.repeat(20))
    expect(() => parse(`[${'[],'.repeat(3_000_000)}0]`)).toThrow(/^more than 500000 values/)
  })

  it('rejected JSON is not searched for an error deep in a large body', () => {
    expect(() => parse(`[${'1,'.repeat(400_000)}]`)).toThrow(/^not valid JSON, or a duplicate key, after position \d+$/)
  })
})

it('between two large bodies, other work of the event loop runs', async () => {
  const body = encode(JSON.stringify({ text: 'x'.repeat(2 ** 18) }))
  const order: string[] = []
  const parsed = ['first', 'second', 'third'].map(async (name) => {
    await parseJsonBody(body, {})
    order.push(name)
    setImmediate(() => order.push('other work'))
  })
  const broken = Promise.resolve(parseJsonBody(body.slice(1), {}))
  await expect(broken).rejects.toThrow(JsonError)
  await Promise.all(parsed)
  expect(order.slice(0, 5)).toEqual(['first', 'other work', 'second', 'other work', 'third'])
  expect(parseJsonBody(encode('[1]'), {})).toEqual([1])
})

it('parseJsonText parses text and limits its depth', () => {
  expect(parseJsonText('{"a":[1]}')).toEqual({ a: [1] })
  expect(() => parseJsonText('[[[]]]', { depth: 2 })).toThrow(new JsonError('nested deeper than 2 levels'))
  expect(() => parseJsonText('{')).toThrow(new JsonError('not valid JSON'))
})

describe('a content type', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; charset=utf8',
    'application/a2a+json',
    'application/a2a+json; version="1.0; charset=latin1"',
    'application/json-rpc',
    'application/json;',
  ])('%j declares JSON', (type) => {
    expect(isJson(type)).toBe(true)
  })

  it.each([
    undefined,
    '',
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/json; charset="utf-16"',
    'application/json; v=1; CHARSET=iso-8859-1',
    'application/json; charset=',
  ])('%j declares no JSON that we read', (type) => {
    expect(isJson(type)).toBe(false)
  })
})

/** JSON with up to three characters removed, doubled or replaced. */
function almostJson(): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(2),
    insert: fc.constantFrom(
      '',
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '0',
      '-',
      '.',
      'e',
      'true',
      ' ',
      '\n',
      '\u0001',
      'é',
    ),
  })
  return fc.tuple(fc.json({ maxDepth: 4 }), fc.array(edit, { maxLength: 3 })).map(([json, edits]) => {
    let text = json
    for (const { at, length, insert } of edits) {
      const start = Math.floor(at * text.length)
      text = text.slice(0, start) + insert + text.slice(start + length)
    }
    return text
  })
}

function attempt(read: () => unknown): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: read() }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

function positionIn(read: () => unknown): number | undefined {
  const position = /not valid JSON at position (\d+)|in JSON at position (\d+)/.exec(attempt(read).error ?? '')
  return position === null ? undefined : Number(position[1] ?? position[2])
}
