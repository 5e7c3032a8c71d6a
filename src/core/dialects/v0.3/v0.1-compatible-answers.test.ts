import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import { serverDialects } from '../server-dialects.ts'
import { v0_1Client } from '../v0.1/client.ts'
import { v0_3Client } from './client.ts'
import { v0_3 } from './server.ts'

const timestamp = '2026-05-01T08:00:00.000Z'
const agentMessage = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'Done' }], taskId: 'T', contextId: 'C' }
const task: Task = {
  id: 'T',
  contextId: 'C',
  status: { state: 'completed', timestamp, message: agentMessage },
  artifacts: [
    { artifactId: 'A', name: 'first', parts: [{ text: 'a' }] },
    { artifactId: 'B', name: 'second', parts: [{ data: { n: 1 } }] },
  ],
  history: [agentMessage],
  generation: 4,
}
const request = { taskId: 'T' }

const [, wide] = serverDialects({ supersetAnswers: true })
if (wide?.name !== 'v0.3') throw new Error('0.3 is the second that is spoken')

describe('v0.1-compatible answers', () => {
  it('a task has a session, part types and artifact indexes as well', () => {
    for (const operation of ['getTask', 'cancelTask'] as const) {
      const answer = wide.encodeResult[operation](task, request)
      expect(answer).toMatchObject(v0_3.encodeResult[operation](task, request) as object)
      expect(answer).toMatchObject({
        sessionId: 'C',
        contextId: 'C',
        status: { message: { parts: [{ type: 'text', kind: 'text' }] } },
        artifacts: [
          { index: 0, parts: [{ type: 'text', kind: 'text' }] },
          { index: 1, parts: [{ type: 'data' }] },
        ],
        history: [{ parts: [{ type: 'text' }] }],
      })
    }
  })

  it('a task is decoded equally by 0.1 and 0.3 clients', () => {
    const answer = wide.encodeResult.getTask(task, request)
    const read = [v0_1Client, v0_3Client].map((client) => client.decodeResult.getTask(answer, request))
    for (const decoded of read) {
      expect(decoded).toMatchObject({ id: 'T', contextId: 'C', status: { state: 'completed' } })
      expect(decoded.artifacts.map(({ name, parts }) => ({ name, parts }))).toEqual([
        { name: 'first', parts: [{ text: 'a' }] },
        { name: 'second', parts: [{ data: { n: 1 } }] },
      ])
    }
  })

  it('the events of a subscription have the task id and the artifact index as well', () => {
    const events: StreamEvent[] = [
      { type: 'status', status: { state: 'working', timestamp }, taskId: 'T', contextId: 'C', generation: 5 },
      {
        type: 'artifact',
        artifact: { artifactId: 'B', parts: [{ text: 'b' }] },
        taskId: 'T',
        contextId: 'C',
        generation: 6,
      },
      {
        type: 'artifact',
        artifact: { artifactId: 'A', parts: [{ text: 'a' }] },
        taskId: 'T',
        contextId: 'C',
        generation: 7,
      },
    ]
    const wires = events.flatMap((event) => wide.encodeEvent(event, request))
    expect(wires).toMatchObject([
      { kind: 'status-update', id: 'T', taskId: 'T', status: { state: 'working' } },
      { kind: 'artifact-update', id: 'T', artifact: { index: 0, parts: [{ type: 'text', kind: 'text' }] } },
      { kind: 'artifact-update', id: 'T', artifact: { index: 1 } },
    ])
    expect(wires.map((wire) => v0_3Client.decodeEvent(wire, request)?.type)).toEqual(['status', 'artifact', 'artifact'])
  })

  it('the answers are enabled by an option, and do not apply to sends, which differ in 0.1', () => {
    const event: StreamEvent = { type: 'task', task }
    const sent = { message: agentMessage }
    expect(wide.encodeEvent(event, sent)).toEqual(v0_3.encodeEvent(event, sent))
    expect(serverDialects({})[1]?.encodeResult.getTask(task, request)).toEqual(v0_3.encodeResult.getTask(task, request))
  })
})
