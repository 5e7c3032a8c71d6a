import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { status as grpcStatus } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, messageOf, taskOf } from '../support/agents/test-runtime.ts'
import { collect, deferred } from '../support/async.ts'
import { grpcClient } from '../support/grpc/grpc-client.ts'
import { createDatabase } from '../support/postgres/database.ts'
import {
  eventually,
  recordedTurns,
  release,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { createTcpProxy } from '../support/servers/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { dialectBindings } from '../support/wire/dialect-bindings.ts'
import { openService } from '../support/wire/dialect-service.ts'
import { connectToPort, parseResponse } from '../support/wire/raw-http1.ts'
import { sendParams, type WireClient, type WireEvent, type WirePage } from '../support/wire/wire-client.ts'

const turnsOf = async (directory: string) => (await recordedTurns(directory)).length

/** Whether the server takes no new work. It still listens. */
async function isDraining({ url }: ServerProcess): Promise<boolean> {
  const { status } = await fetch(`${url}/readyz`)
  return status === 503
}

async function firstOf(events: AsyncGenerator<WireEvent>): Promise<WireEvent> {
  const { value, done } = await events.next()
  if (done) throw new Error('the stream ended early')
  return value
}

async function workingTasks(wire: WireClient): Promise<number> {
  return (await wire.result<WirePage>('ListTasks', { status: 'TASK_STATE_WORKING' })).totalSize
}

function requestFor(path: string, body?: string): string {
  const head = 'Host: localhost\r\nA2A-Version: 1.0\r\n'
  if (body === undefined) return `GET ${path} HTTP/1.1\r\n${head}\r\n`
  return `POST ${path} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** A connection that sends requests one after another. `answer` rejects if the server closes or resets it instead. */
async function openConnection(port: number) {
  const socket = connectToPort(port).setNoDelay().setEncoding('latin1')
  await once(socket, 'connect')
  let text = ''
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', failure.reject)
  socket.on('close', () => failure.reject(new Error(`closed after "${text}"`)))
  onTestFinished(() => void socket.destroy())
  return {
    write: (request: string) => void socket.write(request),
    async answer() {
      for (;;) {
        const response = parseResponse(text)
        if (response.isComplete) {
          text = ''
          return response
        }
        await Promise.race([once(socket, 'data'), failure.promise])
      }
    },
  }
}

describe('SIGTERM', () => {
  it('a running turn finishes, new requests are refused, and the exit code is 0', async () => {
    const directory = await temporaryDirectory()
    const server = await startServerProcess(directory)
    const sent = server.wire.sendTask('hold gate')
    const streamed = collect(server.wire.sendStream('hold gate'))
    await eventually(async () => (await turnsOf(directory)) === 2)
    server.signal('SIGTERM')
    await eventually(() => isDraining(server))
    await release(directory, 'gate')
    expect(await sent).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'Released' }] }],
    })
    expect((await streamed).at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await server.ended).toBe(0)
    expect(server.stderr()).toBe('')
  })

  it('the streams of paused tasks end cleanly and can be resumed after a restart', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory)
    const { id } = await first.wire.sendTask('ask')
    const events = first.wire.subscribe(id)
    const { generation, result } = await firstOf(events)
    expect(result?.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    first.signal('SIGTERM')
    // A broken connection would throw here.
    expect(await collect(events)).toEqual([])
    expect(await first.ended).toBe(0)

    const { wire } = await startServerProcess(directory)
    const resumed = collect(wire.subscribe(id, { after: generation ?? 0 }))
    await wire.send('this one', { taskId: id })
    const states = (await resumed).map(({ result }) => result?.statusUpdate?.status.state)
    expect(states.at(-1)).toBe('TASK_STATE_COMPLETED')
  })

  it('a turn that does not finish in time fails with a reason', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { drainDeadline: 300, turns: { cancelGrace: 300 } })
    const paused = await first.wire.sendTask('ask')
    const subscribed = first.wire.subscribe(paused.id)
    await firstOf(subscribed)
    const waiting = Promise.all([
      first.wire.sendTask('ignore'),
      first.wire.sendTask('hold forever'),
      collect(first.wire.sendStream('ignore')),
      collect(subscribed),
    ])
    await eventually(async () => (await turnsOf(directory)) === 4)
    first.signal('SIGTERM')

    const [ignoring, aborted, streamed, rest] = await waiting
    const reason = 'The server shut down before the agent had finished. Please send it again.'
    const failed = { state: 'TASK_STATE_FAILED', message: { parts: [{ text: reason }] } }
    expect(ignoring.status).toMatchObject(failed)
    expect(aborted.status).toMatchObject(failed)
    expect(streamed.at(-1)?.result?.statusUpdate?.status).toMatchObject(failed)
    expect(rest).toEqual([])
    expect(await first.ended).toBe(0)

    const { wire } = await startServerProcess(directory)
    expect(await wire.getTask(ignoring.id)).toEqual(ignoring)
  })

  it('a message that arrives during the shutdown leaves no unfinished task', async () => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory)
    const send = () =>
      first.wire.sendTask('work').then(
        ({ status }) => status.state,
        (error: Error) => error.message,
      )
    const answers = Array.from({ length: 50 }, send)
    await Promise.race(answers)
    answers.push(...Array.from({ length: 50 }, send))
    first.signal('SIGTERM')
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatch(/^TASK_STATE_COMPLETED$|UNAVAILABLE|fetch failed/)
    }
    expect(await first.ended).toBe(0)
    expect(first.stderr()).toBe('')
    // The leases have not expired, so no process has cleaned up after the first one.
    const { wire } = await startServerProcess(directory)
    expect(await workingTasks(wire)).toBe(0)
  })

  it('every request that was written before the signal gets an answer, on new, unused and kept connections', async () => {
    const directory = await temporaryDirectory()
    for (const round of [1, 2, 3]) {
      const server = await startServerProcess(join(directory, `${round}`))
      const port = Number(new URL(server.url).port)
      const kept = await Promise.all(Array.from({ length: 60 }, () => openConnection(port)))
      for (const connection of kept) {
        connection.write(requestFor('/healthz'))
        expect((await connection.answer()).status).toBe(200)
      }
      const unused = await Promise.all(Array.from({ length: 60 }, () => openConnection(port)))
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sendParams('work') })
      const written = [...kept, ...unused].map((connection, n) => {
        connection.write(n % 2 === 0 ? requestFor('/healthz') : requestFor('/', body))
        return connection
      })
      // Sockets write at once, so the bytes are with the server when the signal is.
      server.signal('SIGTERM')
      const answers = await Promise.all(written.map((connection) => connection.answer()))
      for (const { status, head } of answers) {
        expect([200, 503]).toContain(status)
        if (status === 503) expect(head).toContain('connection: close')
      }
      expect(await server.ended).toBe(0)
      expect(server.stderr()).toBe('')
    }
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second %s ends the process at once, and the next process fails its tasks', async (signal, code) => {
    const directory = await temporaryDirectory()
    const first = await startServerProcess(directory, { turns: { leaseTtl: 1_000 } })
    const { id } = await first.wire.sendTask('hold forever', { configuration: { returnImmediately: true } })
    first.signal(signal)
    await eventually(() => isDraining(first))
    expect(await Promise.race([first.ended, pause(100, 'still draining')])).toBe('still draining')
    first.signal(signal)
    expect(await first.ended).toBe(code)
    expect(first.stderr()).toContain('stopped at once by a second signal')

    const { wire } = await startServerProcess(directory, { turns: { leaseTtl: 1_000 } })
    await eventually(async () => (await wire.getTask(id)).status.state === 'TASK_STATE_FAILED')
  })

  it('reads and health checks are answered while new work is refused in every dialect and binding', async () => {
    const directory = await temporaryDirectory()
    const server = await startServerProcess(directory, { drainDeadline: 120_000, grpc: true })
    const { url, wire } = server
    const running = await wire.sendTask('hold gate', { configuration: { returnImmediately: true } })
    const health = async (path: string) => {
      const response = await fetch(`${url}${path}`)
      return [response.status, response.headers.get('retry-after'), await response.json()]
    }
    for (const path of ['/livez', '/readyz', '/healthz']) {
      expect(await health(path)).toEqual([200, null, { status: 'ok' }])
    }
    const services = await Promise.all(
      dialectBindings.map(async ([dialect, binding]) => {
        const service = await openService(url, dialect, binding)
        const send = (alias: string) =>
          service.sendMessage(
            { message: messageOf('work'), ...(dialect === 'v0.1' && { quirks: { alias } }) },
            callOf(),
          )
        return { name: `${dialect} ${binding}`, service, send, taskId: taskOf(await send('first')).id }
      }),
    )
    server.signal('SIGTERM')
    await eventually(() => isDraining(server))

    expect(await health('/livez')).toEqual([200, null, { status: 'ok' }])
    for (const path of ['/readyz', '/healthz']) expect(await health(path)).toEqual([503, '1', { status: 'draining' }])
    const refused = await wire.post({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sendParams('work') })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    for (const { name, service, send, taskId } of services) {
      await expect(send('second'), name).rejects.toMatchObject({ code: 'unavailable' })
      expect((await service.getTask({ taskId }, callOf())).status.state, name).toBe('completed')
    }
    const grpc = grpcClient(Number(new URL(url).port))
    const sent = grpc.unary('lf.a2a.v1.A2AService/SendMessage', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'work' }] },
    })
    await expect(sent).rejects.toMatchObject({ code: grpcStatus.UNAVAILABLE })
    expect(await grpc.unary('grpc.health.v1.Health/Check', {})).toEqual({ status: 'NOT_SERVING' })

    // A stream that breaks now can be resumed here until the turn has ended.
    const resumed = wire.subscribe(running.id)
    await firstOf(resumed)
    await release(directory, 'gate')
    expect((await collect(resumed)).at(-1)?.result?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await server.ended).toBe(0)
  })
})

/** Longer than `drainDeadline`, on a busy machine; a process that waits for what hangs here takes much longer. */
const atMost = 30_000

/** With what hangs in each test, closing would take longer than `atMost` without a limit. */
const hanging = { drainDeadline: 3_000, turns: { cancelGrace: 120_000 } } as const

describe('the process ends by drainDeadline', () => {
  async function endsInTime(server: ServerProcess): Promise<number | NodeJS.Signals | null> {
    const begun = performance.now()
    server.signal('SIGTERM')
    const code = await server.ended
    expect(performance.now() - begun).toBeLessThan(atMost)
    return code
  }

  it('although agents ignore their signal and keep the process alive', async () => {
    const directory = await temporaryDirectory()
    const server = await startServerProcess(directory, hanging)
    await server.wire.sendTask('linger', { configuration: { returnImmediately: true } })
    await firstOf(server.wire.sendStream('ignore'))
    expect(await endsInTime(server)).toBe(0)
    expect(server.stderr()).toContain('something in it did not stop in time')
    const { wire } = await startServerProcess(directory)
    expect(await workingTasks(wire)).toBe(0)
  })

  it('although a caller does not read its stream', async () => {
    const server = await startServerProcess(await temporaryDirectory(), hanging)
    const { port, pathname } = new URL(server.url)
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: sendParams('fill 30'),
    })
    const socket = connectToPort(Number(port))
    socket.pause()
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await eventually(async () => (await workingTasks(server.wire)) > 0)
    expect(await endsInTime(server)).toBe(0)
  })

  it('although a webhook does not answer', async () => {
    const requested = deferred()
    const url = await startHttpServer(() => requested.resolve())
    const server = await startServerProcess(await temporaryDirectory(), { ...hanging, push: { timeout: 120_000 } })
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } }
    await server.wire.sendTask('work', { configuration })
    await requested.promise
    expect(await endsInTime(server)).toBe(0)
  })

  it('although PostgreSQL does not answer', async () => {
    const { url: direct } = await createDatabase()
    const url = new URL(direct)
    const port = Number(url.port)
    const proxy = await createTcpProxy(() => port)
    url.port = `${proxy.port}`
    const postgres = { url: url.href, statementTimeout: 120_000, patience: 120_000 }
    const server = await startServerProcess(await temporaryDirectory(), { ...hanging, postgres })
    await server.wire.sendTask('hold forever', { configuration: { returnImmediately: true } })
    proxy.freeze()
    expect(await endsInTime(server)).toBe(0)
    expect(server.stderr()).toContain('something in it did not stop in time')
  })
})
