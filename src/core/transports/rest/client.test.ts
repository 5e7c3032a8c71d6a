import { describe, expect, it } from 'vitest'
import { callOf, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect } from '../../../../test/support/async.ts'
import { v0_1Client } from '../../dialects/v0.1/client.ts'
import { v0_3ProtoClient } from '../../dialects/v0.3-proto/client.ts'
import { v1_0Client } from '../../dialects/v1.0/client.ts'
import type { WireClientOptions } from '../client/http-client.ts'
import { createRestClient, possibleBases } from './client.ts'

function clientOf(
  answer: (request: Request) => Response | Promise<Response>,
  options: Partial<WireClientOptions> = {},
) {
  const requests: string[] = []
  const service = createRestClient({
    url: 'http://a.test/base/',
    dialect: v1_0Client,
    async fetch(address, init) {
      const request = new Request(address, init)
      requests.push(`${request.method} ${address.replace('http://a.test', '')}`)
      return await answer(request)
    },
    ...options,
  })
  return { service, requests }
}

const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }
const nothing = () => new Response('Not Found', { status: 404 })

describe('the base URL of REST paths', () => {
  it('possible bases combine the URL of the card and the prefix', () => {
    expect(possibleBases('https://a.test/', '/v1')).toEqual(['https://a.test/v1', 'https://a.test'])
    expect(possibleBases('https://a.test/v1', '/v1')).toEqual([
      'https://a.test/v1/v1',
      'https://a.test/v1',
      'https://a.test',
    ])
    expect(possibleBases('https://a.test/x/', '')).toEqual(['https://a.test/x', 'https://a.test/x/v1'])
    expect(possibleBases('https://a.test/v1?a=1', '')).toEqual(['https://a.test/v1', 'https://a.test'])
  })

  it('the base that works is used for later calls', async () => {
    const answer = (request: Request) => (request.url.includes('/v1/') ? nothing() : Response.json({ task }))
    const { service, requests } = clientOf(answer, { dialect: v0_3ProtoClient })
    await service.sendMessage({ message: messageOf('hi') }, callOf())
    await service.sendMessage({ message: messageOf('hi') }, callOf())
    expect(requests).toEqual(['POST /base/v1/message:send', 'POST /base/message:send', 'POST /base/message:send'])
  })

  it('other bases are not tried after a task-not-found error', async () => {
    const body = {
      error: {
        code: 404,
        message: 'No task',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' },
        ],
      },
    }
    const { service, requests } = clientOf(() => Response.json(body, { status: 404 }))
    await expect(service.getTask({ taskId: 't' }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
    expect(requests).toEqual(['GET /base/tasks/t'])
  })
})

describe('a REST response', () => {
  it('every 2xx status is a success', async () => {
    for (const status of [200, 201, 202]) {
      const { service } = clientOf(() => Response.json({ task }, { status }))
      expect(await service.sendMessage({ message: messageOf('hi') }, callOf())).toMatchObject({ type: 'task' })
    }
    const { service } = clientOf(() => new Response(null, { status: 204 }))
    await expect(service.deletePushConfig({ taskId: 't', id: 'c' }, callOf())).resolves.toBeUndefined()
  })

  it.each([
    [{ code: -32002, message: 'No' }, 409, 'task-not-cancelable'],
    [{ type: 'TaskNotFoundError', message: 'No' }, 404, 'task-not-found'],
    [
      { error: { code: 500, status: 'INTERNAL', message: 'Task not cancelable: t', details: [] } },
      500,
      'task-not-cancelable',
    ],
    [{ message: 'Task not found' }, 404, 'task-not-found'],
    [{ error: 'io.a2a.spec.TaskNotCancelableError', message: 'No' }, 409, 'task-not-cancelable'],
    [{ error: 'io.a2a.spec.UnsupportedOperationError', message: 'No' }, 501, 'unsupported-operation'],
    [{ detail: 'Unauthorized' }, 401, 'unauthenticated'],
  ])('a body %j with status %d is %s', async (body, status, code) => {
    const { service } = clientOf(() => Response.json(body, { status }), { dialect: v0_3ProtoClient })
    await expect(service.cancelTask({ taskId: 't' }, callOf())).rejects.toMatchObject({ code, status })
  })
})

it('an error event of any form fails the stream', async () => {
  for (const error of [
    { error: { code: 404, status: 'NOT_FOUND', message: 'Gone' } },
    { code: -32001, message: 'Gone' },
    { error: 'io.a2a.spec.TaskNotFoundError', message: 'Gone' },
  ]) {
    const text = `data: ${JSON.stringify(error)}\n\n`
    const { service } = clientOf(() => new Response(text, { headers: { 'content-type': 'text/event-stream' } }), {
      dialect: v0_3ProtoClient,
    })
    const events = service.streamMessage({ message: messageOf('hi') }, callOf())
    await expect(collect(events)).rejects.toMatchObject({ code: 'task-not-found', message: 'Gone' })
  }
})

it('a dialect without REST is rejected', () => {
  expect(() => clientOf(nothing, { dialect: v0_1Client })).toThrow('A2A 0.1 has no REST binding')
})
