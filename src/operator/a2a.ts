import { defined } from '../core/base/json.ts'
import { type Exchange, type Incoming, isComplete, type Outgoing, withBytes } from '../core/http/exchange.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { inputRequestIn } from '../core/protocol/extensions/client-tools.ts'
import { type Interceptor, intercept } from '../core/protocol/intercept.ts'
import { anonymous, type Principal } from '../core/protocol/model.ts'
import { createHttpEndpoint } from '../core/server/http-endpoint.ts'
import { withPath } from '../core/server/mount.ts'
import { type ConsoleAgents, type ConsoleHosted, urlOf } from './agents.ts'
import type { OperatorRole } from './contract.ts'
import type { WireSource } from './contract-tools.ts'
import { consolePath } from './options.ts'
import { decodeSegment } from './routes.ts'
import type { OperatorSession } from './sessions.ts'
import type { OpenExchange, WireLog } from './wire-log.ts'

export interface BrowserEndpointOptions {
  readonly agents: ConsoleAgents
  readonly wireLog: WireLog
  /** The URL of the server, if it is configured. */
  readonly publicUrl?: string | undefined
}

/**
 * Serves the agents to the browser of an operator, each below the path of its id. The caller is the principal of the session.
 * `sent` describes a request of the wire page, for the wire log.
 */
export type BrowserEndpoints = (
  incoming: Incoming,
  session: OperatorSession,
  sent?: { readonly source: WireSource; readonly headers: Readonly<Record<string, string>> },
) => Promise<Outgoing>

export function createBrowserEndpoints({ agents, publicUrl, wireLog }: BrowserEndpointOptions): BrowserEndpoints {
  const endpoints = new WeakMap<ConsoleHosted, Partial<Record<OperatorRole, Exchange>>>()
  const principals = new WeakMap<Incoming, Principal>()

  function endpointOf(id: string, agent: ConsoleHosted, role: OperatorRole): Exchange {
    const byRole = endpoints.get(agent) ?? {}
    const endpoint = byRole[role] ?? createEndpoint(id, agent, role)
    endpoints.set(agent, { ...byRole, [role]: endpoint })
    return endpoint
  }

  /** The usual endpoint of the agent, with other addresses on its card, and without what a session replaces. */
  function createEndpoint(id: string, hosted: ConsoleHosted, role: OperatorRole): Exchange {
    const { securitySchemes: _, security: __, ...card } = hosted.card
    const address = publicUrl?.replace(/\/+$/, '')
    return createHttpEndpoint(
      {
        ...hosted,
        service: role === 'operator' ? hosted.service : intercept(hosted.service, [rejectChanges]),
        authenticate: (incoming) => principals.get(incoming) ?? anonymous,
        card,
        signer: undefined,
        rateHeaders: undefined,
        metrics: undefined,
        hostCheck: undefined,
      },
      {
        ...hosted.options,
        tenant: undefined,
        grpcTenant: undefined,
        cors: undefined,
        keys: undefined,
        cardAuth: undefined,
        path: '/',
        grpc: false,
        publicUrl: address === undefined ? undefined : `${address}${consolePath}/a2a/${encodeURIComponent(id)}`,
      },
    )
  }

  return async (incoming, session, sent) => {
    const [, , , segment = '', ...rest] = incoming.path.split('/')
    const found = agents.get(decodeSegment(segment))
    const { id, agent } = found
    const base = `${incoming.base}${consolePath}/a2a/${segment}`
    const path = `/${rest.join('/')}`
    const request = withPath(incoming, path, base)
    const endpoint = endpointOf(id, agent, session.role)
    // Requests to another server are recorded when they are sent to it. The card here has the addresses of the console.
    if (agent.foreign || path.startsWith('/.well-known/')) {
      principals.set(request, callerOf(session))
      return await endpoint(request)
    }
    const open = wireLog.begin({
      agent: { id: () => id },
      source: sent?.source ?? 'client',
      method: incoming.method,
      url: `${urlOf(found, incoming)}${path === '/' ? '' : path}${incoming.query === '' ? '' : `?${incoming.query}`}`,
      headers: sent?.headers ?? headersOf(incoming),
      body: '',
    })
    const recorded = withBytes(request, async (limit) => {
      const bytes = await request.bytes(limit)
      const text = new TextDecoder().decode(bytes)
      await noteSensitive(agent, text, wireLog)
      open.body(text)
      return bytes
    })
    principals.set(recorded, callerOf(session))
    return recordOutgoing(await endpoint(recorded), open)
  }
}

/** The headers of A2A, and of HTTP as far as they matter to it. */
const recordedHeaders = [
  ...['accept', 'content-type', 'a2a-version', 'a2a-extensions', 'x-a2a-extensions', 'idempotency-key'],
  ...['last-event-id', 'traceparent', 'prefer'],
]

function headersOf({ header }: Incoming): Readonly<Record<string, string>> {
  return defined(Object.fromEntries(recordedHeaders.map((name) => [name, header(name)]))) as Record<string, string>
}

/** The answer to a sensitive question is not kept: another replica may have shown the question. */
async function noteSensitive({ log }: ConsoleHosted, text: string, wireLog: WireLog): Promise<void> {
  const [, taskId] = /"(?:taskId|task_id)"\s*:\s*"([^"]{1,200})"/.exec(text) ?? []
  if (taskId === undefined || !log.operator) return
  const task = await log.operator.task(taskId)
  const request = task?.status?.message && inputRequestIn(task.status.message)
  if (request?.sensitive === true) wireLog.expectSecret(taskId)
}

function recordOutgoing(outgoing: Outgoing, open: OpenExchange): Outgoing {
  const { status, headers, body = '' } = outgoing
  open.answer(status, headers)
  if (isComplete(body)) {
    for (const text of [body].flat()) open.chunk(text)
    open.end()
    return outgoing
  }
  async function* pieces() {
    const decoder = new TextDecoder()
    try {
      for await (const piece of body as AsyncIterable<string | Uint8Array>) {
        open.chunk(typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }))
        yield piece
      }
    } finally {
      open.end()
    }
  }
  return { ...outgoing, body: pieces() }
}

/** The caller of what an operator does in the chat: a principal that no credentials of a caller have. */
export function callerOf({ principal, isOpen }: OperatorSession): Principal {
  return isOpen ? principal : { ...principal, isOperator: true }
}

const rejectChanges: Interceptor = {
  unary(operation, request, call, next) {
    const isRead = operation.startsWith('get') || operation.startsWith('list')
    if (!isRead) throw viewersCannot()
    return next(request, call)
  },
  async *streamMessage() {
    yield* refuse()
  },
}

// biome-ignore lint/correctness/useYield: the stream fails before its first event
async function* refuse(): AsyncGenerator<never> {
  throw viewersCannot()
}

function viewersCannot(): A2AError {
  return new A2AError('forbidden', 'Viewers can read, but neither send messages nor cancel tasks.')
}
