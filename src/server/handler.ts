import type { Agent } from '../agent/agent.ts'
import { allDialects } from '../dialects/all.ts'
import type { Speaking } from '../dialects/negotiate.ts'
import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { toFetch } from '../http/fetch.ts'
import type { OriginOptions } from '../http/forwarded.ts'
import { consoleLogger } from '../protocol/logger.ts'
import { anonymous } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import type { RuntimeOptions } from '../runtime/options.ts'
import { createRuntime } from '../runtime/runtime.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import { createJsonRpc, type WireLimits } from '../transports/jsonrpc/server.ts'
import { jsonAnswer, problem } from './answers.ts'
import { createCardPage } from './card-page.ts'

export interface HandlerOptions
  extends Partial<Omit<RuntimeOptions, 'agent'>>,
    WireLimits,
    Pick<Speaking, 'missingVersion'>,
    OriginOptions {
  /** Where JSON-RPC is served. */
  readonly path?: string
}

/** An agent behind HTTP, without a socket: mount it wherever `fetch` is spoken. */
export interface Handler {
  readonly fetch: (request: Request) => Promise<Response>
  /** The same, for rims that need no `Request` and `Response`. */
  readonly exchange: Exchange
  readonly service: Service
  /** Takes no new work, lets turns finish until the deadline (milliseconds), then ends turns and streams. */
  drain(deadline: number): Promise<void>
}

export function createHandler(agent: Agent, options: HandlerOptions = {}): Handler {
  const { path = '/', logger = consoleLogger } = options
  const runtime = createRuntime({ ...options, logger, agent, log: options.log ?? createMemoryLog() })
  const answerCard = createCardPage(agent, path, options)
  const answerRpc = createJsonRpc({
    ...options,
    service: runtime.service,
    recall: runtime.recall,
    dialects: allDialects,
    onError: (error) => logger.error({ error }, 'a request failed unexpectedly'),
  })
  let isDraining = false

  async function exchange(incoming: Incoming): Promise<Outgoing> {
    const { method } = incoming
    const isRead = method === 'GET' || method === 'HEAD'
    switch (incoming.path) {
      case path:
        if (method === 'POST') return await answerRpc(incoming, anonymous)
        return problem(405, `This is an A2A endpoint: POST JSON-RPC here. ${hint}`, { allow: 'POST' })
      case cardPath:
        return isRead ? answerCard(incoming) : problem(405, 'The card can only be read.', { allow: 'GET, HEAD' })
      case '/healthz':
        if (!isRead) return problem(405, 'Health can only be read.', { allow: 'GET, HEAD' })
        return isDraining ? jsonAnswer(503, { status: 'draining' }) : jsonAnswer(200, { status: 'ok' })
    }
    return problem(404, `There is nothing at this path. JSON-RPC is at ${incoming.base}${path}. ${hint}`)
  }

  return {
    exchange,
    fetch: toFetch(exchange),
    service: runtime.service,
    async drain(deadline) {
      isDraining = true
      await runtime.drain(deadline)
    },
  }
}

const cardPath = '/.well-known/agent-card.json'
const hint = `The agent describes itself at ${cardPath}.`
