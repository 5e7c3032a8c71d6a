import { describe, expect, it } from 'vitest'
import { readExposition } from '../../../test/support/telemetry/exposition.ts'
import { createMetricRegistry } from './prometheus.ts'

describe('text', () => {
  it('counters and gauges are written with escaped labels', () => {
    const registry = createMetricRegistry({ labels: { agent: 'A "good"\n\\one' } })
    const counter = registry.counter('seen_total', 'Seen\nat \\ here.', ['what'])
    counter.add(1, 'a')
    counter.add(2.5, 'a')
    counter.add(1, 'b"\\')
    const level = registry.level('open', 'Open ones.')
    level.add(3)
    level.add(-1)
    registry.gauge('now', 'As of now.', () => 7)
    const families = readExposition(registry.text())
    const agent = 'A "good"\n\\one'
    expect(families.get('seen_total')).toEqual({
      name: 'seen_total',
      type: 'counter',
      help: 'Seen\\nat \\\\ here.',
      samples: [
        { name: 'seen_total', labels: { agent, what: 'a' }, value: 3.5 },
        { name: 'seen_total', labels: { agent, what: 'b"\\' }, value: 1 },
      ],
    })
    expect(families.get('open')).toMatchObject({ type: 'gauge', samples: [{ labels: { agent }, value: 2 }] })
    expect(families.get('now')).toMatchObject({ type: 'gauge', samples: [{ value: 7 }] })
  })

  it('the buckets of a histogram are cumulative', () => {
    const registry = createMetricRegistry()
    const histogram = registry.histogram('took_seconds', 'How long.', ['what'], [0.1, 1])
    for (const value of [0.05, 0.1, 0.5, 3]) histogram.observe(value, 'x')
    const { type, samples } = readExposition(registry.text()).get('took_seconds') ?? {}
    expect(type).toBe('histogram')
    expect(samples).toEqual([
      { name: 'took_seconds_bucket', labels: { what: 'x', le: '0.1' }, value: 2 },
      { name: 'took_seconds_bucket', labels: { what: 'x', le: '1' }, value: 3 },
      { name: 'took_seconds_bucket', labels: { what: 'x', le: '+Inf' }, value: 4 },
      { name: 'took_seconds_sum', labels: { what: 'x' }, value: expect.closeTo(3.65) },
      { name: 'took_seconds_count', labels: { what: 'x' }, value: 4 },
    ])
  })
})

it('series beyond the limit count together as other', () => {
  const registry = createMetricRegistry({ maxSeries: 3 })
  const counter = registry.counter('seen_total', 'Seen.', ['who', 'what'])
  for (let n = 0; n < 1000; n++) counter.add(1, `caller ${n}`, 'x')
  const { samples = [] } = readExposition(registry.text()).get('seen_total') ?? {}
  expect(samples.map(({ labels, value }) => [labels.who, labels.what, value])).toEqual([
    ['caller 0', 'x', 1],
    ['caller 1', 'x', 1],
    ['caller 2', 'x', 1],
    ['other', 'other', 997],
  ])
})

it('an invalid or repeated name is an error', () => {
  const registry = createMetricRegistry()
  expect(() => registry.counter('no-name', '')).toThrow('no name of a metric')
  registry.counter('one', '')
  expect(() => registry.gauge('one', '', () => 1)).toThrow('already')
})
