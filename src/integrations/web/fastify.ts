import type { IncomingMessage, ServerResponse } from 'node:http'
import { defined } from '../../core/base/json.ts'
import { type Exchange, exchangeOf } from '../../core/http/exchange.ts'
import { createAnswer } from '../../core/node/listener.ts'
import { firstSegments, segmentsOf } from './mounted-path.ts'

/** What the plugin uses of Fastify, 4 or 5. */
export interface FastifyScope {
  readonly prefix: string
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(contentType: string, parser: ContentTypeParser): unknown
  all(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => void): unknown
}

/**
 * A Fastify plugin that serves an agent, below the `prefix` with which it is registered. Bodies are left to the agent,
 * which checks the caller before it reads them, so Fastify's parsers and its `bodyLimit` do not apply.
 *
 * @example
 * await app.register(fastifyPlugin(handler), { prefix: '/agents/echo' })
 */
export function fastifyPlugin(handler: { readonly exchange: Exchange }): (scope: FastifyScope) => Promise<void> {
  const exchange = exchangeOf(handler, 'fastifyPlugin')
  const answer = createAnswer(exchange)
  return async (scope) => {
    const { prefix } = scope
    const prefixSegments = segmentsOf(prefix)

    function handle({ raw, body }: FastifyRequest, reply: FastifyReply): void {
      const { url = '/' } = raw
      const base = firstSegments(url.split('?', 1)[0] ?? '', prefixSegments)
      const passed = defined({
        url: url.slice(base.length),
        base,
        source: isStream(body) && body !== raw ? body : undefined,
        onResponse() {
          for (const [name, value] of Object.entries(reply.getHeaders())) {
            if (value !== undefined) reply.raw.setHeader(name, value)
          }
          reply.hijack()
        },
      })
      void answer(raw, reply.raw, passed, true).then((isAnswered) => isAnswered || reply.callNotFound())
    }

    // Hooks of the application may have put another stream in place of the request.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    scope.all('/', handle)
    scope.all('/*', handle)
  }
}

interface FastifyRequest {
  readonly raw: IncomingMessage
  readonly body: unknown
}

interface FastifyReply {
  readonly raw: ServerResponse
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>
  hijack(): unknown
  callNotFound(): unknown
}

type ContentTypeParser = (
  request: unknown,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
) => void

function isStream(body: unknown): body is IncomingMessage {
  return typeof body === 'object' && body !== null && 'pipe' in body
}
