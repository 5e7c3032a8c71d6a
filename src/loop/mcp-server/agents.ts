import { systemClock } from '../../core/base/clock.ts'
import { type Client, createClient } from '../../core/client/client.ts'
import { connect } from '../../core/client/connect.ts'
import type { ConnectOptions, Target } from '../../core/client/options.ts'
import type { AgentCard } from '../../core/protocol/card.ts'
import type { Service } from '../../core/protocol/service.ts'

export interface CardedService {
  readonly card: AgentCard
  readonly service: Service
}

/** An agent whose skills become tools: any target of `connect`, a client, or a service with its card. */
export type McpAgent = Target | Client | CardedService

/** One agent, several, or several by the prefix of their tool names. */
export type McpAgents = McpAgent | readonly McpAgent[] | { readonly [prefix: string]: McpAgent }

export interface ConnectedAgent {
  readonly client: Client
  /** Prefix of the tool names. Empty for a single agent. */
  readonly prefix: string
}

export async function connectAgents(agents: McpAgents, options: ConnectOptions): Promise<readonly ConnectedAgent[]> {
  if (isSingle(agents)) return [{ client: await toClient(agents, options), prefix: '' }]
  const prefixed = Array.isArray(agents)
    ? agents.map((agent: McpAgent) => [undefined, agent] as const)
    : Object.entries(agents as Readonly<Record<string, McpAgent>>)
  if (prefixed.length === 0) throw new TypeError('createMcpServer(): expected an agent, got none')
  return await Promise.all(
    prefixed.map(async ([prefix, agent]) => {
      const client = await toClient(agent, options)
      return { client, prefix: `${prefix ?? client.card.name.toLowerCase()}_` }
    }),
  )
}

/** Every kind of agent has one of these members; an object without them maps prefixes to agents. */
function isSingle(agents: McpAgents): agents is McpAgent {
  if (typeof agents !== 'object' || agents instanceof URL) return true
  if (Array.isArray(agents)) return false
  return 'service' in agents || 'fetch' in agents || 'name' in agents
}

async function toClient(agent: McpAgent, options: ConnectOptions): Promise<Client> {
  if (isClient(agent)) return agent
  if (isCardedService(agent))
    return createClient({
      card: () => agent.card,
      onCard() {},
      service: agent.service,
      explain: () => ({ steps: [], endpoint: undefined, lines: [] }),
      timeout: options.timeout ?? 60_000,
      clock: systemClock,
    })
  return await connect(agent, options)
}

function isClient(agent: McpAgent): agent is Client {
  return isCardedService(agent) && 'send' in agent
}

function isCardedService(agent: McpAgent): agent is CardedService {
  return typeof agent === 'object' && 'service' in agent && 'card' in agent
}
