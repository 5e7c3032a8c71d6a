import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import type { Mode } from '../../src/gateway/options.ts'
import { NotInstalled } from '../interop/live/install.ts'
import { peers } from '../interop/live/peers.ts'
import { collect } from '../support/async.ts'
import { startGateway } from './support.ts'

const peer = peers.find(({ name }) => name === 'a2a-sdk-0.3')
const folder = fileURLToPath(new URL('../../node_modules/.cache/interop/a2a-sdk-0.3', import.meta.url))

/** Undefined on a machine without Python, or without a way to its packages. */
const installation = await peer?.install(folder).catch((error: unknown) => {
  if (error instanceof NotInstalled) return undefined
  throw error
})

/** The agent of the official Python SDK over one transport. */
async function startPythonAgent(transport: string): Promise<string> {
  const server = installation && peer?.servers(installation).find((each) => each.transport === transport)
  if (!server) throw new Error(`There is no server for ${transport}.`)
  const [command, ...args] = server.command
  const child = spawn(command, [...args, transport], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  return `${line}`.trim()
}

const cases = (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).flatMap((transport) =>
  (['durable', 'pass-through'] as const).map((mode) => ({ transport, mode })),
)

describe.runIf(installation).each<{ transport: string; mode: Mode }>(cases)(
  'a Python 0.3 agent over $transport behind a $mode gateway',
  ({ transport, mode }) => {
    it.each(['v1.0', 'v0.3', 'v0.2'] as const)('answers %s callers', { timeout: 120_000 }, async (dialect) => {
      const gateway = await startGateway({ agents: { python: { url: await startPythonAgent(transport), mode } } })
      const client = await connect(gateway.url, { dialects: [dialect] })
      expect((await client.send('echo hello')).text).toBe('hello')

      let streamed = ''
      for await (const event of client.stream('stream')) {
        const artifacts =
          event.type === 'artifact' ? [event.artifact] : event.type === 'task' ? event.task.artifacts : []
        for (const part of artifacts.flatMap(({ parts }) => parts)) streamed += 'text' in part ? part.text : ''
      }
      expect(streamed).toBe('onetwothree')

      const asked = await client.send('ask')
      expect(asked.task?.status.state).toBe('input-required')
      expect(asked.text).toContain('Which colour?')
      const answered = await client.send('blue', { taskId: asked.task?.id ?? '' })
      expect(answered.task?.status.state).toBe('completed')
      expect(answered.text).toContain('You chose blue.')
      expect((await client.task(asked.task?.id ?? '').get()).status.state).toBe('completed')

      const file = { raw: Buffer.from('bytes').toString('base64'), mediaType: 'text/plain', filename: 'a.txt' }
      const returned = await client.send([{ text: 'file' }, file])
      expect(returned.task?.artifacts[0]?.parts[0]).toMatchObject({ raw: file.raw })

      const waiting = await client.send('wait', { returnImmediately: true })
      const canceled = await client.task(waiting.task?.id ?? '').cancel()
      expect(canceled.status.state).toBe('canceled')
      if (mode === 'durable' && dialect === 'v1.0')
        expect((await collect(client.listTasks())).length).toBeGreaterThanOrEqual(4)
    })
  },
)
