/** Koa middleware that serves an agent. Works without importing Koa. */

export { type KoaContext, koaMiddleware } from '../integrations/web/koa.ts'
