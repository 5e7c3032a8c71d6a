import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { bundleWorker, type RunningWorker, startWorker } from '../support/workerd/workerd.ts'

const bundle = (name: string) => bundleWorker(fileURLToPath(new URL(`cloudflare/${name}.ts`, import.meta.url)))

/** Connects with a key that the Worker knows. */
const connectAs = (name: 'ada' | 'charles', url: string) =>
  connect(url, { authorize: async () => ({ headers: { 'x-api-key': `key-of-${name}` } }) })

describe.skipIf(!hasPrograms)('an agent in workerd', { timeout: 60_000 }, () => {
  let code: string
  beforeAll(async () => {
    await programPath('workerd') // installed by the first test that needs it
    code = await bundle('worker')
  }, 300_000)

  async function start(directory?: string): Promise<RunningWorker> {
    const worker = await startWorker(code, directory ?? (await temporaryDirectory()))
    onTestFinished(worker.kill)
    return worker
  }

  it('a minimal Worker is at most 160 kB large, and needs no Node', async () => {
    // With every dialect, also that of 1.1, since an option chooses them when the Worker starts.
    const minimal = await bundle('minimal-worker')
    expect(gzipSync(minimal, { level: 9 }).length).toBeLessThan(160_000)
    for (const bundled of [minimal, code]) expect(bundled).not.toMatch(/from\s*["']node:|import\(["']node:/)
  })

  it('the card offers JSON-RPC and REST, and no gRPC', async () => {
    const { url } = await start()
    const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as {
      readonly supportedInterfaces: readonly { readonly protocolBinding: string }[]
    }
    const bindings = new Set(card.supportedInterfaces.map(({ protocolBinding }) => protocolBinding))
    expect([...bindings]).toEqual(['JSONRPC', 'HTTP+JSON'])
  })

  it('streams that pause emit each event when it happens, also side by side', async () => {
    const { url } = await start()
    const client = await connect(url)
    const read = async () => {
      const times: number[] = []
      for await (const event of client.stream('pauses')) if (event.type === 'artifact') times.push(performance.now())
      return times
    }
    for (const times of await Promise.all([read(), read()])) {
      expect(times.length).toBeGreaterThanOrEqual(3)
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(500)
    }
  })

  it('a question is answered by a later request', async () => {
    const { url } = await start()
    const conversation = (await connect(url)).conversation()
    const question = await conversation.send('question')
    expect(question.task?.status.state).toBe('input-required')
    expect((await conversation.send('blue')).text).toBe('The answer was blue')
  })

  it('a stream continues after the last event that its reader got', async () => {
    const { url } = await start()
    const first = await firstTaskOf(await stream(url, 'pauses'))
    const rest = await fetch(`${url}/tasks/${first.taskId}:subscribe`, {
      method: 'POST',
      headers: { 'a2a-version': '1.0', 'last-event-id': first.eventId },
    })
    const ids = [...(await rest.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
    expect(ids.length).toBeGreaterThan(2)
    expect(ids).toEqual(ids.map((_, index) => Number(first.eventId) + 1 + index))
  })

  it('an agent in a Worker calls an agent in another Worker', async () => {
    const called = await startWorker(await bundle('minimal-worker'), await temporaryDirectory())
    onTestFinished(called.kill)
    const { url } = await start()
    const { text } = await (await connect(url)).send(`call ${called.url}`)
    expect(text).toBe('You said: hello')
  })

  it('a task is canceled while its turn runs', async () => {
    const { url } = await start()
    const client = await connect(url)
    const { taskId } = await firstTaskOf(await stream(url, 'endless'))
    expect((await client.task(taskId).cancel()).status.state).toBe('canceled')
  })

  it('a repeated message is the same message', async () => {
    const { url } = await start()
    const message = { messageId: 'order-1', role: 'ROLE_USER', parts: [{ text: 'question' }] }
    const send = async () => {
      const response = await fetch(`${url}/message:send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'idempotency-key': 'order-1' },
        body: JSON.stringify({ message }),
      })
      return ((await response.json()) as { readonly task: { readonly id: string } }).task.id
    }
    const [one, two] = await Promise.all([send(), send()])
    expect(two).toBe(one)
    expect(await send()).toBe(one)
  })

  it('an owner sees its own tasks, and no tasks of others', async () => {
    const { url } = await start()
    const [hers, his] = await Promise.all([connectAs('ada', url), connectAs('charles', url)])
    const { task } = await hers.send('question')
    expect((await hers.task(task?.id ?? '').get()).id).toBe(task?.id)
    await expect(his.task(task?.id ?? '').get()).rejects.toMatchObject({ code: 'task-not-found' })
    const wrong = await fetch(`${url}/tasks`, { headers: { 'x-api-key': 'wrong', 'a2a-version': '1.0' } })
    expect(wrong.status).toBe(401)
  })

  it('conversations of callers without credentials are in several objects, each with all of its tasks', async () => {
    const directory = await temporaryDirectory()
    const { url } = await start(directory)
    const client = await connect(url)
    const questions = await Promise.all(Array.from({ length: 8 }, () => client.send('question')))
    for (const { task } of questions) {
      const { id = '', contextId = '' } = task ?? {}
      expect((await client.conversation({ taskId: id, contextId }).send('red')).text).toBe('The answer was red')
      const next = await client.conversation({ contextId }).send('question')
      const listed = (await Array.fromAsync(client.listTasks({ contextId }))).map((found) => found.id)
      expect(listed.toSorted()).toEqual([id, next.task?.id].toSorted())
    }
    const files = await readdir(join(directory, 'storage'), { recursive: true })
    expect(files.filter((name) => name.endsWith('.sqlite')).length).toBeGreaterThan(4)
  })

  it('an event that is larger than a row is stored in parts', async () => {
    const { url } = await start()
    const { task } = await (await connect(url)).send('long')
    const [part] = task?.artifacts?.[0]?.parts ?? []
    const content = part && 'text' in part ? part.text : ''
    expect(content.length).toBe(2_000_003)
    expect(content.endsWith('äend')).toBe(true)
  })

  it('webhooks get the events of a task', async () => {
    const received: string[] = []
    const receiver = createServer(async (request, response) => {
      received.push(await text(request))
      response.end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void receiver.close())
    await once(receiver, 'listening')
    const { url } = await start()
    const client = await connect(url)
    const { task } = await client.send('question')
    const { port } = receiver.address() as AddressInfo
    await client.task(task?.id ?? '').push.create({ url: `http://127.0.0.1:${port}/` })
    await client.conversation({ taskId: task?.id, contextId: task?.contextId }).send('red')
    await expect.poll(() => received.join('\n'), { timeout: 20_000 }).toContain('TASK_STATE_COMPLETED')
  })

  it('a turn continues after workerd was killed in the middle of it', async () => {
    const directory = await temporaryDirectory()
    const killed = await start(directory)
    const { taskId, number } = await numberOfSteps(await stream(killed.url, 'steps'))
    await killed.kill()
    const { url } = await start(directory)
    const reply = await (await connect(url)).task(taskId).wait()
    expect(reply.task?.status.state).toBe('completed')
    expect(reply.text).toBe(`Finished ${number}`)
  })

  it('an alarm continues a turn, without a request', async () => {
    const directory = await temporaryDirectory()
    const killed = await start(directory)
    const { taskId } = await numberOfSteps(await stream(killed.url, 'steps'))
    await killed.kill()
    const { url } = await start(directory)
    // The alarm rings when the lease of the killed turn ends, after 5 seconds at most; the turn takes another 6.
    await new Promise((resolve) => setTimeout(resolve, 20_000))
    const task = await (await connect(url)).task(taskId).get()
    expect(task.status.state).toBe('completed')
  })
})

describe.skipIf(!hasPrograms)('createHandler in workerd, without Durable Objects', { timeout: 60_000 }, () => {
  it('is created at module scope, and streams that pause, sends and readers of other requests do not stall each other', async () => {
    const worker = await startWorker(await bundle('handler-worker'), await temporaryDirectory())
    onTestFinished(worker.kill)
    const client = await connect(worker.url)
    const read = async () => {
      const times: number[] = []
      for await (const event of client.stream('go')) if (event.type === 'artifact') times.push(performance.now())
      return (times.at(-1) ?? 0) - (times[0] ?? 0)
    }
    expect(await read()).toBeGreaterThan(500)
    const [one, other, reply] = await Promise.all([read(), read(), client.send('go')])
    expect(Math.min(one, other)).toBeGreaterThan(500)
    expect(reply.text).toBe('written')
    // Another request reads the task of one that is working.
    let last = ''
    for await (const event of client.stream('go')) {
      if (event.type === 'task') last = (await client.task(event.task.id).wait()).text
    }
    expect(last).toBe('written')
    expect(worker.output()).not.toMatch(/different request|hang|cannot perform/i)
  })
})

describe.skipIf(!hasPrograms)('the log of a Durable Object', () => {
  it('passes the suites of task logs and webhook stores inside workerd', { timeout: 180_000 }, async () => {
    const worker = await startWorker(await bundle('contract-worker'), await temporaryDirectory())
    onTestFinished(worker.kill)
    const names = (await (await fetch(`${worker.url}/names`)).json()) as readonly string[]
    expect(names.length).toBeGreaterThan(90)
    for (const [index, name] of names.entries()) {
      const { failure } = (await (await fetch(`${worker.url}/${index}`)).json()) as { readonly failure: string | null }
      expect({ name, failure }).toEqual({ name, failure: null })
    }
  })
})

async function stream(url: string, content: string): Promise<AsyncGenerator<string>> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: content }] }
  const response = await fetch(`${url}/message:stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message }),
  })
  return frames(response)
}

/** The events of a stream, as they came. Leaving the loop closes the connection. */
async function* frames(response: Response): AsyncGenerator<string> {
  let buffer = ''
  for await (const chunk of response.body ?? []) {
    buffer += new TextDecoder().decode(chunk)
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
      yield buffer.slice(0, end)
      buffer = buffer.slice(end + 2)
    }
  }
}

/** Reads up to the first event with a task, and leaves. */
async function firstTaskOf(events: AsyncGenerator<string>): Promise<{ taskId: string; eventId: string }> {
  for await (const event of events) {
    const taskId = /"task":\{"id":"([^"]+)"/.exec(event)?.[1]
    if (taskId !== undefined) return { taskId, eventId: /^id: (\d+)$/m.exec(event)?.[1] ?? '' }
  }
  throw new Error('the stream has no task')
}

/** Reads until the turn has told its number, and leaves. */
async function numberOfSteps(events: AsyncGenerator<string>): Promise<{ taskId: string; number: string }> {
  let taskId = ''
  for await (const event of events) {
    taskId ||= /"task":\{"id":"([^"]+)"/.exec(event)?.[1] ?? ''
    const number = /"text":"([0-9a-f-]{36})"/.exec(event)?.[1]
    if (number !== undefined) return { taskId, number }
  }
  throw new Error('the turn told no number')
}
