import { defined } from '../core/base/json.ts'
import type { Binding, ClientDialect } from '../core/dialects/dialect.ts'
import { dialectPairs } from '../core/dialects/dialect-pairs.ts'
import { dialectsOfVersion, protocolVersions } from '../core/dialects/versions.ts'
import { type Incoming, isComplete, type Outgoing, withBody } from '../core/http/exchange.ts'
import { isStream } from '../core/protocol/intercept.ts'
import type { Operation, RequestOf, UnaryOperation } from '../core/protocol/service.ts'
import { literal } from '../core/schema/unions.ts'
import { map, object, optional, string } from '../core/schema/values.ts'
import { withPath } from '../core/server/mount.ts'
import type { BrowserEndpoints } from './a2a.ts'
import type { ConsoleAgents, ConsoleHosted } from './agents.ts'
import type {
  ComposeRequest,
  WireExchangeRow,
  WireFrame,
  WireLogQuery,
  WireRequest,
  WireSource,
} from './contract-tools.ts'
import { invalid, jsonAnswer, notFound, OperatorFailure } from './failures.ts'
import { type ForeignAgent, foreignAddress, requireForeignUrl, sendForeign } from './foreign.ts'
import { consolePath } from './options.ts'
import { type OperatorCall, type Route, readBody, streamAnswer } from './routes.ts'
import { type OpenExchange, toHar, type WireLog } from './wire-log.ts'

/** Characters of an answer that are shown. */
const maxAnswer = 2 * 1024 * 1024

/** Milliseconds between two reports of changes of the wire log: streams change it often. */
const reportInterval = 200

export interface WireRoutesOptions {
  readonly agents: ConsoleAgents
  readonly answer: BrowserEndpoints
  readonly wireLog: WireLog
  /** The version of Parley. */
  readonly version: string
}

/** Composes raw requests as clients of each version send them, and sends edited ones to an agent. */
export function wireRoutes({ agents, answer, wireLog, version }: WireRoutesOptions): readonly Route[] {
  const viewer = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, role: 'viewer', handle })
  return [
    viewer('/wire/log', async ({ query }) =>
      jsonAnswer({ exchanges: wireLog.rows(readLogQuery(query)), dropped: wireLog.dropped() }),
    ),
    viewer('/wire/log/changes', async (call) => streamAnswer(call, changesOf(wireLog, call))),
    viewer('/wire/log/:id', async (_call, text: string) => {
      const exchange = /^[1-9]\d{0,14}$/.test(text) ? wireLog.exchange(Number(text)) : undefined
      if (!exchange) throw notFound('There is no exchange with this number: older ones make room for new ones.')
      return jsonAnswer(exchange)
    }),
    viewer('/wire/har', async ({ query }) => {
      const headers = { 'content-disposition': 'attachment; filename="parley.har"' }
      return jsonAnswer(toHar(wireLog.exchanges(readLogQuery(query)), version), 200, headers)
    }),
    {
      method: 'POST',
      path: '/wire/compose',
      role: 'viewer',
      async handle(call) {
        const request = (await readBody(call, composeSchema)) as ComposeRequest
        const { agent } = agents.get(request.agent)
        if (request.binding === 'GRPC') requireGrpc(agent)
        return jsonAnswer(compose(request, agent.foreign))
      },
    },
    {
      method: 'POST',
      path: '/wire/send',
      role: 'operator',
      async handle(call) {
        const request = (await readBody(call, wireSchema)) as WireRequest
        const { id, agent } = agents.get(request.agent)
        if (request.binding === 'GRPC') {
          requireGrpc(agent)
          const open = wireLog.begin({ ...request, agent: { id: () => id }, source: 'wire' })
          return streamAnswer(call, toFrames(recorded(grpcPieces(request, agent, call), open)))
        }
        if (agent.foreign) {
          requireForeignUrl(agent.foreign, request.url)
          return streamAnswer(call, toFrames(sendForeign(agent.foreign, request, call.incoming.signal)))
        }
        if (!request.url.startsWith('/')) throw invalid('url', 'expected a path that starts with a slash')
        return streamAnswer(call, toFrames(httpPieces(request, id, call, answer)))
      },
    },
  ]
}

/** The filters of the wire log. */
function readLogQuery(query: URLSearchParams): WireLogQuery {
  const [agent, source, search] = ['agent', 'source', 'search'].map((name) => query.get(name) || undefined)
  const sources: readonly (string | undefined)[] = [undefined, 'client', 'wire', 'check']
  if (!sources.includes(source)) throw invalid('source', 'expected client, wire or check')
  if ((search ?? '').length > 500) throw invalid('search', 'expected at most 500 characters')
  return defined({ agent, source: source as WireSource | undefined, search })
}

