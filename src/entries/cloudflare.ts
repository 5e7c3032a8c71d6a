/** Serves agents on Cloudflare Workers, with their tasks in Durable Objects. Needs no Node. */

export { type AgentWorker, createWorker, type WorkerOptions } from '../integrations/cloudflare/worker.ts'
