/** `parley-a2a/server` on Cloudflare Workers: without the client, which `calls.reach` brings, and with nothing shared by requests. */

export { agent } from '../integrations/cloudflare/agent.ts'
export { createHandler } from '../integrations/cloudflare/handler.ts'
export * from './server.ts'