/** Rows as they change, after the last one that the reader has. */
async function* changesOf(log: WireLog, { incoming, query }: OperatorCall): AsyncGenerator<StreamedRow> {
  const { agent } = readLogQuery(query)
  const { signal } = incoming
  const last = incoming.header('last-event-id') ?? ''
  let at = /^\d{1,15}$/.test(last) ? Number(last) : log.position()
  while (!signal.aborted) {
    const changes = await log.changes(at, signal)
    at = changes.at
    for (const row of changes.rows) if (agent === undefined || row.agent === agent) yield { id: at, value: row }
    await pause(reportInterval, signal)
  }
}

interface StreamedRow {
  readonly id: number
  readonly value: WireExchangeRow
}

/** Keeps the pieces of an answer in the wire log. */
async function* recorded(pieces: AsyncIterable<Piece>, open: OpenExchange): AsyncGenerator<Piece> {
  try {
    for await (const piece of pieces) {
      if ('text' in piece) open.chunk(piece.text)
      else open.answer(piece.status, piece.headers as Readonly<Record<string, string>>)
      yield piece
    }
  } catch (error) {
    open.end(error instanceof Error ? error.message : 'The request failed.')
    throw error
  } finally {
    open.end()
  }
}

function compose(request: ComposeRequest, foreign: ForeignAgent | undefined): WireRequest {
  const { agent, dialect: version, binding, operation: name } = request
  const wireBinding = binding === 'REST' ? 'HTTP+JSON' : binding
  const dialect = clientDialectFor(version, wireBinding)
  if (!Object.hasOwn(dialect.methods, name)) {
    throw invalid('operation', `A2A ${version} has ${Object.keys(dialect.methods).join(', ')}`)
  }
  const address = foreign && foreignAddress(foreign, version, wireBinding)
  const operation = name as Operation
  const params = encode(dialect, operation, request, address?.tenant)
  if (binding === 'GRPC') {
    if (!dialect.grpc) throw invalid('binding', `A2A ${version} has no gRPC binding`)
    const headers = { 'content-type': 'application/grpc+proto', 'a2a-version': version }
    const url = `${dialect.grpc.service}/${dialect.methods[operation]}`
    return { agent, binding, method: 'POST', url, headers, body: JSON.stringify(params, null, 2) }
  }
  const common = { accept: isStream(operation) ? 'text/event-stream' : 'application/json', 'a2a-version': version }
  if (binding === 'JSONRPC') {
    const body = { jsonrpc: '2.0', id: 1, method: dialect.methods[operation], params }
    const headers = { 'content-type': 'application/json', ...common }
    const url = address?.url ?? '/'
    return { agent, binding, method: 'POST', url, headers, body: JSON.stringify(body, null, 2) }
  }
  const { rest } = dialect
  if (!rest) throw invalid('binding', `A2A ${version} has no REST binding`)
  const { method, path, query = {}, body = {} } = rest.toRequest(operation, params)
  const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, `${value}`]))
  const url = `${restBase(rest.prefix, address?.url ?? '')}${path}${search.size === 0 ? '' : `?${search}`}`
  const headers = { ...defined({ 'content-type': method === 'POST' ? rest.contentType : undefined }), ...common }
  return { agent, binding, method, url, headers, body: method === 'POST' ? JSON.stringify(body, null, 2) : '' }
}

/** Some cards already have the prefix of the version in the address. */
function restBase(prefix: string, address: string): string {
  const plain = address.replace(/\/+$/, '')
  return prefix !== '' && plain.endsWith(prefix) ? plain : `${plain}${prefix}`
}

/** The dialect of a version in a binding, or its first one if the version lacks the binding. */
function clientDialectFor(version: ComposeRequest['dialect'], binding: Binding): ClientDialect {
  const names = dialectsOfVersion[version]
  const name = names.find((each) => dialectPairs[each].client.bindings.includes(binding)) ?? names[0]
  return dialectPairs[name].client
}

