import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../support/temporary-directory.ts'

interface SentTask {
  readonly id: string
  /** The process that ran the agent. */
  readonly pid: number
}

it('workers of node:cluster share a port and a SQLite file, and a killed one loses no answered task', async () => {
  const primary = fork(fileURLToPath(new URL('./cluster-child.ts', import.meta.url)), [await temporaryDirectory()])
  onTestFinished(() => void primary.kill('SIGKILL'))
  const ports = [await nextPort(), await nextPort()]
  const [port] = ports
  expect(new Set(ports).size).toBe(1)

  const before = await sendMany(20)
  const pids = new Set(before.map(({ pid }) => pid))
  expect(pids.size).toBe(2)
  const restarted = nextPort()
  const [killed = 0] = pids
  process.kill(killed, 'SIGKILL')
  expect(await restarted).toBe(port)

  const after = await sendMany(20)
  expect(after.map(({ pid }) => pid)).not.toContain(killed)
  expect(new Set(after.map(({ pid }) => pid)).size).toBe(2)
  for (const { id } of before) expect(await call('GetTask', { id })).toMatchObject({ id })

  async function nextPort(): Promise<number> {
    const [message] = await once(primary, 'message')
    return message as number
  }

  /** Each on a connection of its own, which the primary gives to the workers in turn. */
  function sendMany(count: number): Promise<readonly SentTask[]> {
    return Promise.all(Array.from({ length: count }, sendTask))
  }

  async function sendTask(): Promise<SentTask> {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const { task } = await call('SendMessage', { message })
    return { id: task.id, pid: task.artifacts[0].parts[0].data.pid }
  }

  async function call(method: string, params: object) {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', connection: 'close' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
    return (await response.json()).result
  }
})
