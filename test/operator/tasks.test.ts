import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { createOperatorClient, type OperatorClient } from '../../src/entries/operator.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createMemoryLog } from '../../src/entries/server.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { silentLogger } from '../support/logger.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { logInByLink, operatorOf } from '../support/servers/operator-login.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

startServerFirst()

/** Asks, waits, writes, fails or answers, as the message says. */
const worker = agent({ name: 'Worker', recovery: 'resume' }, async (turn) => {
  if (turn.text === 'hello') return 'hi'
  if (turn.text === 'fail') throw new Error('broken inside')
  if (turn.text === 'ask') {
    const { text } = await turn.ask('Which colour?', { timeout: 600_000 })
    await turn.status('completed', `You chose ${text}`)
    return undefined
  }
  if (turn.text === 'wait') {
    await turn.status('working', 'Waiting')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    return undefined
  }
  const total = await turn.step('count', async () => 3)
  const file = turn.artifact('result.txt')
  for (let at = 0; at < total; at++) await file.write(`part ${at} `)
  await file.close()
  await turn.status('completed', 'Done <b>here</b>\nsecond line')
  return undefined
})

async function start(options: ServeOptions = {}) {
  const server = await serve(worker, {
    ...{ signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 },
    turns: { cancelGrace: 50 },
    ...options,
  })
  onTestFinished(() => server.close())
  return { server, client: await connect(server.url), operator: operatorOf(server) }
}

async function withPostgres(): Promise<ServeOptions> {
  const database = await takeDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  const log = await createPostgresLog({ pool })
  onTestFinished(async () => {
    await log.close()
    await pool.end()
    await database.release()
  })
  return { log }
}

const stores: readonly (readonly [string, () => Promise<ServeOptions>])[] = [
  ['SQLite', async () => ({})],
  ['memory', async () => ({ log: createMemoryLog() })],
  ['PostgreSQL', withPostgres],
]

async function eventually<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 15_000; Date.now() < end; ) {
    const value = await read()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('It did not happen in time.')
}

async function taskIn(operator: OperatorClient, state: string) {
  return await eventually(async () => (await operator.tasks({ state })).tasks[0])
}

