import express from 'express'
import { describe, expect, it } from 'vitest'
import { A2AClientImpl } from '../../src/entries/client-compat.ts'
import { AgentLoop } from '../../src/entries/loop-compat.ts'
import { collect } from '../support/async.ts'
import { scriptedModel, textReply } from '../support/models/scripted-model.ts'
import { listenOnFreePort } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const message = { kind: 'message', role: 'user', messageId: 'm-1', parts: [{ kind: 'text', text: 'Sales?' }] }

describe('AgentLoop', () => {
  /** An Express server that writes the events of 0.3 itself. */
  async function startExpress(): Promise<string> {
    const app = express().use(express.json())
    app.post('/v1/message\\:stream', (request, response) => {
      const ids = { taskId: 'task-1', contextId: 'context-1' }
      const write = (event: object) => response.write(`data: ${JSON.stringify({ ...event, ...ids })}\n\n`)
      response.setHeader('content-type', 'text/event-stream')
      const loop = new AgentLoop({ model: scriptedModel(textReply('Up by ', '15 %')) })
      loop.invoke(request.body.message.parts, ids).subscribe({
        next(event) {
          if (event.type === 'status-update') {
            write({ kind: 'status-update', status: { state: event.state }, final: event.final })
          } else {
            const { artifactId, chunk, append, lastChunk } = event
            write({
              kind: 'artifact-update',
              artifact: { artifactId, parts: [{ kind: 'text', text: chunk }] },
              append,
              lastChunk,
            })
          }
        },
        complete: () => response.end(),
      })
    })
    app.post('/v1/message\\:send', async (request, response) => {
      const loop = new AgentLoop({ model: scriptedModel(textReply('Up by ', '15 %')) })
      const { artifacts } = await loop.invokeSync(request.body.message.parts, { taskId: 't', contextId: 'c' })
      response.json({ kind: 'task', artifacts })
    })
    const { createServer } = await import('node:http')
    return `http://127.0.0.1:${await listenOnFreePort(createServer(app))}`
  }

  const post = async (url: string) =>
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })

  it('emits the statuses and artifact chunks that an Express server streams', async () => {
    const text = await (await post(`${await startExpress()}/v1/message:stream`)).text()
    const events = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
    const chunks = events.filter(({ kind }) => kind === 'artifact-update')
    expect(chunks.map(({ artifact }) => artifact.parts[0].text).join('')).toBe('Up by 15 %')
    expect(chunks.map(({ append }) => append).slice(0, 2)).toEqual([false, true])
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true })
  })

  it('returns the artifacts of a completed task at once', async () => {
    const task = await (await post(`${await startExpress()}/v1/message:send`)).json()
    expect(JSON.stringify(task.artifacts)).toContain('15 %')
  })

  it('rejects if the task fails, and refuses parts of an unknown kind', async () => {
    const failing = new AgentLoop({ model: scriptedModel() })
    await expect(failing.invokeSync(message.parts, { taskId: 't', contextId: 'c' })).rejects.toThrow()
    expect(() => failing.invoke([{ kind: 'hologram' }], { taskId: 't', contextId: 'c' })).toThrow('parts[0]: expected')
  })
})

describe('A2AClientImpl', () => {
  it('streams and sends in the JSON of 0.3, whatever the agent speaks', async () => {
    for (const speak of ['v1.0', 'v0.3', 'v0.2'] as const) {
      const { server } = await startTestServer(
        async (turn) => {
          await turn.status('working')
          await turn.artifact('answer').close(`You asked: ${turn.text}`)
        },
        { dialects: { speak: [speak] } },
      )
      const client = new A2AClientImpl(server.url, 'token-123')
      const events = await collect(client.streamMessage({ message }))
      expect(events[0]).toMatchObject({ kind: 'task' })
      expect(events.at(-1)).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } })
      const task = await client.sendMessage({ message: { ...message, messageId: 'm-2' } })
      expect(task).toMatchObject({
        kind: 'task',
        artifacts: [{ parts: [{ kind: 'text', text: 'You asked: Sales?' }] }],
      })
    }
  })

  it('fails with the error of the agent, and connects again after a failure', async () => {
    const client = new A2AClientImpl('http://127.0.0.1:1')
    for (const _ of [1, 2]) {
      await expect(client.sendMessage({ message })).rejects.toMatchObject({ name: 'A2AError', code: 'unavailable' })
    }
  })
})
