/** A Hono handler that serves an agent. Works without importing Hono. Free of Node. */

export { type HonoContext, honoHandler } from '../integrations/hono.ts'
