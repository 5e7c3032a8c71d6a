import { expect, it } from 'vitest'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { connect } from '../../../src/entries/client.node.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { jsonRpc } from '../../support/wire/json-rpc.ts'

/** A task that has expired and left a tombstone. */
async function createExpiredTask() {
  const log = createMemoryLog()
  const { server, wire } = await startTestServer((turn) => turn.status('completed', 'secret'), { log })
  const { id } = await wire.sendTask('go')
  await log.expire(Date.now() + 10_000, 10)
  return { url: server.url, wire, id }
}

it('an expired task is reported in every dialect with the code of an unknown task', async () => {
  const { url, wire, id } = await createExpiredTask()
  const { error } = await wire.call('GetTask', { id })
  expect(error).toMatchObject({ code: -32001, message: expect.stringContaining(`Task ${id} has expired`) })
  expect(error?.data).toMatchObject([{ reason: 'TASK_EXPIRED', domain: 'parley', metadata: { ended: /^2/ } }])

  const v03 = await jsonRpc(url, { 'a2a-version': '0.3' }).call('tasks/get', { id })
  expect(v03.error).toMatchObject({ code: -32001, message: 'Task not found' })
  expect(JSON.stringify(v03.error)).toContain('has expired')
  const v01 = await jsonRpc(`${url}/`).call('tasks/get', { id, historyLength: 0 })
  expect(v01.error).toMatchObject({ code: -32001 })
  expect(JSON.stringify(v01.error)).toContain('has expired')

  const rest = await fetch(`${url}/tasks/${id}`, { headers: { 'a2a-version': '1.0' } })
  expect(rest.status).toBe(404)
  expect(await rest.json()).toMatchObject({ error: { status: 'NOT_FOUND', details: [{ reason: 'TASK_EXPIRED' }] } })
})

it('the client distinguishes an expired task from an unknown one', async () => {
  const { url, id } = await createExpiredTask()
  const agent = await connect(url)
  await expect(agent.task(id).get()).rejects.toMatchObject({ code: 'task-expired' })
  await expect(agent.task('unknown').get()).rejects.toMatchObject({ code: 'task-not-found' })
})
