import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { createDatabase } from '../support/postgres/database.ts'

const script = fileURLToPath(new URL('../../examples/replicas/agent.mjs', import.meta.url))
const isBuilt = existsSync(new URL('../../dist/stores/postgres/index.js', import.meta.url))

const upTo15 = Array.from({ length: 15 }, (_, index) => `${index + 1}`)

async function startReplica(url: string) {
  const env = { ...process.env, DATABASE_URL: url, PORT: '0' }
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const line = once(createInterface(child.stdout), 'line')
  const [address] = await Promise.race([line, exited.then(() => Promise.reject(new Error('it did not start')))])
  return { client: await connect(`${address}`), stop: () => child.kill('SIGTERM'), exited }
}

describe.skipIf(!isBuilt)('the example of replicas', () => {
  it('counts on one, is followed on the other, and is finished although the first is told to go', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const [one, two] = await Promise.all([startReplica(database.url), startReplica(database.url)])
    const begun = await one.client.send('15', { returnImmediately: true })
    if (begun.type !== 'task') throw new Error('expected a task')
    const followed = two.client.task(begun.task.id)
    one.stop()
    const ended = await followed.wait({ timeout: 50_000 })
    expect(ended.task?.status.state).toBe('completed')
    expect(ended.artifacts.map(({ text }) => text.trim().split(' '))).toEqual([upTo15])
    expect((await one.exited)[0]).toBe(0)
  })
})
