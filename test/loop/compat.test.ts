import { createServer } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MockLanguageModelV4 } from 'ai/test'
import express from 'express'
import { lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { A2AClientImpl, type TaskStatusUpdateEvent as ClientStatusUpdate } from '../../src/entries/client-compat.ts'
import {
  type A2AEvent,
  AgentLoop,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type TaskStatusUpdateEvent,
} from '../../src/entries/loop-compat.ts'
import { createAgentLoop } from '../../src/loop/agent-loop.ts'
import { collect } from '../support/async.ts'
import { scriptedModel, textReply } from '../support/models/scripted-model.ts'
import { listenOnFreePort } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const message = { kind: 'message', role: 'user', messageId: 'm-1', parts: [{ kind: 'text', text: 'Sales?' }] }

describe('AgentLoop', () => {
  /** The routes of an Express server that writes the events of 0.3 itself, and was not written for Parley. */
  async function startSample(): Promise<string> {
    const { default: router } = await import(new URL('express-sample/router.js', import.meta.url).href)
    const server = createServer(express().use(express.json()).use(router))
    return `http://127.0.0.1:${await listenOnFreePort(server)}`
  }

  async function stream(text: string): Promise<readonly Record<string, never>[]> {
    const response = await fetch(`${await startSample()}/v1/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message: { ...message, parts: [{ kind: 'text', text }] } }),
    })
    const lines = (await response.text()).split('\n')
    return lines.flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
  }

  it('an Express server streams the statuses and artifact chunks, and one end', async () => {
    const events = await stream('Sales?')
    expect(events[0]).toMatchObject({ kind: 'task', status: { state: 'submitted' } })
    const chunks = events.filter(({ kind }) => kind === 'artifact-update')
    expect(chunks).toMatchObject([
      { artifact: { parts: [{ kind: 'text', text: 'Up by ' }] }, append: false },
      { artifact: { parts: [{ kind: 'text', text: '15 %' }] }, append: true, lastChunk: false },
      { artifact: { parts: [{ kind: 'text', text: '' }] }, append: true, lastChunk: true },
    ])
    expect(events.filter(({ final }) => final)).toEqual([events.at(-1)])
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' } })
  })

  it('an Express server streams the failure of a task as an error', async () => {
    const events = await stream('fail')
    expect(events.at(-1)).toMatchObject({ error: { message: expect.stringMatching(/./), data: {} } })
    expect(events.filter(({ final }) => final)).toEqual([])
  })

  it('AgentLoop returns the artifacts of a completed task in the JSON of 0.3', async () => {
    const loop = new AgentLoop({ model: scriptedModel(textReply('Up by ', '15 %')) })
    const { artifacts } = await loop.invokeSync(message.parts, { taskId: 't', contextId: 'c' })
    expect(artifacts).toMatchObject([{ parts: [{ kind: 'text', text: 'Up by 15 %' }] }])
  })

  it('AgentLoop is not canceled by a request that Node closes as soon as its body is read, but later', async () => {
    const loop = new AgentLoop({ model: new MockLanguageModelV4({ doStream: () => new Promise(() => {}) }) })
    const events = lastValueFrom(loop.invoke(message.parts, { taskId: 't', contextId: 'c' }).pipe(toArray()))
    expect(loop.cancel('t')).toBe(false)
    await nextTurn()
    expect(loop.cancel('t')).toBe(true)
    expect((await events).at(-1)).toMatchObject({ type: 'status-update', state: 'canceled', final: true })
  })

  it('AgentLoop rejects if the task fails, and refuses parts of an unknown kind', async () => {
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

  it('A2AClientImpl fails with the error of the agent, and connects again after a failure', async () => {
    const client = new A2AClientImpl('http://127.0.0.1:1')
    for (const _ of [1, 2]) {
      await expect(client.sendMessage({ message })).rejects.toMatchObject({ name: 'A2AError', code: 'unavailable' })
    }
  })
})

it('events of the house endpoint have the types that both compatibility entries export', async () => {
  const { server } = await startTestServer(async (turn) => {
    await turn.artifact('page').close('text')
  })
  const request: JSONRPCRequest = { jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }
  const response = await fetch(`${server.url}/api/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(request),
  })
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  const events: A2AEvent[] = lines.map((line) => (JSON.parse(line.slice(6)) as JSONRPCResponse).result)
  expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['task', 'artifact-update', 'status-update']))
  const last: ClientStatusUpdate = events.at(-1) as TaskStatusUpdateEvent
  expect(last).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } })
})

it('subscribe of a loop takes a function for the events', async () => {
  const model = scriptedModel(textReply('Up'))
  const events: unknown[] = []
  const loop = createAgentLoop({ model })
  loop.invoke([{ text: 'Sales?' }], { taskId: 't', contextId: 'c' }).subscribe((event) => events.push(event))
  await expect.poll(() => JSON.stringify(events.at(-1))).toContain('completed')
})
