import type { Exchange, Incoming, Outgoing } from '../core/http/exchange.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { type Interceptor, intercept } from '../core/protocol/intercept.ts'
import { anonymous, type Principal } from '../core/protocol/model.ts'
import { createHttpEndpoint } from '../core/server/http-endpoint.ts'
import { withPath } from '../core/server/mount.ts'
import type { ConsoleAgents, ConsoleHosted } from './agents.ts'
import type { OperatorRole } from './contract.ts'
import { consolePath } from './options.ts'
import { decodeSegment } from './routes.ts'
import type { OperatorSession } from './sessions.ts'

export interface BrowserEndpointOptions {
  readonly agents: ConsoleAgents
  /** The URL of the server, if it is configured. */
  readonly publicUrl?: string | undefined
}

/** Serves the agents to the browser of an operator, each below the path of its id. The caller is the principal of the session. */
export type BrowserEndpoints = (incoming: Incoming, session: OperatorSession) => Promise<Outgoing>

export function createBrowserEndpoints({ agents, publicUrl }: BrowserEndpointOptions): BrowserEndpoints {
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

  return async (incoming, session) => {
    const [, , , segment = '', ...rest] = incoming.path.split('/')
    const { id, agent } = agents.get(decodeSegment(segment))
    const base = `${incoming.base}${consolePath}/a2a/${segment}`
    const request = withPath(incoming, `/${rest.join('/')}`, base)
    principals.set(request, callerOf(session))
    return await endpointOf(id, agent, session.role)(request)
  }
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
