import { expect, it } from 'vitest'
import { freshnessLifetime } from './read-card.ts'

const bounds = { min: 60_000, max: 86_400_000, fallback: 3_600_000 }
const now = Date.parse('2026-01-01T00:00:00Z')

it.each([
  ['without caching headers is the fallback', {}, 3_600_000],
  ['is max-age', { 'cache-control': 'public, max-age=300' }, 300_000],
  ['is max-age less Age', { 'cache-control': 'max-age=300', age: '100' }, 200_000],
  ['is max-age rather than Expires', { 'cache-control': 'max-age=300', expires: '0' }, 300_000],
  [
    'is Expires less Date',
    { expires: 'Thu, 01 Jan 2026 02:00:00 GMT', date: 'Thu, 01 Jan 2026 01:00:00 GMT' },
    3_600_000,
  ],
  ['is Expires less the local time without Date', { expires: 'Thu, 01 Jan 2026 02:00:00 GMT' }, 7_200_000],
  ['does not exceed the maximum', { 'cache-control': 'max-age=9999999999' }, 86_400_000],
  ['is at least the minimum', { 'cache-control': 'max-age=1' }, 60_000],
  ['is the minimum with no-store', { 'cache-control': 'no-store' }, 60_000],
  ['is the minimum with no-cache', { 'cache-control': 'private, no-cache' }, 60_000],
  ['is the minimum if Expires is not a date', { expires: '0' }, 60_000],
  ['is the fallback if max-age is not a number', { 'cache-control': 'max-age=soon' }, 3_600_000],
])('the freshness lifetime %s', (_, headers, expected) => {
  expect(freshnessLifetime(new Headers(headers), now, bounds)).toBe(expected)
})
