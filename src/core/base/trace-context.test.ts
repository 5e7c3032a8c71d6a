import { describe, expect, it } from 'vitest'
import { readTrace, requestIdsOf, spanIdOf, traceFlagsOf, traceHeaders, traceIdOf } from './trace-context.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const good = `00-${traceId}-${spanId}-01`

describe('traceparent', () => {
  it('traceparent has a trace id, a span id and flags', () => {
    const trace = readTrace(good)
    expect(trace).toEqual({ traceparent: good })
    expect(trace && [traceIdOf(trace), spanIdOf(trace), traceFlagsOf(trace)]).toEqual([traceId, spanId, 1])
  })

  it('a traceparent of a later version is read as far as its fields are known', () => {
    expect(readTrace(`cc-${traceId}-${spanId}-ff`)).toEqual({ traceparent: good })
    expect(readTrace(`cc-${traceId}-${spanId}-02-what.the-future-brings`)).toEqual({
      traceparent: `00-${traceId}-${spanId}-00`,
    })
  })

  const malformed: Readonly<Record<string, string>> = {
    empty: '',
    'other text': 'yes please',
    'of a forbidden version': `ff-${traceId}-${spanId}-01`,
    'in capitals': good.toUpperCase(),
    'with a trace id of zeros': `00-${'0'.repeat(32)}-${spanId}-01`,
    'with a span id of zeros': `00-${traceId}-${'0'.repeat(16)}-01`,
    'with a short trace id': `00-${traceId.slice(1)}-${spanId}-01`,
    'with long flags': `${good}0`,
    'with more fields than its version has': `${good}-more`,
    'of a later version that continues without a dash': `cc-${traceId}-${spanId}-01x`,
    repeated: `${good}, ${good}`,
    'with letters beyond f': good.replace('a', 'g'),
    'of a later version and too long': `cc-${traceId}-${spanId}-01-${'x'.repeat(1000)}`,
  }
  for (const [description, text] of Object.entries(malformed)) {
    it(`a traceparent that is ${description} is ignored`, () => expect(readTrace(text, () => 'a=1')).toBeUndefined())
  }
})

describe('tracestate', () => {
  const stateOf = (text: string) => readTrace(good, () => text)?.tracestate

  it('tracestate is passed on without empty members', () => {
    expect(stateOf('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')).toBe('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')
    expect(stateOf(' a=1 ,, fw529a3039@dt=FfAAA  b ')).toBe('a=1,fw529a3039@dt=FfAAA  b')
  })

  it('tracestate is dropped if a member is malformed, without affecting traceparent', () => {
    for (const text of ['', 'a', 'A=1', 'a=1,b', 'a=1,a=2', '=1', 'a=b=c', 'a=\u0007', 'a=é']) {
      expect(readTrace(good, () => text)).toEqual({ traceparent: good })
    }
    expect(stateOf(Array.from({ length: 33 }, (_, n) => `k${n}=v`).join())).toBeUndefined()
    expect(stateOf(`a=${'x'.repeat(257)}`)).toBeUndefined()
  })

  it('a tracestate that is longer than others must pass on loses its end', () => {
    const members = Array.from({ length: 10 }, (_, n) => `k${n}=${'v'.repeat(97)}`)
    expect(stateOf(members.join())).toBe(members.slice(0, 5).join())
  })

  it('tracestate is not read without a traceparent', () => {
    expect(
      readTrace(undefined, () => {
        throw new Error('read')
      }),
    ).toBeUndefined()
  })
})

it('a trace is carried by the headers of its name', () => {
  expect(traceHeaders(undefined)).toEqual({})
  expect(traceHeaders({ traceparent: good })).toEqual({ traceparent: good })
  expect(traceHeaders({ traceparent: good, tracestate: 'a=1' })).toEqual({ traceparent: good, tracestate: 'a=1' })
})

it('the ids of a request are logged only if they look like ids', () => {
  const idsOf = (headers: Readonly<Record<string, string>>) => requestIdsOf({ header: (name) => headers[name] })
  expect(idsOf({ 'x-request-id': 'r-1', traceparent: good })).toEqual({ requestId: 'r-1', traceId })
  expect(idsOf({ 'x-request-id': 'two words' })).toEqual({})
})
