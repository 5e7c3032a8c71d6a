import { join } from 'node:path'
import type { Agent } from './agent/agent.ts'
import { speakers } from './dialects/all.ts'
import { originOf } from './http/forwarded.ts'
import { type Listening, type ListenOptions, listen } from './node/listen.ts'
import { consoleLogger, type Logger } from './protocol/logger.ts'
import { slug } from './server/card.ts'
import { createHandler, type Handler, type HandlerOptions } from './server/handler.ts'
import { createSqliteLog } from './stores/sqlite/index.ts'
import type { GrpcExchange } from './transports/grpc/rpc.ts'

export interface ServeOptions extends HandlerOptions, Partial<Omit<ListenOptions, 'grpc'>> {
  /** The folder of the durable task log. Not used when a `log` is handed in. */
  readonly directory?: string
  /** On SIGTERM and SIGINT: how long running turns may take to finish, in milliseconds. */
  readonly drainDeadline?: number
  /** Whether SIGTERM and SIGINT close the server. */
  readonly signals?: boolean
}

export interface Server {
  readonly url: string
  readonly cardUrl: string
  readonly port: number
  /** Takes no new work, lets turns finish, ends streams so that they can be resumed, and stops. */
  close(): Promise<void>
}

/** How long callers may take to read how their turns ended, in milliseconds, before they are cut off. */
const readingTime = 2_000

/** Serves an agent over HTTP, on a durable task log in the file `.parley/<name>.db` unless told otherwise. */
export async function serve(agent: Agent, options: ServeOptions = {}): Promise<Server> {
  const { directory = '.parley', drainDeadline = 10_000, signals = true, logger = consoleLogger } = options
  const log = options.log ?? createSqliteLog({ file: join(directory, `${slug(agent.profile.name)}.db`) })
  const handler = createHandler(agent, { ...options, log })
  const draining = new AbortController()

  async function open(): Promise<Listening> {
    const grpc = options.grpc ? await loadGrpc(handler, { ...options, logger, draining: draining.signal }) : undefined
    return await listen(handler.exchange, { port: 0, ...options, grpc })
  }

  const listening = await open().catch(async (error) => {
    await handler.drain(0)
    if (!options.log) await log.close()
    throw error
  })
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    draining.abort()
    const drained = handler.drain(drainDeadline)
    await Promise.all([drained, listening.close({ deadline: readingTime, drained })])
    if (!options.log) await log.close()
  }

  function onSignal(): void {
    closing ??= close().catch((error) => {
      logger.error({ error }, 'the server could not be closed cleanly')
      process.exitCode = 1
    })
  }
  if (signals) process.on('SIGTERM', onSignal).on('SIGINT', onSignal)

  return {
    url: listening.url,
    cardUrl: `${listening.url}/.well-known/agent-card.json`,
    port: listening.port,
    close() {
      closing ??= close()
      return closing
    },
  }
}

interface LoadGrpcOptions extends HandlerOptions {
  readonly logger: Logger
  readonly draining: AbortSignal
}

/** Only those who switch it on pay for it. */
async function loadGrpc({ service }: Handler, options: LoadGrpcOptions): Promise<GrpcExchange> {
  const { createGrpc } = await import('./transports/grpc/server.ts')
  const { logger } = options
  return createGrpc({
    ...options,
    service,
    dialects: speakers(options),
    originOf: (incoming) => originOf(incoming, options),
    onError: (error) => logger.error({ error }, 'a gRPC call failed unexpectedly'),
  })
}
