import { expect, it } from 'vitest'
import { createMemoryOperatorState } from './operator-state.ts'
import { createRecordBatch } from './record-batch.ts'

function open(limit: number) {
  const { records } = createMemoryOperatorState()
  const errors: unknown[] = []
  const options = { kind: 'envelope', keep: 100, limit, onError: (error: unknown) => void errors.push(error) } as const
  const batch = createRecordBatch({ ...options, records: () => records })
  const add = (value: string, isUrgent = false) => batch.add(() => ({ list: '', at: 0, value }), isUrgent)
  const stored = async () => (await records.read('envelope', { limit: 100 })).map(({ value }) => value)
  return { batch, add, stored, options, errors }
}

it('records are stored together after a second, in their order', async () => {
  const { add, stored } = open(10)
  add('one')
  add('two')
  expect(await stored()).toEqual([])
  await expect.poll(stored, { timeout: 3_000 }).toEqual(['one', 'two'])
})

it('beyond the limit, urgent records replace others', async () => {
  const { batch, add, stored } = open(3)
  for (const value of ['a', 'b', 'c', 'd']) add(value)
  add('urgent', true)
  await batch.flush()
  expect(await stored()).toEqual(['b', 'c', 'urgent'])
  for (let at = 0; at < 5; at++) add(`urgent ${at}`, true)
  await batch.flush()
  expect(await stored()).toHaveLength(6)
})

it('a store that fails is reported, and does not throw', async () => {
  const { options, errors } = open(3)
  const failure = new Error('unreachable')
  const failing = createRecordBatch({
    ...options,
    records: () => {
      throw failure
    },
  })
  failing.add(() => ({ list: '', at: 0, value: 'x' }))
  await failing.flush()
  expect(errors).toEqual([failure])
})