describe.each(stores)('tasks in %s', (_name, options) => {
  it('an operator lists, reads, answers and cancels tasks of all callers', async () => {
    const { client, operator } = await start(await options())
    await client.send('write')
    await client.send('hello')
    await client.send('fail').catch(() => {})
    void client.send('ask').catch(() => {})
    void client.send('wait').catch(() => {})
    const [waiting, working] = [await taskIn(operator, 'input-required'), await taskIn(operator, 'working')]
    const all = await operator.tasks()
    expect(all.total).toBe(5)
    expect(all.tasks.map(({ phase }) => phase).sort()).toEqual([
      'answered',
      'completed',
      'failed',
      'input-required',
      'working',
    ])
    expect(working.lease?.expires).toBeGreaterThan(Date.now())

    const [done] = (await operator.tasks({ state: 'completed' })).tasks
    if (!done) throw new Error('no completed task')
    expect(done).toMatchObject({
      agent: 'worker',
      principal: { id: 'anonymous' },
      request: 'write',
      summary: 'Done <b>here</b>',
    })
    expect(done.skill).toBeUndefined()
    const detail = await operator.task(done)
    expect(detail.task.artifacts[0]?.parts.map((part) => ('text' in part ? part.text : '')).join('')).toBe(
      'part 0 part 1 part 2 ',
    )
    expect(detail.steps).toMatchObject([{ step: 'count', attempt: 1, result: 3 }])
    expect(detail.phases.map(({ phase }) => phase)).toEqual(['received', 'submitted', 'working', 'completed'])
    expect(detail).toMatchObject({ recovery: 'resume', isShortened: false })

    const { events, generation } = await operator.events(done)
    expect(events.map((event) => event.generation)).toEqual(Array.from({ length: generation }, (_, at) => at + 1))
    expect(events[0]).toMatchObject({
      type: 'message',
      by: 'caller',
      at: expect.any(Number),
      bytes: expect.any(Number),
    })
    expect(events.at(-1)).toMatchObject({ type: 'status', by: 'agent' })
    const last = await operator.events(done, { before: generation, limit: 2 })
    expect(last.events.map((event) => event.generation)).toEqual([generation - 2, generation - 1])
    expect(await operator.event(done, 1)).toEqual(events[0])

    const { items } = await operator.inbox()
    expect(items).toMatchObject([{ taskId: waiting.taskId, waiting: { kind: 'input', text: 'Which colour?' } }])
    const question = items[0]?.waiting
    expect((question?.deadline ?? 0) - Date.now()).toBeGreaterThan(500_000)
    await operator.answer(waiting, { requestId: question?.requestId, value: 'blue' })
    const answered = await eventually(async () => {
      const found = await operator.task(waiting)
      return found.phase === 'completed' ? found : undefined
    })
    expect(answered.summary).toBe('You chose blue')

    const { results } = await operator.cancelTasks({ tasks: [working, { agent: 'worker', taskId: 'none' }, done] })
    expect(results[0]).toEqual({ agent: 'worker', taskId: working.taskId, phase: 'canceled' })
    expect(results[1]?.error).toContain('no task')
    expect(results[2]?.error).toBeDefined()
  })

  it('filters, pages and searches work over the API', async () => {
    const { client, operator } = await start(await options())
    for (let at = 0; at < 7; at++) await client.send('write')
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await operator.tasks({ limit: 3, ...(cursor && { cursor }) })
      expect(page.total).toBe(7)
      seen.push(...page.tasks.map(({ taskId }) => taskId))
      cursor = page.next
    } while (cursor)
    expect(new Set(seen).size).toBe(7)
    const [first = ''] = seen
    expect((await operator.tasks({ search: first.slice(6, 30) })).tasks.map(({ taskId }) => taskId)).toEqual([first])
    expect((await operator.tasks({ principal: 'nobody' })).total).toBe(0)
    expect((await operator.tasks({ since: Date.now() + 60_000 })).total).toBe(0)
    expect((await operator.tasks({ state: 'stuck' })).total).toBe(0)
  })

  it('events are grouped, filtered and read from the newest on', async () => {
    const { client, operator } = await start(await options())
    await client.send('write')
    const [task] = (await operator.tasks()).tasks
    if (!task) throw new Error('no task')
    const all = await operator.events(task)
    expect(all.next).toBeUndefined()
    const grouped = await operator.events(task, { group: 'chunks' })
    const group = grouped.events.find(({ chunks }) => chunks)
    const { generation = 0, chunks } = group ?? {}
    expect(chunks?.text).toBe('part 0 part 1 part 2 ')
    expect(chunks?.last).toBe(generation + (chunks?.count ?? 0) - 1)
    expect(grouped.events.length).toBe(all.events.length - (chunks?.count ?? 0) + 1)
    expect(grouped.next).toBeUndefined()
    const newest = await operator.events(task, { group: 'chunks', order: 'newest' })
    expect(newest.events).toEqual(grouped.events.toReversed())
    expect((await operator.events(task, { order: 'newest' })).events).toEqual(all.events.toReversed())

    // One page after the other leads through all events, in both orders.
    for (const order of [undefined, 'newest'] as const) {
      const seen: number[] = []
      let next: number | undefined
      do {
        const from = next === undefined ? {} : order ? { before: next } : { after: next }
        const page = await operator.events(task, {
          type: 'status,artifact',
          limit: 1,
          ...from,
          ...(order && { order }),
        })
        seen.push(...page.events.map(({ generation }) => generation))
        next = page.next
      } while (next !== undefined)
      const expected = all.events
        .filter(({ type }) => type === 'status' || type === 'artifact')
        .map((row) => row.generation)
      expect(seen).toEqual(order ? expected.toReversed() : expected)
    }
    const texts = async (text: string, order?: 'newest') =>
      (await operator.events(task, { text, ...(order && { order }) })).events.map(({ type }) => type)
    expect(await texts('SECOND LINE')).toEqual(['status'])
    // A text that two chunks share is found.
    expect(await texts('0 part 1')).toEqual(['artifact'])
    expect(await texts('0 part 1', 'newest')).toEqual(['artifact'])
    expect(await texts('nothing like it')).toEqual([])
    await expect(operator.events(task, { type: 'poem' })).rejects.toThrow('expected some of message')
  })

  it('an operator runs a task again, as it was and edited', async () => {
    const { client, operator } = await start(await options())
    await client.send('write', { metadata: { token: 'secret-1' } })
    const [task] = (await operator.tasks()).tasks
    if (!task) throw new Error('no task')
    const again = await operator.rerun(task)
    expect(again.taskId).not.toBe(task.taskId)
    const detail = await operator.task(again)
    expect(detail).toMatchObject({ request: 'write', rerunOf: task.taskId, principal: { isOperator: true } })
    expect(detail.contextId).not.toBe(task.contextId)
    expect(JSON.stringify(await operator.events(again))).not.toContain('secret-1')
    // An agent that answers with a message has a task, too.
    const edited = await operator.rerun(task, { parts: [{ text: 'hello' }] })
    expect(await operator.task(edited)).toMatchObject({ request: 'hello', rerunOf: task.taskId })
    await expect(operator.rerun({ agent: 'worker', taskId: 'none' })).rejects.toThrow('no task')
    await expect(operator.rerun(task, { parts: [] })).rejects.toThrow('at least one part')
  })

  it('changes of tasks and events arrive while they happen', async () => {
    const { client, operator } = await start(await options())
    const abort = new AbortController()
    onTestFinished(() => abort.abort())
    const rows = operator.taskChanges({}, abort.signal)
    const next = rows.next()
    await new Promise((resolve) => setTimeout(resolve, 300))
    void client.send('ask').catch(() => {})
    const { value } = await next
    expect(value?.value).toMatchObject({ type: 'task', task: { agent: 'worker' } })
    const waiting = await taskIn(operator, 'input-required')
    const events = operator.eventChanges(waiting, waiting.events, abort.signal)
    const arrived = events.next()
    await operator.answer(waiting, { parts: [{ text: 'red' }] })
    expect((await arrived).value?.value).toMatchObject({ generation: waiting.events + 1, by: 'caller' })
    await rows.return(undefined)

    // A stream that opens later begins with what its reader has missed.
    const late = operator.taskChanges({}, abort.signal)
    expect((await late.next()).value?.value).toMatchObject({ type: 'task', task: { taskId: waiting.taskId } })
    await late.return(undefined)
    const tomorrow = operator.taskChanges({ search: waiting.taskId }, abort.signal, `${Date.now() + 86_400_000}`)
    expect((await tomorrow.next()).value?.value).toMatchObject({ type: 'task', task: { taskId: waiting.taskId } })
    await tomorrow.return(undefined)
  })
})

