/** A Hono handler that serves an agent. Works without importing Hono. Needs no Node. */

export { type HonoContext, honoHandler } from '../integrations/web/hono.ts'
