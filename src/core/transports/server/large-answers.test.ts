import { describe, expect, it, onTestFinished } from 'vitest'
import { createLoad } from '../../http/load.ts'
import { anonymous } from '../../protocol/model.ts'
import type { Service } from '../../protocol/service.ts'
import { type AnswerTarget, answersOf } from './large-answers.ts'

const length = 200_000

/** Room for one answer, of one caller in each call. */
function createTargets() {
  const load = createLoad({ requests: 100, bodyBytes: length, responseBytes: 4 * length, memory: () => 0 })
  onTestFinished(() => load.stop())
  const targetOf = (address: string): AnswerTarget => ({
    incoming: { reserve: (response, caller) => load.reserve(response, caller), address: () => address },
    principal: anonymous,
  })
  return { targetOf }
}

describe.each([
  ['a task', 7],
  ['a list', undefined],
])('large answers with %s', (_, generation) => {
  it('an answer without room is not encoded, although it was requested while there was room', () => {
    const { targetOf } = createTargets()
    const answers = answersOf({} as Service, () => 'key')
    const target = targetOf('10.0.0.1')
    let encoded = 0
    const encode = () => {
      encoded++
      return 'x'.repeat(length)
    }
    answers.requireRoom(target)
    answers.requireRoom(target)
    expect(answers.encode(encode, generation, target)).toHaveLength(length)
    expect(() => answers.encode(encode, generation, target)).toThrow('has no room')
    expect(() => answers.requireRoom(target)).toThrow('has no room')
    expect(encoded).toBe(1)
  })

  it('other callers have room of their own', () => {
    const { targetOf } = createTargets()
    const answers = answersOf({} as Service, () => 'key')
    let encoded = 0
    const encode = () => {
      encoded++
      return 'x'.repeat(length)
    }
    for (const address of ['10.0.0.1', '10.0.0.2']) {
      answers.requireRoom(targetOf(address))
      answers.encode(encode, generation, targetOf(address))
    }
    // Only a task of the same generation is certainly the same text.
    expect(encoded).toBe(generation === undefined ? 2 : 1)
  })
})
