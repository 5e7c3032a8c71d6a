import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonError, parseJson } from './json.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const parse = (text: string, depth?: number): unknown => parseJson(encode(text), depth === undefined ? {} : { depth })

describe('what is read', () => {
  test('any JSON comes out as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.nat(4), (text, indent) => {
        const value = JSON.parse(text)
        expect(parse(JSON.stringify(value, null, indent))).toEqual(value)
      }),
    )
  })

  test('a text is refused exactly when JSON.parse refuses it', () => {
    fc.assert(
      fc.property(almostJson(), (text) => {
        const ours = attempt(() => parse(text))
        fc.pre(!ours.refusal?.startsWith('duplicate'))
        const engines = attempt(() => JSON.parse(text))
        expect(ours.value).toEqual(engines.value)
        expect(ours.refusal === undefined).toBe(engines.refusal === undefined)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a byte order mark is passed over', () => {
    expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 })
  })

  test('a key named __proto__ is a key like any other', () => {
    const value = parse('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>
    expect(Object.keys(value)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(value.isAdmin).toBeUndefined()
  })

  test('strings may hold what looks like structure', () => {
    const value = { 'a{': '[[[{"x":1}', 'b:': '\\', '"': '\\"{', c: '\\\\' }
    expect(parse(JSON.stringify(value), 1)).toEqual(value)
  })
})

describe('what is refused', () => {
  test.each([
    ['{"a":1,"b":2,"a":3}', 'duplicate key "a" at position 13'],
    ['{"a":1,"\\u0061":2}', 'duplicate key "a" at position 7'],
    ['[{"a":{"b":1,"b":1}}]', 'duplicate key "b" at position 13'],
    ['{"":1,"":1}', 'duplicate key "" at position 6'],
    ['{"__proto__":1,"__proto__":1}', 'duplicate key "__proto__" at position 15'],
  ])('two members with one key are refused: %s', (text, message) => {
    expect(() => parse(text)).toThrow(new JsonError(message))
  })

  test('a long key is not echoed whole', () => {
    const long = 'k'.repeat(1000)
    expect(() => parse(`{"${long}":1,"${long}":1}`)).toThrow(/^duplicate key "k{40}…" at position 1006$/)
  })

  test('a member put into any object a second time is found', () => {
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

  test('the same key in two objects is no duplicate', () => {
    expect(parse('[{"a":1},{"a":{"a":[{"a":1}]}}]')).toEqual([{ a: 1 }, { a: { a: [{ a: 1 }] } }])
  })

  test.each([
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
  ])('%j is not JSON from position %d on', (text, position) => {
    expect(() => parse(text)).toThrow(new JsonError(`not valid JSON at position ${position}`))
  })

  test('where the engine tells a position, ours is the same or the start of that token', () => {
    fc.assert(
      fc.property(almostJson(), (text) => {
        const engines = positionIn(() => JSON.parse(text))
        const ours = positionIn(() => parse(text))
        if (engines === undefined || ours === undefined) return
        expect(ours).toBeLessThanOrEqual(engines)
        expect(text.slice(ours, engines)).toMatch(/^([\d.eE+-]*|[a-z]*|\\.*)$/)
      }),
    )
  })

  test('bytes that are not UTF-8 are refused', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc3, 0x22],
      [0xed, 0xa0, 0x80],
      [0x22, 0xc0, 0xaf, 0x22],
    ]) {
      expect(() => parseJson(new Uint8Array(bytes))).toThrow(new JsonError('not valid UTF-8'))
    }
  })

  test('nesting is refused beyond its limit and accepted up to it', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    expect(parse(nested(64))).toBeDefined()
    expect(() => parse(nested(65))).toThrow(new JsonError('nested deeper than 64 levels'))
    expect(() => parse('{"a":{"b":{}}}', 2)).toThrow(new JsonError('nested deeper than 2 levels'))
    expect(() => parse('['.repeat(5_000_000))).toThrow(new JsonError('nested deeper than 64 levels'))
  })

  test('a fault deep in a large body is not searched for', () => {
    expect(() => parse(`[${'1,'.repeat(1_000_000)}]`)).toThrow(
      /^not valid JSON, or a duplicate key, after position \d+$/,
    )
  })
})

/** JSON with up to three characters taken out, doubled or exchanged. */
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

function attempt(read: () => unknown): { readonly value?: unknown; readonly refusal?: string } {
  try {
    return { value: read() }
  } catch (error) {
    return { refusal: (error as Error).message }
  }
}

function positionIn(read: () => unknown): number | undefined {
  const told = /not valid JSON at position (\d+)|in JSON at position (\d+)/.exec(attempt(read).refusal ?? '')
  return told === null ? undefined : Number(told[1] ?? told[2])
}
