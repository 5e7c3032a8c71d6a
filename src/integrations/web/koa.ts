import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Exchange, exchangeOf } from '../../core/http/exchange.ts'
import { createAnswer } from '../../core/node/listener.ts'

/** What the middleware uses of a Koa context, 2 or 3. */
export interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** The request. Body parsers add what they have read. */
  readonly request: object
  readonly originalUrl: string
  readonly path: string
  readonly querystring: string
  respond?: boolean
}

/**
 * Koa middleware that serves an agent: at the root, or below a path with `koa-mount`. At the root it passes requests for
 * other paths on.
 *
 * @example
 * app.use(mount('/agents/echo', koaMiddleware(handler)))
 */
export function koaMiddleware(handler: {
  readonly exchange: Exchange
}): (context: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const exchange = exchangeOf(handler, 'koaMiddleware')
  const answer = createAnswer(exchange)
  return async (context, next) => {
    const { req, res, path, querystring } = context
    const { rawBody, body = undefined }: ParsedRequest = context.request
    const passed = {
      url: querystring === '' ? path : `${path}?${querystring}`,
      base: removedPath(context),
      body: rawBody ?? body,
      onResponse() {
        context.respond = false
      },
    }
    if (!(await answer(req, res, passed, true))) await next()
  }
}

interface ParsedRequest {
  readonly rawBody?: unknown
  readonly body?: unknown
}

/** The path that mounts have removed from the front of the request's path. */
function removedPath({ originalUrl, path }: KoaContext): string {
  const original = new URL(originalUrl, 'http://localhost').pathname
  const removed = original.endsWith(path) ? original.slice(0, -path.length) : path === '/' ? original : ''
  return removed.replace(/\/$/, '')
}
