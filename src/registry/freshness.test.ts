import { expect, it } from 'vitest'
import { freshFor } from './freshness.ts'

const bounds = { min: 60_000, max: 86_400_000, usual: 3_600_000 }
const now = Date.parse('2026-01-01T00:00:00Z')

it.each([
  ['what says nothing for the usual time', {}, 3_600_000],
  ['by max-age', { 'cache-control': 'public, max-age=300' }, 300_000],
  ['by max-age less its age', { 'cache-control': 'max-age=300', age: '100' }, 200_000],
  ['by max-age rather than Expires', { 'cache-control': 'max-age=300', expires: '0' }, 300_000],
  [
    'by Expires and Date',
    { expires: 'Thu, 01 Jan 2026 02:00:00 GMT', date: 'Thu, 01 Jan 2026 01:00:00 GMT' },
    3_600_000,
  ],
  ['by Expires and our clock', { expires: 'Thu, 01 Jan 2026 02:00:00 GMT' }, 7_200_000],
  ['not for longer than the bound', { 'cache-control': 'max-age=9999999999' }, 86_400_000],
  ['not for less than the bound', { 'cache-control': 'max-age=1' }, 60_000],
  ['as short as can be without a store', { 'cache-control': 'no-store' }, 60_000],
  ['as short as can be if it is to be asked again', { 'cache-control': 'private, no-cache' }, 60_000],
  ['as short as can be if Expires is no date', { expires: '0' }, 60_000],
  ['the usual time if max-age is no number', { 'cache-control': 'max-age=soon' }, 3_600_000],
])('a card is believed %s', (_, headers, expected) => {
  expect(freshFor(new Headers(headers), now, bounds)).toBe(expected)
})
