import { status as grpcStatus, type ServiceError } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { Logger } from '../../../src/core/base/logger.ts'
import { connect } from '../../../src/core/client/connect.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import type { A2AError } from '../../../src/core/protocol/errors.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { createJsonRpcClient } from '../../../src/core/transports/jsonrpc/client.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { collect, until } from '../../support/async.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { type StreamLine, streamIn } from '../../support/wire/dialect-streams.ts'
import { sendParams } from '../../support/wire/wire-client.ts'
import { longText, openFillableLog } from './support/full-disk.ts'

interface Answer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

function recordingFetch() {
  const answers: Answer[] = []
  const recording: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    answers.push({
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.clone().text(),
    })
    return response
  }
  return { answers, fetch: recording }
}

function recordingLogger() {
  const errors: { readonly message: string; readonly error: unknown }[] = []
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => void errors.push({ message, error: (fields as { error?: unknown }).error }),
  }
  return { errors, logger }
}

const fullDisk = { message: expect.stringMatching(/^The task log .*tasks\.db cannot grow: the disk is full\./) }

describe.each(dialectBindings)('on a full disk, in %s over %s', (dialect, binding) => {
  it('calls are answered as unavailable with the time to come back, and the log names the cause', async () => {
    const { log, fill, free } = await openFillableLog()
    const { errors, logger } = recordingLogger()
    const { server } = await startTestServer((turn) => turn.status('completed', 'done'), { grpc: true, log, logger })
    const { answers, fetch } = recordingFetch()
    const service = await open(server.url, dialect, binding, fetch)
    const alias = dialect === 'v0.1' ? { quirks: { alias: 'mine' } } : {}
    const request = { message: messageOf(longText), ...alias }
    fill()
    const refused: A2AError = await service.sendMessage(request, callOf()).catch((error) => error)
    expect(refused).toMatchObject({ code: 'unavailable', retryAfter: 5 })
    expect(refused.message).toContain('The store of this server cannot be used at the moment.')
    const answer = answers.at(-1)
    if (binding !== 'GRPC') {
      expect(answer).toMatchObject({ status: 503, retryAfter: '5' })
      if (binding === 'JSONRPC') {
        expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { code: dialect === 'v0.1' ? -32011 : -32603 } })
      }
      expect(answer?.body).not.toMatch(/disk|tasks\.db|SQLITE/)
    }
    const failure = await collect(service.streamMessage(request, callOf())).catch((error) => error)
    expect(failure).toMatchObject({ code: 'unavailable' })
    if (binding !== 'GRPC') expect(answers.at(-1)).toMatchObject({ status: 503, retryAfter: '5' })
    const failures = errors.filter(({ message }) => message === 'a request failed because the task log cannot be used')
    expect(failures.length).toBeGreaterThanOrEqual(2)
    for (const { error } of failures) expect(error).toMatchObject(fullDisk)
    free()
    expect(await service.sendMessage(request, callOf())).toMatchObject({ type: 'task' })
  })
})

describe('a store that breaks while streams are open', () => {
  /** The last line of a stream in every dialect, after which the store refused every write. */
  async function openStreams(run: (turn: Turn) => Promise<string>, options: TestServerOptions = {}) {
    const { log, lock, free } = await openFillableLog()
    onTestFinished(free)
    const { server } = await startTestServer(run, { grpc: true, log, ...options })
    const firsts: Promise<void>[] = []
    const streams = dialectBindings.map(async (target) => {
      const first = Promise.withResolvers<void>()
      firsts.push(first.promise)
      const lines: StreamLine[] = []
      for await (const line of streamIn(target, server, 'go')) {
        lines.push(line)
        if (line.text?.includes('reading')) first.resolve()
      }
      return [...target, lines.at(-1)]
    })
    await Promise.all(firsts)
    lock()
    return Promise.all(streams)
  }

  const expected = dialectBindings.map(([dialect, binding]) => {
    const code = binding === 'GRPC' ? grpcStatus.UNAVAILABLE : dialect === 'v0.1' ? -32011 : -32603
    return [dialect, binding, { type: 'error', ...(binding !== 'HTTP+JSON' && { code }) }]
  })

  it('streams end with an error in every dialect and binding if the agent writes on', async () => {
    const write = async (turn: Turn) => {
      await turn.status('working', 'reading')
      for (;;) {
        await turn.status('working')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    expect(await openStreams(write)).toMatchObject(expected)
  })

  it('streams end with an error in every dialect and binding if the agent writes nothing', async () => {
    const wait = async (turn: Turn) => {
      await turn.status('working', 'reading')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return 'done'
    }
    expect(await openStreams(wait, { turns: { leaseTtl: 600 } })).toMatchObject(expected)
  })
})

it('over gRPC the status is UNAVAILABLE', async () => {
  const { log, fill } = await openFillableLog()
  const { server } = await startTestServer(() => 'done', { grpc: true, log })
  const client = grpcClient(server.port)
  fill()
  const calls = {
    'lf.a2a.v1.A2AService/SendMessage': { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: longText }] } },
    'a2a.v1.A2AService/SendMessage': { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: longText }] } },
  }
  for (const [method, request] of Object.entries(calls)) {
    const error: ServiceError = await client.unary(method, request).catch((caught) => caught)
    expect(error.code).toBe(grpcStatus.UNAVAILABLE)
  }
})

