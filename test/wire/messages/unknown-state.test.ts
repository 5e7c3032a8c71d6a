import { beforeAll, describe, expect, it } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import type { Server } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'
import { streamIn } from '../../support/wire/dialect-streams.ts'

let server: Server

/** An agent that loses track of its task. */
async function loseTrack(turn: Turn): Promise<undefined> {
  await turn.status('working', 'looking')
  await turn.status('unknown', 'lost')
}

beforeAll(async () => {
  server = await serve(agent({ name: 'Test' }, loseTrack), {
    port: 0,
    signals: false,
    log: createMemoryLog(),
    logger: silentLogger,
    drainDeadline: 0,
    grpc: true,
  })
  return () => server.close()
})

describe.each(dialectBindings)('the state unknown in %s over %s', (...target) => {
  const [dialect] = target
  const wireState = { 'v1.0': 'failed', 'v0.3-proto': 'unspecified' }[dialect as string] ?? 'unknown'

  it('the state ends a stream, under the name that the dialect has for it', async () => {
    const last = (await collect(streamIn(target, server, 'go'))).at(-1)
    expect(last).toMatchObject({ type: 'status', state: wireState, text: 'lost' })
    if (dialect !== 'v1.0') expect(last).toMatchObject({ final: true })
  })

  it('the client reads the state, and the task has ended', async () => {
    const service = await openService(server.url.replace(/\/$/, ''), ...target)
    const outcome = await service.sendMessage({ message: messageOf('go') }, callOf())
    expect(outcome).toMatchObject({ type: 'task', task: { status: { state: 'unknown' } } })
    const { id } = outcome.type === 'task' ? outcome.task : { id: '' }
    await expect(service.cancelTask({ taskId: id }, callOf())).rejects.toMatchObject({ code: 'task-not-cancelable' })
  })
})

describe('lists and clients', () => {
  it('tasks are listed by the state in versions that have it', async () => {
    const list = async (status: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/list', params: { status } })
      const headers = { 'content-type': 'application/json', 'a2a-version': '0.3' }
      return (await (await fetch(server.url, { method: 'POST', headers, body })).json()).result
    }
    const task = await (await connect(server.url)).send('go')
    expect(task.task?.status.state).toBe('unknown')
    const { tasks, totalSize } = await list('unknown')
    expect(totalSize).toBeGreaterThan(0)
    expect(new Set(tasks.map((listed: { status: { state: string } }) => listed.status.state))).toEqual(
      new Set(['unknown']),
    )
    expect((await list('working')).tasks).toEqual([])
  })

  it('the client cannot filter by the state in 1.0, which does not have it', async () => {
    const service = await openService(server.url.replace(/\/$/, ''), 'v1.0', 'JSONRPC')
    await expect(service.listTasks({ state: 'unknown' }, callOf())).rejects.toMatchObject({
      code: 'unsupported-operation',
    })
  })
})