describe('one task', () => {
  it('a task is shown in the JSON of every version, with what is lost', async () => {
    const { client, operator } = await start()
    await client.send('write')
    const [task] = (await operator.tasks()).tasks
    if (!task) throw new Error('no task')
    for (const dialect of ['1.0', '0.3', '0.3-house', '0.2', '0.1'] as const) {
      const seen = await operator.seenAs(task, dialect)
      expect([dialect, seen.json.id]).toEqual([dialect, task.taskId])
    }
    expect((await operator.seenAs(task, '1.0')).lost).toEqual([])
    const { lost } = await operator.seenAs(task, '0.1')
    expect(lost.map(({ path }) => path)).toContain('status.message.messageId')
    await expect(operator.seenAs(task, '0.9' as '0.1')).rejects.toMatchObject({ status: 404 })
  })

  it('a task has its log lines of this process', async () => {
    const { client, operator } = await start()
    await client.send('fail').catch(() => {})
    const [task] = (await operator.tasks({ state: 'failed' })).tasks
    if (!task) throw new Error('no task')
    const { lines } = await operator.log(task)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.every(({ fields }) => fields.taskId === task.taskId)).toBe(true)
    expect(JSON.stringify(lines)).not.toContain('broken inside')
  })

  it('the calls to other agents of the server are a tree', async () => {
    const child = agent({ name: 'Child' }, async (turn) => {
      await turn.status('working', 'On it')
      await turn.status('completed', 'Done')
    })
    const parent: ReturnType<typeof agent> = agent({ name: 'Parent' }, async (turn) => {
      await turn.status('working', 'Calling')
      await turn.call(`${url}/child`, 'do it')
      await turn.status('completed', 'All done')
    })
    let url = ''
    const server = await serve(
      { '/parent': parent, '/child': child },
      { signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 },
    )
    onTestFinished(() => server.close())
    url = server.url
    await (await connect(`${url}/parent`)).send('go')
    const operator = operatorOf(server)
    const [task] = (await operator.tasks({ agent: 'parent' })).tasks
    if (!task) throw new Error('no task')
    expect(task).toMatchObject({ phase: 'completed', summary: 'All done' })
    const { calls } = await operator.calls(task)
    expect(calls).toMatchObject([{ agent: 'Child', state: 'completed', task: { agent: 'child' }, calls: [] }])
    expect((await operator.tasks()).tasks.map(({ agent: id }) => id).sort()).toEqual(['child', 'parent'])
  })

  it('a task of 20,000 events opens quickly, and a long artifact is shortened', async () => {
    const long = agent({ name: 'Long' }, async (turn) => {
      const file = turn.artifact('long.txt')
      for (let at = 0; at < 20_000; at++) await file.write(`chunk ${at} ${'x'.repeat(30)}`)
      await file.close()
      await turn.status('completed', 'Done')
    })
    const server = await serve(long, {
      ...{ signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 },
    })
    onTestFinished(() => server.close())
    await (await connect(server.url)).send('go')
    const operator = operatorOf(server)
    const [task] = (await operator.tasks()).tasks
    if (!task) throw new Error('no task')
    expect(task.events).toBeGreaterThan(20_000)
    const detail = await operator.task(task)
    expect(detail).toMatchObject({ isShortened: true, phase: 'completed', summary: 'Done' })
    expect(JSON.stringify(detail).length).toBeLessThan(3_000_000)
    const page = await operator.events(task, { before: task.events + 1, limit: 10 })
    expect(page.events.map(({ generation }) => generation).at(-1)).toBe(task.events)
  })
})

