import { describe, expect, it } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { describeEvent } from '../contracts/service/contract.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { collect, until } from '../support/async.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

async function startUpstream() {
  return (await startTestServer(count, { profile })).server.url
}

describe.each<Mode>(['durable', 'pass-through'])('a %s agent', (mode) => {
  async function open() {
    const url = await startUpstream()
    const gateway = await startGateway({ agents: { ada: { url, mode } } })
    return { gateway, client: await connect(gateway.url) }
  }

  it('answers like the agent behind the gateway', async () => {
    const { client } = await open()
    expect(client.card).toMatchObject({ name: 'Ada', skills: [{ id: 'count' }] })
    expect(await client.send('hello')).toMatchObject({ type: 'message', text: 'hi' })
    const { task, text } = await client.send('count')
    expect(text).toBe('Counted')
    expect(task?.artifacts.map(({ parts }) => parts)).toHaveLength(1)
    expect((await client.task(task?.id ?? '').get()).status).toEqual(task?.status)
  })
  it('streams the events of the agent in order', async () => {
    const { client } = await open()
    const events = await collect(client.stream('count'))
    expect(events.map(describeEvent).filter((text) => !/working|submitted/.test(text))).toEqual([
      'artifact one',
      'artifact two, more',
      'artifact three, more, last',
      'status completed: Counted',
    ])
  })
  it('asks the caller and passes on the answer', async () => {
    const { client } = await open()
    const { task } = await client.send('ask')
    expect(task?.status.state).toBe('input-required')
    const answered = await client.send('count', { taskId: task?.id ?? '' })
    expect(answered.task).toMatchObject({ id: task?.id, status: { state: 'completed' } })
  })
  it('cancels the task of the agent', async () => {
    const { client } = await open()
    const { task } = await client.send('wait', { returnImmediately: true })
    const id = task?.id ?? ''
    await until(async () => (await client.task(id).get()).status.state === 'working')
    expect((await client.task(id).cancel()).status.state).toBe('canceled')
    expect((await collect(client.listTasks()))[0]).toMatchObject({ id, status: { state: 'canceled' } })
  })
})
