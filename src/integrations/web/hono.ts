import { type Exchange, exchangeOf } from '../../core/http/exchange.ts'
import { answerRequest } from '../../core/http/fetch.ts'
import { basePathFor } from './mounted-path.ts'

/** What the handler uses of a Hono context. */
export interface HonoContext {
  readonly req: {
    readonly raw: Request
    /** The route that matched, such as `/agents/echo/*`. */
    readonly routePath: string
    /** Reads the body, even if a middleware has read it before. */
    arrayBuffer(): Promise<ArrayBuffer>
  }
}

/**
 * A Hono handler that serves an agent below the path of its route, which ends with a wildcard. At the root it passes
 * requests for other paths on.
 *
 * @example
 * app.all('/agents/echo/*', honoHandler(handler))
 */
export function honoHandler(handler: {
  readonly exchange: Exchange
}): (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  const exchange = exchangeOf(handler, 'honoHandler')
  return async ({ req }, next) => {
    const base = basePathFor(req.routePath, new URL(req.raw.url).pathname)
    let isUnrouted = false
    const observed: Exchange = async (incoming) => {
      const outgoing = await exchange(incoming)
      isUnrouted = outgoing.isUnrouted === true
      return outgoing
    }
    const response = await answerRequest(observed, req.raw, { base, readConsumed: () => req.arrayBuffer() })
    if (!isUnrouted || base !== '') return response
    await next()
    return undefined
  }
}