describe('hostile requests', () => {
  const paths: readonly (readonly [string, number])[] = [
    ['/tasks?limit=0', 400],
    ['/tasks?limit=201', 400],
    ['/tasks?limit=1e3', 400],
    ['/tasks?state=nothing', 400],
    ['/tasks?agent=__proto__', 404],
    ['/tasks?cursor=abc', 400],
    ['/tasks?cursor=eyJ3b3JrZXIiOlsxXX0', 400],
    ['/tasks?cursor=bnVsbA', 400],
    [`/tasks?search=${'x'.repeat(501)}`, 400],
    ['/tasks/worker/none', 404],
    ['/tasks/none/none', 404],
    ['/tasks/worker/%00', 404],
    ['/tasks/worker/%zz', 400],
    ['/tasks/worker/none/events', 404],
    ['/tasks/worker/none/events/0', 400],
    ['/tasks/worker/none/events/99999999999999999', 400],
    ['/tasks/worker/none/as/1.0', 404],
    ['/tasks/worker/none/log', 404],
    ['/tasks/worker/none/calls', 404],
    ['/tasks/worker/none/events/changes', 404],
    ["/tasks?search=';DROP TABLE tasks;--", 200],
    ['/inbox?cursor=%', 400],
    ['/nothing', 404],
  ]

  it.each(paths)('GET %s', async (path, status) => {
    const { server } = await start()
    const headers = { cookie: await logInByLink(server) }
    const response = await fetch(`${server.url}/console/api/v1${path}`, { headers })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    if (status >= 400) expect(await response.json()).toMatchObject({ error: { code: expect.any(String) } })
  })

  it('bodies that are wrong are refused with the field that is wrong', async () => {
    const { server } = await start()
    const send = async (path: string, body: string, type = 'application/json') => {
      const headers = { 'content-type': type, 'x-parley-console': '1', cookie: await logInByLink(server) }
      const response = await fetch(`${server.url}/console/api/v1${path}`, { method: 'POST', headers, body })
      return [response.status, ((await response.json()) as { error?: { message: string } }).error?.message]
    }
    expect(await send('/tasks/cancel', '{')).toEqual([400, expect.stringContaining('JSON')])
    expect(await send('/tasks/cancel', '[]')).toEqual([400, expect.stringContaining('object')])
    expect(await send('/tasks/cancel', '{}')).toEqual([400, expect.stringContaining('tasks')])
    expect(await send('/tasks/cancel', '{"tasks":[{"agent":1,"taskId":"x"}]}')).toEqual([
      400,
      expect.stringContaining('tasks[0].agent'),
    ])
    expect(await send('/tasks/cancel', '{"tasks":[]}', 'text/plain')).toEqual([415, expect.any(String)])
    const many = JSON.stringify({ tasks: Array.from({ length: 201 }, () => ({ agent: 'worker', taskId: 'x' })) })
    expect(await send('/tasks/cancel', many)).toEqual([400, expect.stringContaining('tasks')])
    expect(await send('/tasks/worker/none/answer', '{"parts":[{"text":"a","data":1}]}')).toEqual([
      400,
      expect.stringContaining('parts'),
    ])
    expect(await send('/tasks/worker/none/answer', '{"decision":"maybe"}')).toEqual([
      400,
      expect.stringContaining('decision'),
    ])
    expect(await send('/tasks/worker/none/answer', `{"comment":${'['.repeat(100)}${']'.repeat(100)}}`)).toEqual([
      400,
      expect.any(String),
    ])
  })

  it('a viewer reads, and cannot cancel or answer', async () => {
    const keys = [{ id: 'vera', hash: await hashApiKey('view') }]
    const { server, client } = await start({
      console: { auth: { schemes: { key: apiKey({ keys }) } }, roles: () => 'viewer' },
    })
    await client.send('write')
    const viewer = createOperatorClient({ url: `${server.url}/console`, headers: { 'x-api-key': 'view' } })
    const [task] = (await viewer.tasks()).tasks
    if (!task) throw new Error('no task')
    await expect(viewer.cancelTasks({ tasks: [task] })).rejects.toMatchObject({ status: 403, code: 'forbidden' })
    await expect(viewer.answer(task, { parts: [{ text: 'x' }] })).rejects.toMatchObject({ status: 403 })
  })
})
