import { type Client, createClient } from '../client/client.ts'
import { connect } from '../client/connect.ts'
import type { ConnectOptions, Target } from '../client/options.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Service } from '../protocol/service.ts'

export interface CardedService {
  readonly card: AgentCard
  readonly service: Service
}

/** An agent whose skills are to be tools: an address or whatever `connect` takes, a client, or a service with its card. */
export type McpAgent = Target | Client | CardedService

/** One agent, several, or several by what stands before the names of their tools. */
export type McpAgents = McpAgent | readonly McpAgent[] | { readonly [prefix: string]: McpAgent }

export interface NamedAgent {
  readonly client: Client
  /** Empty if there is only one. */
  readonly prefix: string
}

export async function openAgents(agents: McpAgents, options: ConnectOptions): Promise<readonly NamedAgent[]> {
  if (isOne(agents)) return [{ client: await open(agents, options), prefix: '' }]
  const named = Array.isArray(agents)
    ? agents.map((each: McpAgent) => [undefined, each] as const)
    : Object.entries(agents as Readonly<Record<string, McpAgent>>)
  if (named.length === 0) throw new TypeError('mcpServer(): expected an agent, got none')
  return await Promise.all(
    named.map(async ([prefix, each]) => {
      const client = await open(each, options)
      return { client, prefix: `${prefix ?? client.card.name.toLowerCase()}_` }
    }),
  )
}

/** Everything that is an agent has one of these; what is neither has agents by their prefixes. */
function isOne(agents: McpAgents): agents is McpAgent {
  if (typeof agents !== 'object' || agents instanceof URL) return true
  if (Array.isArray(agents)) return false
  return 'service' in agents || 'fetch' in agents || 'name' in agents
}

async function open(agent: McpAgent, options: ConnectOptions): Promise<Client> {
  if (isClient(agent)) return agent
  if (isCarded(agent)) return createClient({ ...agent, explain: () => ({ steps: [], endpoint: undefined, lines: [] }) })
  return await connect(agent, options)
}

function isClient(agent: McpAgent): agent is Client {
  return isCarded(agent) && 'send' in agent
}

function isCarded(agent: McpAgent): agent is CardedService {
  return typeof agent === 'object' && 'service' in agent && 'card' in agent
}
