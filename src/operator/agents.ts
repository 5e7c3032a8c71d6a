import { type CardVerifierOptions, createCardVerifier } from '../core/auth/card-signature/verify-card.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import { canBeSigned, encodeCardAs } from '../core/dialects/served-card.ts'
import { serverDialects } from '../core/dialects/server-dialects.ts'
import type { ProtocolVersion } from '../core/dialects/versions.ts'
import type { Incoming } from '../core/http/exchange.ts'
import { originOf } from '../core/http/origin.ts'
import type { AgentCard } from '../core/protocol/card.ts'
import { interfacesAt, slug } from '../core/server/card.ts'
import type { MountedAgent } from '../core/server/host.ts'
import type { HostedAgent } from '../core/server/hosted-agent.ts'
import type { EndpointBackend } from '../core/server/http-endpoint.ts'
import type { OperatorLog } from '../core/tasks/operator-log.ts'
import { withWireDefaults } from '../core/transports/server/options.ts'
import type { AgentCards, AgentSummary } from './contract.ts'
import { jsonAnswer, notFound, OperatorFailure } from './failures.ts'
import { type ForeignAgent, foreignCards, foreignSummary } from './foreign.ts'
import { consolePath } from './options.ts'
import type { Route } from './routes.ts'

/** What the console needs of an agent. */
export type ConsoleHosted = EndpointBackend &
  Pick<HostedAgent, 'uncheckedService' | 'log' | 'options' | 'push' | 'gauges' | 'recovery'> & {
    /** Set if another server serves the agent. */
    readonly foreign?: ForeignAgent | undefined
  }

/** An agent and the address at which the server has it. */
export interface ConsoleMount extends Omit<MountedAgent, 'agent'> {
  readonly agent: ConsoleHosted
  /** Defaults to one made of the address or the name. */
  readonly id?: string | undefined
}

/** An agent of the server, by the id that names it in paths of the API. */
export interface ConsoleAgent extends ConsoleMount {
  readonly id: string
}

/** The agents of a server for one request. */
export interface ConsoleAgents {
  all(): readonly ConsoleAgent[]
  /** Throws if there is no such agent. */
  get(id: string): ConsoleAgent
}

/** Ids come from the addresses of agents, or from their names at the root, so that they stay the same on every replica. */
export function createConsoleAgents(mounted: () => readonly ConsoleMount[]): ConsoleAgents {
  function all(): readonly ConsoleAgent[] {
    const ids = new Set<string>()
    return mounted().map((mount) => {
      const base = mount.id ?? idOf(mount)
      let id = base
      for (let number = 2; ids.has(id); number++) id = `${base}-${number}`
      ids.add(id)
      return { ...mount, id }
    })
  }
  return {
    all,
    get(id) {
      const agent = all().find((each) => each.id === id)
      if (!agent) throw notFound('There is no agent with this id.')
      return agent
    },
  }
}

function idOf({ agent, path, hostname }: ConsoleMount): string {
  const address = [hostname, path, agent.options.tenant].filter((part) => part).join(' ')
  return slug(address === '' ? agent.card.name : address)
}

/** What operators read from the log of an agent. Throws if its log has nothing for them. */
export function operatorLogOf({ agent }: Pick<ConsoleAgent, 'agent'>): OperatorLog {
  const { operator } = agent.log
  if (operator) return operator
  throw new OperatorFailure(501, 'not-available', 'The task log of this agent offers nothing to operators.')
}

/** The routes that describe agents. */
export function agentRoutes(agents: ConsoleAgents): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/agents',
      role: 'viewer',
      handle: async ({ incoming }) => jsonAnswer({ agents: agents.all().map((agent) => summaryOf(agent, incoming)) }),
    },
    {
      method: 'GET',
      path: '/agents/:agent/cards',
      role: 'viewer',
      handle: async ({ incoming }, id: string) => jsonAnswer(await cardsOf(agents.get(id), incoming)),
    },
  ]
}

/** The URL at which callers reach the agent. */
export function urlOf(agent: ConsoleAgent, incoming: Incoming): string {
  if (agent.agent.foreign) return agent.agent.foreign.url
  const { publicUrl, trustProxy } = agent.agent.options
  return atOrigin(agent, originOf({ ...forOrigin(incoming), base: agent.path }, { publicUrl, trustProxy }))
}

/** The URL at which a server that listens at `address` calls its own agent: nothing in a request can change it. */
export function ownUrlOf(agent: ConsoleAgent, address: string): string {
  return atOrigin(agent, agent.agent.options.publicUrl ?? `${address}${agent.path}`)
}

