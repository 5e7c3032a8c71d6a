import { describe, expect, it } from 'vitest'
import { carryCodec, decodeBareStatus, encodeBareStatus } from './codec.ts'

const own = carryCodec('v0.3')
const other = carryCodec('v0.1')
const timestamp = '2025-09-01T08:00:00.000Z'

describe('a state that the agent does not know', () => {
  const status = decodeBareStatus({ state: 'unknown', timestamp }, own.toCarry)

  it('is taken for one that goes on', () => {
    expect(status).toMatchObject({ state: 'working', timestamp })
  })

  it('is not known again, but by the dialect that read it and as long as nothing else is', () => {
    expect(encodeBareStatus(status, own.readCarry).state).toBe('unknown')
    expect(encodeBareStatus(status, other.readCarry).state).toBe('working')
    expect(encodeBareStatus({ ...status, state: 'completed' }, own.readCarry).state).toBe('completed')
  })
})

describe('the moment of a status', () => {
  it('that was not named is named in no dialect', () => {
    const status = decodeBareStatus({ state: 'working' }, own.toCarry)
    for (const { readCarry } of [own, other]) expect(encodeBareStatus(status, readCarry).timestamp).toBeUndefined()
  })

  it('may be the very one that stands for an unknown one', () => {
    const status = decodeBareStatus({ state: 'working', timestamp: '1970-01-01T00:00:00.000Z' }, own.toCarry)
    expect(encodeBareStatus(status, own.readCarry).timestamp).toBe('1970-01-01T00:00:00.000Z')
  })
})

it('a status of which the model knows all carries nothing', () => {
  expect(decodeBareStatus({ state: 'working', timestamp }, own.toCarry)).toStrictEqual({ state: 'working', timestamp })
})
