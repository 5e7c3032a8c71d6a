import { describe, expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import type { Turn } from '../../agent/turn.ts'
import { StoreUnavailable } from '../../protocol/errors.ts'
import { textOf } from '../../protocol/model.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

/** A log that stores output only when the test lets it. */
function createGatedLog() {
  const memory = createMemoryLog()
  const gate = deferred()
  const log: TaskLog = {
    ...memory,
    async create(task, events, options) {
      if (events.some(({ type }) => type === 'status' || type === 'artifact')) await gate.promise
      return await memory.create(task, events, options)
    },
    async append(taskId, after, events, options) {
      await gate.promise
      return await memory.append(taskId, after, events, options)
    },
  }
  return { log, open: () => gate.resolve() }
}

describe('output that an agent awaits one by one', () => {
  it('output that an agent awaits one by one does not wait for the store until the window of 256 events is full', async () => {
    const gated = createGatedLog()
    let written = 0
    const { service } = createTestRuntime(
      async (turn) => {
        const out = turn.artifact('numbers')
        for (; written < 1_000; written++) await out.write(`${written} `)
      },
      { log: gated.log },
    )
    const answer = send(service, 'count')
    await until(() => written > 200)
    await new Promise(setImmediate)
    const before = written
    expect(before).toBeLessThan(256)
    gated.open()
    const [artifact] = taskOf(await answer).artifacts
    const texts = artifact?.parts.map((part) => ('text' in part ? part.text : ''))
    expect(texts?.join('')).toBe(Array.from({ length: 1_000 }, (_, number) => `${number} `).join(''))
  })

  it('output that an agent awaits one by one waits for the store as soon as the window holds more than a million characters', async () => {
    const gated = createGatedLog()
    let written = 0
    const { service } = createTestRuntime(
      async (turn) => {
        const out = turn.artifact('large')
        for (; written < 10; written++) await out.write('x'.repeat(300_000))
      },
      { log: gated.log },
    )
    const answer = send(service, 'go')
    await until(() => written === 3)
    await new Promise(setImmediate)
    expect(written).toBe(3)
    gated.open()
    expect(textOf(taskOf(await answer).artifacts[0] ?? { parts: [] })).toHaveLength(10 * 300_000)
  })

  it('output that an agent awaits one by one is stored by full windows', async () => {
    const memory = createMemoryLog()
    const writes: number[] = []
    const log: TaskLog = {
      ...memory,
      async append(taskId, after, events, options) {
        writes.push(events.length)
        await new Promise(setImmediate)
        return await memory.append(taskId, after, events, options)
      },
    }
    const { service } = createTestRuntime(
      async (turn) => {
        const out = turn.artifact('numbers')
        for (let number = 0; number < 2_000; number++) await out.write(`${number} `)
      },
      { log },
    )
    await send(service, 'count')
    expect(writes.filter((events) => events < 100).length).toBeLessThanOrEqual(2)
    expect(writes.length).toBeLessThanOrEqual(10)
  })

  it('output that an agent awaits one by one is invisible to callers until it is stored', async () => {
    const gated = createGatedLog()
    const isWritten = deferred()
    const { service } = createTestRuntime(
      async (turn) => {
        await turn.status('working')
        await turn.data({ answer: 42 })
        isWritten.resolve()
      },
      { log: gated.log },
    )
    const stream = service.streamMessage({ message: messageOf('go') }, callOf())
    const first = stream.next()
    await isWritten.promise
    const race = await Promise.race([first, new Promise((resolve) => setTimeout(resolve, 50, 'nothing'))])
    expect(race).toBe('nothing')
    gated.open()
    expect((await first).value).toMatchObject({ type: 'task' })
    await stream.return(undefined)
  })

  it('output that an agent awaits one by one waits for the store each time with the option durability: each', async () => {
    const gated = createGatedLog()
    let written = 0
    const { service } = createTestRuntime(
      async (turn) => {
        await turn.status('working')
        written++
        await turn.data({})
        written++
      },
      { log: gated.log, durability: 'each' },
    )
    const answer = send(service, 'go')
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(written).toBe(0)
    gated.open()
    await answer
    expect(written).toBe(2)
  })
})

describe('what waits until everything before it is stored', () => {
  const acts: Record<string, (turn: Turn) => Promise<unknown>> = {
    flush: (turn) => turn.flush(),
    step: (turn) => turn.step('work', () => 1),
    fail: (turn) => turn.fail('no'),
    requireInput: (turn) => turn.requireInput('What?'),
  }
  const cases = Object.entries(acts).flatMap(([name, act]) => [
    { name, act, recovery: 'fail' as const },
    { name, act, recovery: 'resume' as const },
  ])

  it.each(cases)('turn.$name with the policy $recovery', async ({ act, recovery }) => {
    const gated = createGatedLog()
    const steps: string[] = []
    const { service } = createTestRuntime(
      async (turn) => {
        await turn.status('working')
        await turn.data({ before: true })
        steps.push('written')
        await act(turn)
        steps.push('acted')
      },
      { log: gated.log, recovery },
    )
    const answer = send(service, 'go')
    await until(() => steps.includes('written'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(steps).toEqual(['written'])
    gated.open()
    await answer
    await until(() => steps.includes('acted'))
  })

  it('a step does not run before the output ahead of it is stored', async () => {
    const gated = createGatedLog()
    let ran = false
    const { service } = createTestRuntime(
      async (turn) => {
        await turn.data({ before: true })
        await turn.step('pay', () => {
          ran = true
        })
      },
      { log: gated.log },
    )
    const answer = send(service, 'go')
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(ran).toBe(false)
    gated.open()
    await answer
    expect(ran).toBe(true)
  })

  it('flush does not wait for what concurrent code emits after it', async () => {
    let isFlushed = false
    const { service } = createTestRuntime(async (turn) => {
      const out = turn.artifact('endless')
      const emitting = (async () => {
        while (!isFlushed) await out.write('x')
      })()
      await out.write('first')
      await turn.flush()
      isFlushed = true
      await emitting
    })
    expect(taskOf(await send(service, 'go')).status.state).toBe('completed')
  })
})

it('an event that could not be stored rejects the next one, and the task fails', async () => {
  const memory = createMemoryLog()
  let failures = 0
  const log: TaskLog = {
    ...memory,
    append(taskId, after, events, options) {
      if (failures > 0 || !events.some(({ type }) => type === 'artifact')) {
        return memory.append(taskId, after, events, options)
      }
      failures++
      return Promise.reject(new StoreUnavailable(new Error('the disk is full')))
    },
  }
  const errors: unknown[] = []
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.data({ lost: true })
      await new Promise((resolve) => setTimeout(resolve, 20))
      await turn.data({ late: true }).catch((error) => errors.push(error))
      await turn.flush().catch((error) => errors.push(error))
      return 'all is well'
    },
    { log, cancelGrace: 1_000 },
  )
  const task = taskOf(await send(service, 'go'))
  expect(task.status.state).toBe('failed')
  await until(() => errors.length > 0)
  for (const error of errors) expect(String(error)).toMatch(/cannot be used|is over/)
})

it('an event that cannot follow the phase is rejected, also within the window', async () => {
  const errors: string[] = []
  const { service } = createTestRuntime(async (turn) => {
    void turn.status('completed')
    await turn.status('working').catch((error) => errors.push(String(error)))
  })
  expect(taskOf(await send(service, 'go')).status.state).toBe('completed')
  expect(errors).toEqual([expect.stringContaining('"working" cannot follow "completed"')])
})
