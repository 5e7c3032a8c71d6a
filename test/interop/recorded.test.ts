import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { Server } from '../../src/serve/options.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { serveInteropAgent } from './live/agent.ts'
import { clientChecks } from './live/client-checks.ts'
import { type Exchange, eventsIn, parseBody, type Recording, recordedOrigin } from './live/recording.ts'

/** The wire of real peers, as `npm run interop` recorded it. */
const folder = new URL('recorded/', import.meta.url)
const recordings = readdirSync(folder).map((name): Recording => JSON.parse(readFileSync(new URL(name, folder), 'utf8')))

const clients = recordings.filter(({ role }) => role === 'client')
const servers = recordings.filter(({ role }) => role === 'server')

describe.each(clients)('$peer $version over $transport', ({ exchanges, agent }) => {
  it('the requests of its client get the same answers as when they were recorded', async () => {
    const server = await serveInteropAgent(await temporaryDirectory(), agent)
    try {
      await replayRequests(server, exchanges)
    } finally {
      await server.close()
    }
  })
})

describe.each(servers)('$peer $version over $transport', ({ exchanges, passed, cardPath = '' }) => {
  it.each(passed)('the recorded answers of its server pass the check "%s" of our client', async (check) => {
    const replay = replayAnswers(exchanges.filter((exchange) => exchange.check === check))
    const client = await connect(recordedOrigin + cardPath, { fetch: replay, retry: { tries: 1 } })
    await clientChecks[check]?.(client)
  })
})

async function replayRequests({ url }: Server, exchanges: readonly Exchange[]): Promise<void> {
  /** The ids of this run, by the recorded ones. */
  const ids = new Map<string, string>()
  const current = <T>(value: T): T => {
    let text = JSON.stringify(value) ?? ''
    for (const [recorded, id] of ids) text = text.replaceAll(recorded, id)
    return text === '' ? value : JSON.parse(text)
  }
  for (const { request, response } of exchanges) {
    const { method, headers, body } = request
    const actual = await fetch(`${url}${current(request.path)}`, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(current(body)) }),
    })
    const text = await actual.text()
    expect({ path: request.path, status: actual.status }).toEqual({ path: request.path, status: response.status })
    // Cards change with the features of the agent, and have their own tests.
    if (method === 'GET' && request.path.startsWith('/.well-known/')) continue
    const answer = response.events ? eventsIn(text) : parseBody(text)
    const recorded = response.events ?? response.body
    collectIds(recorded, answer, ids)
    expect(neutral(answer)).toEqual(neutral(recorded))
  }
}

/** Ids that a server creates. Their values differ in every run. */
const idMembers: ReadonlySet<string> = new Set(['id', 'taskId', 'contextId', 'messageId', 'artifactId', 'requestId'])

/** Finds the ids in two answers of the same form. */
function collectIds(recorded: unknown, actual: unknown, ids: Map<string, string>): void {
  if (typeof recorded !== 'object' || typeof actual !== 'object' || !recorded || !actual) return
  for (const [name, value] of Object.entries(recorded)) {
    const other: unknown = (actual as Record<string, unknown>)[name]
    if (typeof value === 'string' && typeof other === 'string' && idMembers.has(name) && value !== other) {
      ids.set(value, other)
    } else collectIds(value, other, ids)
  }
}

/**
 * An answer without what differs from run to run: ids, times, the texts of errors, and the statuses of a task that is
 * not yet done, whose number depends on the speed of the machine.
 */
function neutral(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isProgress(item)).map(neutral)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (name === 'history') return []
    if (name === 'error' && typeof member !== 'string') return [[name, { code: (member as { code?: unknown }).code }]]
    if (name === 'state' && isActive(member)) return [[name, '<active>']]
    if (typeof member === 'string' && (idMembers.has(name) || name === 'timestamp')) return [[name, `<${name}>`]]
    return [[name, neutral(member)]]
  })
  return Object.fromEntries(members)
}

function isActive(state: unknown): boolean {
  return /^(TASK_STATE_)?(submitted|working)$/i.test(String(state))
}

/** Whether an event of a stream has a task that is not yet done. */
function isProgress(event: unknown): boolean {
  return isActive(/"state":"([^"]*)"/.exec(JSON.stringify(event) ?? '')?.[1])
}

/** Answers each request of our client with the next recorded answer to the same operation, or else the last one. */
function replayAnswers(exchanges: readonly Exchange[]): typeof fetch {
  const used = new Set<Exchange>()
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const body = parseBody(await request.text()) as { id?: unknown; method?: unknown }
    const same = exchanges.filter(
      ({ request: { method, path, body: recorded } }) =>
        method === request.method &&
        path === pathname + search &&
        (recorded as typeof body | undefined)?.method === body.method,
    )
    const exchange = same.find((candidate) => !used.has(candidate)) ?? same.at(-1)
    if (!exchange) return new Response('not recorded', { status: 404 })
    used.add(exchange)
    const { status, type, server, events, body: answer } = exchange.response
    const text = events
      ? events.map((event) => `data: ${JSON.stringify(withId(event, body.id))}\n\n`).join('')
      : typeof answer === 'string'
        ? answer
        : JSON.stringify(withId(answer, body.id))
    return new Response(status === 204 ? null : text, {
      status,
      headers: { 'content-type': type, ...(server && { server }) },
    })
  }
}

/** The envelope with the id of the request that it answers. */
function withId(envelope: unknown, id: unknown): unknown {
  return typeof envelope === 'object' && envelope !== null && 'jsonrpc' in envelope ? { ...envelope, id } : envelope
}
