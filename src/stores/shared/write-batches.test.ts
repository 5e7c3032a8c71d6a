import { expect, test } from 'vitest'
import { StoreUnavailable } from '../../core/protocol/errors.ts'
import type { StoreErrors } from './database.ts'
import { encodeRowPerEvent } from './event-batches.ts'
import { createWriteBatcher, type Write } from './write-batches.ts'

test('waiting writes are sent in one batch, in their order', async () => {
  const { batcher, sent } = open(async (writes) => writes.map(() => 'stored'))
  expect(await Promise.all(['a', 'b', 'c'].map((id) => batcher.write(write(id))))).toEqual([
    'stored',
    'stored',
    'stored',
  ])
  expect(sent).toEqual([['a', 'b', 'c']])
})

test('two writes to one task, or for one claim, are never in one batch and keep their order', async () => {
  const { batcher, sent } = open(async (writes) => writes.map(() => 'stored'))
  const claimed = (id: string) => ({ ...write(id), claims: [{ key: 'k', digest: 'd' }] })
  await Promise.all(['a', 'a', 'b'].map((id) => batcher.write(write(id))))
  expect(sent).toEqual([['a', 'b'], ['a']])
  await Promise.all([batcher.write(claimed('x')), batcher.write(claimed('y')), batcher.write(write('y'))])
  expect(sent.slice(2)).toEqual([['x'], ['y'], ['y']])
})

test('a write whose response was lost is sent again, and lookedUp up if it is refused', async () => {
  let tries = 0
  const lookedUp: string[] = []
  const { batcher, sent } = open(
    async (writes) => {
      if (++tries === 1) throw new Error('Connection terminated unexpectedly')
      return writes.map(() => 'behind')
    },
    async ({ taskId }) => {
      lookedUp.push(taskId)
      return taskId === 'a' ? 'stored' : undefined
    },
  )
  expect(await Promise.all([batcher.write(write('a')), batcher.write(write('b'))])).toEqual(['stored', 'behind'])
  expect(sent).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(lookedUp).toEqual(['a', 'b'])
})

test('a refused write is not lookedUp up if no response was lost', async () => {
  const { batcher } = open(
    async (writes) => writes.map(() => 'behind'),
    async () => 'stored',
  )
  expect(await batcher.write(write('a'))).toBe('behind')
})

test('an invalid write does not fail the other writes of its batch', async () => {
  const { batcher } = open(async (writes) => {
    if (writes.some(({ taskId }) => taskId === 'bad')) throw new ServerError(false)
    return writes.map(() => 'stored')
  })
  const outcomes = await Promise.allSettled(['a', 'bad', 'b'].map((id) => batcher.write(write(id))))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('a write that conflicts with another transaction is retried', async () => {
  let tries = 0
  const { batcher } = open(async (writes) => {
    if (++tries < 3) throw new ServerError(true)
    return writes.map(() => 'stored')
  })
  expect(await batcher.write(write('a'))).toBe('stored')
})

test('waiting writes fail if the database stays unreachable', async () => {
  const { batcher } = open(async () => {
    throw new Error('connect ECONNREFUSED')
  })
  await expect(batcher.write(write('a'))).rejects.toMatchObject({
    code: 'unavailable',
    cause: { cause: { message: 'connect ECONNREFUSED' } },
  })
  await batcher.idle()
})

function open(
  send: (writes: readonly Write[]) => Promise<string[]>,
  find: (write: Write) => Promise<string | undefined> = async () => undefined,
) {
  const sent: string[][] = []
  const batcher = createWriteBatcher<Write, string>({
    async send(writes) {
      sent.push(writes.map(({ taskId }) => taskId))
      return await send(writes)
    },
    find,
    isStored: (answer) => answer === 'stored',
    patience: 100,
    errors,
    closed: new AbortController().signal,
  })
  return { batcher, sent }
}

const errors: StoreErrors = {
  isDisconnected: (error) => !(error instanceof ServerError),
  isConflict: (error) => error instanceof ServerError && error.isConflict,
  explain: (cause) => new StoreUnavailable(new Error('the store cannot be used', { cause })),
}

function write(taskId: string): Write {
  return { taskId, after: 0, batch: encodeRowPerEvent([{ type: 'cancel' }]), token: 1 }
}

class ServerError extends Error {
  readonly isConflict: boolean

  constructor(isConflict: boolean) {
    super('refused')
    this.isConflict = isConflict
  }
}
