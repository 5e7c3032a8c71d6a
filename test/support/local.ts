import { onTestFinished } from 'vitest'
import { type AgentFunction, agent } from '../../src/agent/agent.ts'
import { createHandler, type Handler, type HandlerOptions } from '../../src/server/handler.ts'
import { forAll, quiet } from './house.ts'

/** An agent in this process, gone after the test. */
export function local(run: AgentFunction, options: Partial<HandlerOptions> = {}): Handler {
  const handler = createHandler(agent({ name: 'Test' }, run), {
    auth: forAll,
    logger: quiet,
    cancelGrace: 50,
    ...options,
  })
  onTestFinished(() => handler.drain(0))
  return handler
}

type Answer = (request: Request) => Response | undefined | Promise<Response | undefined>

export interface Peer {
  readonly fetch: (request: Request) => Promise<Response>
  /** What was asked, as `GET /path`. */
  readonly asked: readonly string[]
  readonly requests: readonly Request[]
}

/** Whoever answers first of these; 404 if nobody does. */
export function peerOf(...answers: readonly Answer[]): Peer {
  const asked: string[] = []
  const requests: Request[] = []
  return {
    asked,
    requests,
    async fetch(request) {
      asked.push(`${request.method} ${new URL(request.url).pathname}`)
      requests.push(request.clone())
      for (const answer of answers) {
        const response = await answer(request.clone())
        if (response) return response
      }
      return new Response('Not Found', { status: 404 })
    },
  }
}

export const cardPath = '/.well-known/agent-card.json'
export const oldCardPath = '/.well-known/agent.json'

/** Serves this card, and nothing else. */
export function card(wire: object, path = cardPath): Answer {
  return (request) => (new URL(request.url).pathname === path ? Response.json(wire) : undefined)
}

/** Everything but cards goes to the agent. */
export function behind({ fetch }: Pick<Handler, 'fetch'>): Answer {
  return (request) => (request.method === 'GET' && request.url.includes('.well-known') ? undefined : fetch(request))
}
