import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { bytes, int32, protoEnum, timestamp, withUnspecified } from './proto.ts'

describe('int32', () => {
  it('is a number or its decimal string', () => {
    for (const value of [0, 5, -7, 2147483647, -2147483648]) {
      expect(int32().read(value)).toBe(value)
      expect(int32().read(`${value}`)).toBe(value)
    }
  })

  it('is an integer in its range', () => {
    const size = int32({ min: 1, max: 100 })
    expect(violationOf(size, 150)).toBe('expected an integer from 1 to 100, got 150')
    expect(violationOf(size, 1.5)).toBe('expected an integer from 1 to 100, got 1.5')
    expect(violationOf(size, '1.5')).toBe('expected an integer from 1 to 100, got "1.5"')
    expect(violationOf(size, true)).toBe('expected an integer from 1 to 100, got a boolean')
    for (const value of ['', ' 5', '5 ', '1e1', '0x5', '99999999999', 2 ** 31, -(2 ** 31) - 1, Number.NaN, null]) {
      expect(violationOf(int32(), value)).toMatch(/^expected an integer from -2147483648 to 2147483647, got /)
    }
  })

  it('shows at most 40 characters of a wrong string', () => {
    expect(violationOf(int32(), 'x'.repeat(5000))).toContain(`got "${'x'.repeat(39)}…"`)
  })
})

describe('an enum', () => {
  const Color = protoEnum('COLOR_UNSPECIFIED', { red: 'COLOR_RED', green: 'COLOR_GREEN' })

  it('is read by name or by number', () => {
    expect(['COLOR_RED', 'COLOR_GREEN', 1, 2].map((value) => Color.read(value))).toEqual([
      'red',
      'green',
      'red',
      'green',
    ])
  })

  it('accepts neither other spellings nor the unspecified value', () => {
    expect(violationOf(Color, 'red')).toBe('expected one of COLOR_RED, COLOR_GREEN, got "red"')
    expect(violationOf(Color, 3)).toBe('expected one of COLOR_RED, COLOR_GREEN, got 3')
    for (const value of ['COLOR_UNSPECIFIED', 0, '1', 'color_red', null, [], 'toString']) violationOf(Color, value)
    expect(Color.isDefault?.('COLOR_UNSPECIFIED')).toBe(true)
    expect(Color.isDefault?.(0)).toBe(true)
  })

  it('may read the unspecified value as a value of its own', () => {
    const AnyColor = withUnspecified(Color, 'none')
    expect(['COLOR_UNSPECIFIED', 0, 'COLOR_RED'].map((value) => AnyColor.read(value))).toEqual(['none', 'none', 'red'])
    expect(AnyColor.names).toEqual({ red: 'COLOR_RED', green: 'COLOR_GREEN', none: 'COLOR_UNSPECIFIED' })
    expect(violationOf(AnyColor, 'none')).toBe('expected one of COLOR_RED, COLOR_GREEN, got "none"')
  })
})

describe('bytes', () => {
  it('are read as padded standard base64 from any spelling', () => {
    const spellings = { '//77': '//77', __77: '//77', 'QQ==': 'QQ==', QQ: 'QQ==', QUI: 'QUI=', '-_8': '+/8=', '': '' }
    for (const [wire, read] of Object.entries(spellings)) expect(bytes().read(wire)).toBe(read)
  })

  it('lose unused trailing bits, so that equal bytes are equal strings', () => {
    expect(bytes().read('QR==')).toBe('QQ==')
    expect(bytes().read('QUJ')).toBe('QUI=')
  })

  it('must be base64; the violation names the position but not the content', () => {
    expect(violationOf(bytes(), 7)).toBe('expected base64, got a number')
    expect(violationOf(bytes(), 'QU JD')).toBe('expected base64, got something else at character 3')
    expect(violationOf(bytes(), 'QUJDR')).toBe('expected base64, got a character too few or too many')
    for (const value of ['Q', 'QQ=', 'QUI==', 'QQ===', '====', '=', 'QQ==QQ==', 'ä', 'QQ\n', '"s3cret"']) {
      expect(violationOf(bytes(), value)).not.toContain('s3cret')
    }
  })

  it('are read alike in all four spellings', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (content) => {
        const standard = Buffer.from(content).toString('base64')
        const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_')
        for (const spelling of [standard, urlSafe, standard.replace(/=+$/, ''), urlSafe.replace(/=+$/, '')]) {
          expect(bytes().read(spelling)).toBe(standard)
        }
      }),
    )
  })
})

describe('a timestamp', () => {
  it('is read as UTC with milliseconds', () => {
    const moments = {
      '2026-05-01T08:00:00Z': '2026-05-01T08:00:00.000Z',
      '2026-05-01T08:00:00.123456789Z': '2026-05-01T08:00:00.123Z',
      '2026-05-01T08:00:00.5+02:00': '2026-05-01T06:00:00.500Z',
      '2024-02-29T23:30:00-01:00': '2024-03-01T00:30:00.000Z',
    }
    for (const [wire, read] of Object.entries(moments)) expect(timestamp().read(wire)).toBe(read)
  })

  it('is an existing moment in the format of RFC 3339', () => {
    const invalid = [
      '2026-05-01',
      '2026-05-01 08:00:00Z',
      '2026-05-01T08:00Z',
      '2026-02-30T08:00:00Z',
      '2025-02-29T08:00:00Z',
      '2026-13-01T08:00:00Z',
      '2026-05-01T24:00:00Z',
      '2026-05-01T08:00:60Z',
      '2026-05-01T08:00:00+25:00',
      '2026-05-01T08:00:00.0000000001Z',
      '9999-12-31T23:59:59-14:00',
      'Fri, 01 May 2026 08:00:00 GMT',
      '',
    ]
    for (const value of invalid) expect(violationOf(timestamp(), value)).toMatch(/^expected a time such as 2026-05-01T/)
    expect(violationOf(timestamp(), 1777622400)).toMatch(/got a number$/)
  })

  it('has a zone unless the schema supplies one', () => {
    const pythonic = '2025-04-02T16:59:25.331844'
    expect(violationOf(timestamp(), pythonic)).toContain(`got "${pythonic}"`)
    expect(timestamp({ zone: 'Z' }).read(pythonic)).toBe('2025-04-02T16:59:25.331Z')
    expect(timestamp({ zone: 'Z' }).read('2025-04-02T16:59:25+02:00')).toBe('2025-04-02T14:59:25.000Z')
    expect(violationOf(timestamp({ zone: 'Z' }), 'yesterday')).toContain('got "yesterday"')
  })
})
