import { describe, expect, it } from 'vitest'
import { readTrace, spanIdOf, traceFlagsOf, traceHeaders, traceIdOf } from './trace-context.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const good = `00-${traceId}-${spanId}-01`

describe('traceparent', () => {
  it('is read by its parts', () => {
    const trace = readTrace(good)
    expect(trace).toEqual({ traceparent: good })
    expect(trace && [traceIdOf(trace), spanIdOf(trace), traceFlagsOf(trace)]).toEqual([traceId, spanId, 1])
  })

  it('of a later version is read as far as it is known', () => {
    expect(readTrace(`cc-${traceId}-${spanId}-ff`)).toEqual({ traceparent: good })
    expect(readTrace(`cc-${traceId}-${spanId}-02-what.the-future-brings`)).toEqual({
      traceparent: `00-${traceId}-${spanId}-00`,
    })
  })

  const malformed: Readonly<Record<string, string>> = {
    'nothing at all': '',
    'a text': 'yes please',
    'a version that is forbidden': `ff-${traceId}-${spanId}-01`,
    'capital letters': good.toUpperCase(),
    'a trace id of zeros': `00-${'0'.repeat(32)}-${spanId}-01`,
    'a span id of zeros': `00-${traceId}-${'0'.repeat(16)}-01`,
    'a trace id that is too short': `00-${traceId.slice(1)}-${spanId}-01`,
    'flags that are too long': `${good}0`,
    'more than its version has': `${good}-more`,
    'a later version that goes on without a dash': `cc-${traceId}-${spanId}-01x`,
    'two of them': `${good}, ${good}`,
    'letters beyond f': good.replace('a', 'g'),
    'a later version without end': `cc-${traceId}-${spanId}-01-${'x'.repeat(1000)}`,
  }
  for (const [what, text] of Object.entries(malformed)) {
    it(`is ignored if it is ${what}`, () => expect(readTrace(text, () => 'a=1')).toBeUndefined())
  }
})

describe('tracestate', () => {
  const stateOf = (text: string) => readTrace(good, () => text)?.tracestate

  it('is passed on, without what is empty in it', () => {
    expect(stateOf('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')).toBe('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')
    expect(stateOf(' a=1 ,, fw529a3039@dt=FfAAA  b ')).toBe('a=1,fw529a3039@dt=FfAAA  b')
  })

  it('is dropped as a whole if something in it is malformed, and the rest of the trace is not', () => {
    for (const text of ['', 'a', 'A=1', 'a=1,b', 'a=1,a=2', '=1', 'a=b=c', 'a=\u0007', 'a=é']) {
      expect(readTrace(good, () => text)).toEqual({ traceparent: good })
    }
    expect(stateOf(Array.from({ length: 33 }, (_, n) => `k${n}=v`).join())).toBeUndefined()
    expect(stateOf(`a=${'x'.repeat(257)}`)).toBeUndefined()
  })

  it('is cut at its end if it is longer than others must pass on', () => {
    const members = Array.from({ length: 10 }, (_, n) => `k${n}=${'v'.repeat(97)}`)
    expect(stateOf(members.join())).toBe(members.slice(0, 5).join())
  })

  it('is not even looked at without a traceparent', () => {
    expect(
      readTrace(undefined, () => {
        throw new Error('asked')
      }),
    ).toBeUndefined()
  })
})

it('is told by the headers of its name', () => {
  expect(traceHeaders(undefined)).toEqual({})
  expect(traceHeaders({ traceparent: good })).toEqual({ traceparent: good })
  expect(traceHeaders({ traceparent: good, tracestate: 'a=1' })).toEqual({ traceparent: good, tracestate: 'a=1' })
})
