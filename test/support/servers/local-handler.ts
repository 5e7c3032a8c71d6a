import { onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import { createHandler, type Handler } from '../../../src/core/server/handler.ts'
import type { HandlerOptions } from '../../../src/core/server/options.ts'
import { silentLogger } from '../logger.ts'

/** Auth options under which a caller without credentials may list every task. */
export const anonymousListsAll = { anonymous: { listAll: true } } as const

/** Serves an agent in this process without a port. The handler stops after the test. */
export function createLocalHandler(run: AgentFunction, options: Partial<HandlerOptions> = {}): Handler {
  const handler = createHandler(agent({ name: 'Test' }, run), {
    auth: anonymousListsAll,
    logger: silentLogger,
    ...options,
    turns: { cancelGrace: 50 },
  })
  onTestFinished(() => handler.drain(0))
  return handler
}

type Route = (request: Request) => Response | undefined | Promise<Response | undefined>

export interface FakePeer {
  readonly fetch: (request: Request) => Promise<Response>
  /** One line per request: `GET /path`. */
  readonly requestLines: readonly string[]
  readonly requests: readonly Request[]
}

/** A `fetch` that returns the response of the first route that has one, otherwise 404. */
export function fakePeer(...routes: readonly Route[]): FakePeer {
  const requestLines: string[] = []
  const requests: Request[] = []
  return {
    requestLines,
    requests,
    async fetch(request) {
      requestLines.push(`${request.method} ${new URL(request.url).pathname}`)
      requests.push(request.clone())
      for (const route of routes) {
        const response = await route(request.clone())
        if (response) return response
      }
      return new Response('Not Found', { status: 404 })
    },
  }
}

export const cardPath = '/.well-known/agent-card.json'
export const legacyCardPath = '/.well-known/agent.json'

/** Serves this card and nothing else. */
export function cardRoute(wire: object, path = cardPath): Route {
  return (request) => (new URL(request.url).pathname === path ? Response.json(wire) : undefined)
}

/** Passes every request except card requests to the agent. */
export function agentRoute({ fetch }: Pick<Handler, 'fetch'>): Route {
  return (request) => (request.method === 'GET' && request.url.includes('.well-known') ? undefined : fetch(request))
}
