import { expect, test } from 'vitest'
import { encodeSingly } from '../event-rows.ts'
import type { Write } from './write-batches.ts'
import { createWriteBatcher } from './write-batches.ts'

test('writes that wait together travel together, and in their order', async () => {
  const { groups, sent } = open(async (writes) => writes.map(() => 'stored'))
  expect(await Promise.all(['a', 'b', 'c'].map((id) => groups.write(write(id))))).toEqual([
    'stored',
    'stored',
    'stored',
  ])
  expect(sent).toEqual([['a', 'b', 'c']])
})

test('two writes to one task, or for one claim, never travel together nor overtake each other', async () => {
  const { groups, sent } = open(async (writes) => writes.map(() => 'stored'))
  const claimed = (id: string) => ({ ...write(id), claims: [{ key: 'k', digest: 'd' }] })
  await Promise.all(['a', 'a', 'b'].map((id) => groups.write(write(id))))
  expect(sent).toEqual([['a', 'b'], ['a']])
  await Promise.all([groups.write(claimed('x')), groups.write(claimed('y')), groups.write(write('y'))])
  expect(sent.slice(2)).toEqual([['x'], ['y'], ['y']])
})

test('a write whose answer was lost is sent again, and a look tells whether it was stored the first time', async () => {
  let tries = 0
  const looked: string[] = []
  const { groups, sent } = open(
    async (writes) => {
      if (++tries === 1) throw new Error('Connection terminated unexpectedly')
      return writes.map(() => 'behind')
    },
    async ({ taskId }) => {
      looked.push(taskId)
      return taskId === 'a' ? 'stored' : undefined
    },
  )
  expect(await Promise.all([groups.write(write('a')), groups.write(write('b'))])).toEqual(['stored', 'behind'])
  expect(sent).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(looked).toEqual(['a', 'b'])
})

test('a write that was refused without doubt is not looked for', async () => {
  const { groups } = open(
    async (writes) => writes.map(() => 'behind'),
    async () => 'stored',
  )
  expect(await groups.write(write('a'))).toBe('behind')
})

test('what is wrong with one write is not the trouble of those that travel with it', async () => {
  const { groups } = open(async (writes) => {
    if (writes.some(({ taskId }) => taskId === 'bad')) throw serverError('22000')
    return writes.map(() => 'stored')
  })
  const outcomes = await Promise.allSettled(['a', 'bad', 'b'].map((id) => groups.write(write(id))))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('who collides with somebody else tries again', async () => {
  let tries = 0
  const { groups } = open(async (writes) => {
    if (++tries < 3) throw serverError('23505')
    return writes.map(() => 'stored')
  })
  expect(await groups.write(write('a'))).toBe('stored')
})

test('when the database stays away, what waits is refused in the end', async () => {
  const { groups } = open(async () => {
    throw new Error('connect ECONNREFUSED')
  })
  await expect(groups.write(write('a'))).rejects.toThrow(
    /schema test of PostgreSQL cannot be used: connect ECONNREFUSED/,
  )
  await groups.settled()
})

function open(
  send: (writes: readonly Write[]) => Promise<string[]>,
  find: (write: Write) => Promise<string | undefined> = async () => undefined,
) {
  const sent: string[][] = []
  const groups = createWriteBatcher<Write, string>({
    async send(writes) {
      sent.push(writes.map(({ taskId }) => taskId))
      return await send(writes)
    },
    find,
    isStored: (answer) => answer === 'stored',
    patience: 100,
    schema: 'test',
    closed: new AbortController().signal,
  })
  return { groups, sent }
}

function write(taskId: string): Write {
  return { taskId, after: 0, batch: encodeSingly([{ type: 'cancel' }]), token: 1 }
}

function serverError(code: string): Error {
  return Object.assign(new Error('refused'), { code, severity: 'ERROR' })
}
