import type { Outgoing } from '../core/http/exchange.ts'
import { literal } from '../core/schema/unions.ts'
import { list, map, object, optional, string } from '../core/schema/values.ts'
import type { ConnectAnswer, ConnectCredentials, ConnectRequest, RecentAgents } from './contract-tools.ts'
import { invalid, jsonAnswer } from './failures.ts'
import { type Route, readBody } from './routes.ts'

/** The path, below that of the console, to which the browser returns after the operator has agreed. */
export const connectCallbackPath = '/connected'

/** Connections to agents of other servers. */
export interface ConsoleConnections {
  connect(request: ConnectRequest): Promise<ConnectAnswer>
  /** Forgets an agent with its credentials. Throws if there is none. */
  remove(agent: string): void
  recent(): RecentAgents
  /** The browser has returned, with this query. */
  finish(query: string): Promise<Outgoing>
}

/** The operations about connections. Only a console on the operator's own machine has them. */
export function connectionRoutes(connections: ConsoleConnections): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/connections',
      role: 'operator',
      handle: async () => jsonAnswer(connections.recent()),
    },
    {
      method: 'POST',
      path: '/connections',
      role: 'operator',
      handle: async (call) => jsonAnswer(await connections.connect(readRequest(await readBody(call, schema)))),
    },
    {
      method: 'DELETE',
      path: '/connections/:agent',
      role: 'operator',
      async handle(_call, agent: string) {
        connections.remove(agent)
        return { status: 204, headers: { 'cache-control': 'no-store' } }
      },
    },
  ]
}

const secret = string({ min: 1, max: 16 * 1024 })

const schema = object({
  url: string({ min: 1, max: 4_000 }),
  headers: optional(map(string({ max: 10_000 }))),
  credentials: optional(
    object({
      type: literal('bearer', 'api-key', 'basic', 'oauth'),
      secret: optional(secret),
      user: optional(string({ min: 1, max: 1_000 })),
      clientId: optional(string({ min: 1, max: 1_000 })),
      scopes: optional(list(string({ max: 200 }), { max: 50 })),
    }),
  ),
})

type Body = ReturnType<(typeof schema)['read']>

function readRequest({ url, headers = {}, credentials }: Body): ConnectRequest {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]{1,200}$/.test(name))
      throw invalid('headers', `${JSON.stringify(name)} is no name of a header`)
    if (/[\r\n\0]/.test(value)) throw invalid('headers', `the value of ${name} has a line break`)
  }
  return { url: url.trim(), headers, ...(credentials && { credentials: readCredentials(credentials) }) }
}

function readCredentials(credentials: NonNullable<Body['credentials']>): ConnectCredentials {
  const { type, secret, user, clientId, scopes = [] } = credentials
  if (type === 'oauth') {
    if (clientId === undefined) throw invalid('credentials.clientId', 'expected the id of the client')
    return { type, clientId, scopes, ...(secret !== undefined && { secret }) }
  }
  if (secret === undefined) throw invalid('credentials.secret', 'expected the secret')
  if (type !== 'basic') return { type, secret }
  if (user === undefined) throw invalid('credentials.user', 'expected the name of the user')
  return { type, user, secret }
}