function encode(
  dialect: ClientDialect,
  operation: Operation,
  { text = 'Hello', taskId = '', webhook = 'https://example.com/webhook', configId = 'config' }: ComposeRequest,
  tenant: string | undefined,
) {
  const message = defined({
    messageId: crypto.randomUUID(),
    role: 'user' as const,
    parts: [{ text }],
    taskId: taskId === '' ? undefined : taskId,
  })
  const common = defined({ tenant })
  const requests: { readonly [O in Operation]: RequestOf<O> } = {
    sendMessage: { ...common, message },
    streamMessage: { ...common, message },
    getTask: { ...common, taskId },
    listTasks: { ...common, pageSize: 10 },
    cancelTask: { ...common, taskId },
    subscribeToTask: { ...common, taskId },
    createPushConfig: { ...common, taskId, url: webhook },
    getPushConfig: { ...common, taskId, id: configId },
    listPushConfigs: { ...common, taskId },
    deletePushConfig: { ...common, taskId, id: configId },
    getExtendedCard: common,
  }
  const encodeRequest = dialect.encodeRequest[operation as UnaryOperation] as (
    request: unknown,
  ) => ReturnType<ClientDialect['encodeRequest'][UnaryOperation]>
  return encodeRequest(requests[operation])
}

/** What arrives of an answer: its head first, then its texts. */
type Piece = Omit<Extract<WireFrame, { type: 'head' }>, 'type' | 'at'> | { readonly text: string }

async function* toFrames(pieces: AsyncIterable<Piece>): AsyncGenerator<{ value: WireFrame }> {
  let left = maxAnswer
  try {
    for await (const piece of pieces) {
      if (!('text' in piece)) {
        yield { value: { type: 'head', at: Date.now(), ...piece } }
        continue
      }
      yield { value: { type: 'chunk', at: Date.now(), text: piece.text.slice(0, left) } }
      left -= piece.text.length
      if (left <= 0) throw new Error(`The answer is longer than ${maxAnswer} characters, and the rest is not shown.`)
    }
    yield { value: { type: 'end', at: Date.now() } }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'The request failed.'
    yield { value: { type: 'end', at: Date.now(), error: message } }
  }
}

/** Sends a request through the endpoint of the browser, so that the caller is the principal of the session. */
async function* httpPieces(
  request: WireRequest,
  id: string,
  { incoming, session }: OperatorCall,
  answer: BrowserEndpoints,
): AsyncGenerator<Piece> {
  const outgoing = await answer(toIncoming(request, id, incoming), session, {
    source: 'wire',
    headers: request.headers,
  })
  const { status, headers } = outgoing
  yield { status, headers: { ...headers } }
  for await (const text of textsOf(outgoing)) yield { text }
}

/** The code of gRPC is slow to load. Its status is in the headers, or the error at the end: HTTP always has 200. */
async function* grpcPieces(request: WireRequest, agent: ConsoleHosted, call: OperatorCall): AsyncGenerator<Piece> {
  const { callGrpc } = await import('./wire-grpc.ts')
  for await (const piece of callGrpc(request, agent, call)) {
    yield 'text' in piece ? piece : { status: 200, headers: { ...piece.headers } }
  }
}

function toIncoming({ method, url, headers, body }: WireRequest, id: string, outer: Incoming): Incoming {
  const { pathname, search } = new URL(url, 'http://agent.invalid')
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const path = `${consolePath}/a2a/${encodeURIComponent(id)}${pathname}`
  const bytes = new TextEncoder().encode(body)
  const named: Incoming = {
    ...withPath(outer, path),
    method,
    query: search.slice(1),
    // The host of the page is the one at which the agent is reached.
    header: (name) => sent.get(name) ?? (name === 'host' ? outer.header('host') : undefined),
    signal: outer.signal,
  }
  return { ...withBody(named, Promise.resolve(bytes)), method, query: search.slice(1) }
}

async function* textsOf({ body = '' }: Outgoing): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const pieces = isComplete(body) ? [body].flat() : body
  for await (const piece of pieces) yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, milliseconds)
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

function requireGrpc({ options, foreign }: ConsoleHosted): void {
  if (foreign) {
    const text = 'The wire page calls agents of other servers over JSON-RPC and REST.'
    throw new OperatorFailure(501, 'not-available', text)
  }
  if (options.grpc) return
  const text = 'The server does not serve this agent over gRPC: start it with grpc: true.'
  throw new OperatorFailure(501, 'not-available', text)
}

const short = string({ max: 500 })

const composeSchema = object({
  agent: short,
  dialect: literal(...protocolVersions),
  binding: literal('JSONRPC', 'REST', 'GRPC'),
  operation: short,
  text: optional(string({ max: 100_000 })),
  taskId: optional(short),
  webhook: optional(string({ max: 4_000 })),
  configId: optional(short),
})

const wireSchema = object({
  agent: short,
  binding: literal('JSONRPC', 'REST', 'GRPC'),
  method: literal('GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'),
  url: string({ max: 4_000 }),
  headers: map(string({ max: 10_000 })),
  body: string({ max: 10 * 1024 * 1024 }),
})
