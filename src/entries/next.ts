/** Route handlers for Next.js that serve an agent. Works without importing Next.js. Needs no Node. */

export { type RouteContext, type RouteHandler, type RouteHandlers, routeHandlers } from '../integrations/web/next.ts'