async function open(url: string, dialect: DialectName, binding: Binding, fetch: typeof globalThis.fetch) {
  if (dialect === 'v0.3-house') {
    return createJsonRpcClient({ url: `${url}/api/a2a`, dialect: v0_3HouseClient, fetch }) as Service
  }
  const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
  onTestFinished(() => transport?.close())
  const bindings = [transport ?? binding]
  return (await connect(url, { dialects: [dialect], bindings, fetch, retry: { tries: 1 }, resume: { tries: 0 } }))
    .service
}

describe('readiness', () => {
  it('health checks fail while the store cannot be used, and succeed afterwards', async () => {
    const { log, lock, free } = await openFillableLog()
    const lines: { readonly level: string; readonly message: string; readonly error?: unknown }[] = []
    const logger: Logger = {
      ...silentLogger,
      info: (_fields, message) => void lines.push({ level: 'info', message }),
      error: (fields, message) => void lines.push({ level: 'error', message, ...fields }),
    }
    const { server } = await startTestServer(() => 'hi', { grpc: true, log, logger })
    const client = grpcClient(server.port)
    const check = async () => {
      const response = await fetch(`${server.url}/healthz`)
      const body = await response.json()
      const retryAfter = response.headers.get('retry-after')
      const { status } = await client.unary('grpc.health.v1.Health/Check', { service: 'lf.a2a.v1.A2AService' })
      return { code: response.status, body, retryAfter, status }
    }
    const ready = { code: 200, body: { status: 'ok' }, retryAfter: null, status: 'SERVING' }
    const failing = { code: 503, body: { status: 'store-unavailable' }, retryAfter: '5', status: 'NOT_SERVING' }
    expect(await check()).toEqual(ready)
    lock()
    await until(async () => (await check()).code === 503)
    expect(await check()).toEqual(failing)
    free()
    await until(async () => (await check()).code === 200)
    expect(await check()).toEqual(ready)
    expect(lines.filter(({ message }) => /^(not ready|ready again)/.test(message))).toMatchObject([
      {
        level: 'error',
        message: 'not ready: the task log cannot be used',
        error: { message: expect.stringMatching(/^The task log .*tasks\.db cannot be written/) },
      },
      { level: 'info', message: 'ready again: the task log can be used' },
    ])
  })
})

describe('a turn whose events were lost', () => {
  it('the task fails although its agent ignores failed writes and the disk has space again', async () => {
    const { log, fill, free } = await openFillableLog()
    const { errors, logger } = recordingLogger()
    const { wire } = await startTestServer(
      async (turn) => {
        await turn.status('working')
        const report = turn.artifact('report')
        await report.write('first')
        await turn.flush()
        fill()
        await report.write(longText).catch(() => {})
        await turn.flush().catch(() => {})
        free()
        await report.close('last').catch(() => {})
        return 'done'
      },
      { log, logger },
    )
    const { id, status, artifacts } = await wire.sendTask('go')
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(status.message?.parts?.[0]?.text).toMatch(/^Results of the agent could not be stored/)
    expect(artifacts?.[0]?.parts).toEqual([{ text: 'first' }])
    expect(errors).toMatchObject([
      { message: 'events of a turn could not be stored, so its task fails', error: fullDisk },
    ])
    expect((await wire.call('GetTask', { id })).result).toMatchObject({ status: { state: 'TASK_STATE_FAILED' } })
  })

  it('the caller gets 503 while the disk stays full, and the task fails when it has space', async () => {
    const { log, lock, free } = await openFillableLog()
    const { server, wire } = await startTestServer(
      async (turn) => {
        await turn.status('working')
        await turn.flush()
        lock()
        void turn.data({ lost: true }).catch(() => {})
        return 'done'
      },
      { log, turns: { leaseTtl: 300 } },
    )
    const refused = await wire.call('SendMessage', sendParams('go'))
    expect(refused).toMatchObject({ status: 503, error: { code: -32603 } })
    free()
    const { service } = await connect(server.url)
    await until(async () => {
      const { tasks } = await service.listTasks({}, callOf())
      return tasks.length === 1 && tasks[0]?.status.state === 'failed'
    })
  })

  it('a short turn that cannot be stored leaves nothing behind: the caller gets 503 and may send again', async () => {
    const { log, lock, free } = await openFillableLog()
    const { server, wire } = await startTestServer(
      async (turn) => {
        await turn.status('working')
        if (turn.text === 'go') lock()
        return 'done'
      },
      { log, turns: { leaseTtl: 300 } },
    )
    const refused = await wire.call('SendMessage', sendParams('go'))
    expect(refused).toMatchObject({ status: 503, error: { code: -32603 } })
    free()
    const { service } = await connect(server.url)
    expect((await service.listTasks({}, callOf())).tasks).toEqual([])
    expect((await wire.sendTask('again')).status.state).toBe('TASK_STATE_COMPLETED')
  })
})
