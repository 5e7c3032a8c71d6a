/** `parley-a2a/server` on Cloudflare Workers: without the client, which `calls.reach` brings. */

export { agent } from '../integrations/cloudflare/agent.ts'
export * from './server.ts'