function atOrigin({ agent, hostname }: ConsoleAgent, origin: string): string {
  const { publicUrl, tenant } = agent.options
  const url = new URL(origin)
  if (publicUrl === undefined && hostname !== undefined) url.hostname = hostname
  const end = tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`
  return `${url.href.replace(/\/$/, '')}${end}`
}

function forOrigin({ header, secure }: Incoming): Pick<Incoming, 'header' | 'secure'> {
  return { header, secure }
}

function summaryOf(agent: ConsoleAgent, incoming: Incoming): AgentSummary {
  const { card, options, foreign } = agent.agent
  return defined({
    id: agent.id,
    name: card.name,
    description: card.description,
    url: urlOf(agent, incoming),
    a2a: `${prefixOf(agent.agent, incoming)}${consolePath}/a2a/${encodeURIComponent(agent.id)}`,
    skills: card.skills.map(({ id, name }) => ({ id, name })),
    version: card.version,
    protocolVersions: foreign ? undefined : [...new Set(serverDialects(options).map(({ version }) => version))],
    limits: foreign ? [] : limitsOf(options),
    foreign: foreign && foreignSummary(foreign),
  })
}

/** The path of the server, as browsers see it: a proxy may serve it below one. */
function prefixOf({ options }: ConsoleHosted, incoming: Incoming): string {
  const { trustProxy } = options
  return new URL(originOf({ ...forOrigin(incoming), base: '' }, { trustProxy })).pathname.replace(/\/$/, '')
}

function limitsOf(options: HostedAgent['options']): AgentSummary['limits'] {
  const { bodyLimit, jsonDepth } = withWireDefaults(options)
  const { turnDeadline, inactivityTimeout, queueLimit = 100, whileBusy = 'queue', limits = {} } = options
  const { store: _, ...quotas } = limits
  const texts: Readonly<Record<string, string | undefined>> = {
    'Request body': sizeText(bodyLimit),
    'Nesting of JSON': `${jsonDepth} levels`,
    'Duration of a turn': turnDeadline === undefined ? undefined : durationText(turnDeadline),
    'Silence of a turn': inactivityTimeout === undefined ? undefined : durationText(inactivityTimeout),
    'Messages while busy': whileBusy === 'queue' ? `${queueLimit} wait` : whileBusy,
    ...Object.fromEntries(
      Object.entries(quotas).map(([name, quota]) => [name, JSON.stringify(quota) ?? 'by principal']),
    ),
  }
  return Object.entries(texts).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

/** A size in the largest unit that divides it. */
function sizeText(bytes: number): string {
  if (bytes % 1_048_576 === 0) return `${bytes / 1_048_576} MiB`
  return bytes % 1_024 === 0 ? `${bytes / 1_024} KiB` : `${bytes.toLocaleString('en')} bytes`
}

function durationText(milliseconds: number): string {
  if (milliseconds % 60_000 === 0) return `${milliseconds / 60_000} min`
  return milliseconds % 1_000 === 0 ? `${milliseconds / 1_000} s` : `${milliseconds.toLocaleString('en')} ms`
}

async function cardsOf(agent: ConsoleAgent, incoming: Incoming): Promise<AgentCards> {
  const { card, options, signer, foreign } = agent.agent
  if (foreign) return foreignCards(foreign)
  const origin = urlOf({ ...agent, agent: { ...agent.agent, options: { ...options, tenant: undefined } } }, incoming)
  const dialects = serverDialects(options)
  const complete: AgentCard = { ...card, interfaces: interfacesAt(origin, dialects, options) }
  const versions = [...new Set(dialects.map(({ version }) => version))] as ProtocolVersion[]
  const cards = await Promise.all(
    versions.map(async (version) => {
      const wire = encodeCardAs(version, complete)
      return { version, card: signer && canBeSigned(version) ? await signer.signWire(wire, origin) : wire }
    }),
  )
  return { cards, signature: await signatureOf(agent.agent, cards[0]?.card) }
}

/** Whether callers can verify the card by the keys that the agent publishes. */
async function signatureOf({ options }: ConsoleHosted, card: JsonObject | undefined): Promise<AgentCards['signature']> {
  if (!options.keys) return { state: 'unsigned', reason: 'The agent has no keys: set the option keys of the server.' }
  if (!card?.signatures) {
    return { state: 'unsigned', reason: 'Cards are signed only if publicUrl says where the agent is reached.' }
  }
  return await verdictOf(card, { keys: await options.keys.published() })
}

/** What the signatures of a card are worth, by the keys that are trusted. */
export async function verdictOf(card: JsonObject, trusted: CardVerifierOptions): Promise<AgentCards['signature']> {
  try {
    await createCardVerifier(trusted)(card)
    return { state: 'verified' }
  } catch (error) {
    const reason = error instanceof Error ? error.message : `${error}`
    return { state: /no .*key|unknown/i.test(reason) ? 'unknown-key' : 'invalid', reason }
  }
}
