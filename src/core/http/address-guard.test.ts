import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { expect, it } from 'vitest'
import { parseAddress } from './address-guard.ts'

it('an IPv4 address is parsed as the library does, in any notation', () => {
  const number = fc.integer({ min: 0, max: 300 })
  const octet = fc.oneof(
    number.map((value) => `${value}`),
    number.map((value) => `0${value}`),
    number.map((value) => `0${value.toString(8)}`),
    number.map((value) => `0x${value.toString(16)}`),
    fc.constantFrom('', ' 1', '1 ', '+1', '1e1'),
  )
  const address = fc.array(octet, { minLength: 1, maxLength: 5 }).map((octets) => octets.join('.'))
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), address), fc.constantFrom('', '.', '\n'), (text, end) => {
      const expected = ipaddr.isValid(`${text}${end}`) ? ipaddr.process(`${text}${end}`).toString() : undefined
      expect(parseAddress(`${text}${end}`)?.toString()).toBe(expected)
    }),
    { numRuns: 2_000 },
  )
})
