import { type Exchange, exchangeOf } from '../../core/http/exchange.ts'
import { answerRequest } from '../../core/http/fetch.ts'
import { firstSegments, segmentsOf } from './mounted-path.ts'

/** The parameters of a route. Next.js passes a promise since version 15. */
export interface RouteContext {
  readonly params: Promise<RouteParams> | RouteParams
}

/** Answers the requests of one HTTP method, as Next.js calls it. */
export type RouteHandler = (request: Request, context: RouteContext) => Promise<Response>

/** The exports of a route file of Next.js. */
export type RouteHandlers = Readonly<Record<'GET' | 'HEAD' | 'POST' | 'DELETE' | 'OPTIONS', RouteHandler>>

/**
 * Route handlers for the App Router of Next.js, which serve an agent below the folder of a route that takes all paths,
 * such as `app/agents/echo/[[...path]]/route.ts`.
 *
 * @example
 * export const { GET, HEAD, POST, DELETE, OPTIONS } = routeHandlers(handler)
 */
export function routeHandlers(handler: { readonly exchange: Exchange }): RouteHandlers {
  const exchange = exchangeOf(handler, 'routeHandlers')
  const handle: RouteHandler = async (request, { params }) => {
    const { pathname } = new URL(request.url)
    const rest = Object.values(await params).find((value) => Array.isArray(value)) ?? []
    return await answerRequest(exchange, request, { base: firstSegments(pathname, segmentsOf(pathname) - rest.length) })
  }
  return { GET: handle, HEAD: handle, POST: handle, DELETE: handle, OPTIONS: handle }
}

type RouteParams = Readonly<Record<string, string | readonly string[] | undefined>>
