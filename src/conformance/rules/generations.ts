import { isObject } from '../../core/base/json.ts'
import { describe, expectError, requireTask, sentTask } from '../answers.ts'
import { messageParams } from '../requests.ts'
import type { Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'

/** A generation that no task reaches. */
const unreached = '999999'

const rule = { versions: ['1.1'] } as const

/** Rules about the generation of a task, which came with 1.1. */
export const generationRules: readonly Rule[] = [
  {
    ...rule,
    id: 'generation/task',
    level: 'MUST',
    title: 'A task has its generation.',
    sends: 'a get for a completed task',
    expects: 'a task whose generation is an integer from 1 on, written as text',
    async check(session) {
      const { id } = await session.completedTask()
      const { wire } = requireTask(await session.wire.call('get', { id }), session.wire.target)
      const { generation } = wire
      const isRight = typeof generation === 'string' && /^[1-9]\d*$/.test(generation)
      expectThat(isRight, `The generation is ${JSON.stringify(generation)}.`)
    },
  },
  {
    ...rule,
    id: 'generation/stream',
    level: 'MUST',
    title: 'Every event of a stream has the next generation.',
    sends: 'a message as a stream',
    expects: 'events whose generation is one more than that of the event before',
    async check(session) {
      measureIf(session.has('streaming'), 'The agent does not declare streams.')
      const { wire } = session
      const stream = await wire.open('stream', messageParams({ text: await session.text('task') }, wire.target))
      const numbers = (await stream.rest()).map(({ result }) => generationIn(result))
      await stream.close()
      measureIf(numbers.length > 1, 'The stream has fewer than two events.')
      const first = numbers[0] ?? Number.NaN
      const isDense = first > 0 && numbers.every((number, index) => number === first + index)
      expectThat(isDense, `The generations are ${numbers.join(', ')}.`)
    },
  },
  {
    ...rule,
    id: 'generation/long-poll',
    level: 'MUST',
    title: 'A get with an older generation is answered with the task.',
    sends: 'a get for a waiting task with the generation before its own as currentGeneration',
    expects: 'the task with its generation, at once',
    async check(session) {
      const { id, generation } = await waitingTask(session)
      const answer = await session.wire.call('get', { id, currentGeneration: `${generation - 1}` })
      expectThat(!answer.isError, `The agent answered ${describe(answer)}.`)
      const { wire } = requireTask(answer, session.wire.target)
      expectThat(Number(wire.generation) === generation, `The generation is ${JSON.stringify(wire.generation)}.`)
    },
  },
  {
    ...rule,
    id: 'generation/mismatch',
    level: 'MUST',
    title: 'A message for another generation is refused.',
    sends: `a message to a waiting task with ${unreached} as ifGenerationMatch`,
    expects: 'TaskGenerationMismatch',
    async check(session) {
      const { id } = await waitingTask(session)
      const input = { text: await session.text('inputRequired'), taskId: id, ifGenerationMatch: unreached }
      expectError({ exchange: await session.send(input), name: 'TaskGenerationMismatch' }, session.wire.target)
    },
  },
  {
    ...rule,
    id: 'generation/match',
    level: 'MUST',
    title: 'A message for the generation of its task is accepted.',
    sends: 'a message to a waiting task with its generation as ifGenerationMatch',
    expects: 'the task',
    async check(session) {
      const { id, generation } = await waitingTask(session)
      const input = { text: await session.text('inputRequired'), taskId: id, ifGenerationMatch: `${generation}` }
      const answer = await session.send(input)
      expectThat(sentTask(answer, session.wire.target)?.id === id, `The agent answered ${describe(answer)}.`)
    },
  },
]

async function waitingTask(session: ConformanceSession) {
  const { id, wire } = await session.waitingTask()
  const generation = Number(wire.generation)
  measureIf(generation > 0, 'The task has no generation.')
  return { id, generation }
}

function generationIn(result: unknown): number {
  const [member] = isObject(result) ? Object.values(result) : []
  return Number(isObject(member) ? member.generation : undefined)
}
