/** `parley-a2a/server` on Node: its agents call other agents by a `fetch` that refuses private addresses. */

export { agent, reachAgents } from '../core/node/local-agent.node.ts'
export * from './server.ts'
