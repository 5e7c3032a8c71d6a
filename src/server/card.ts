import type { AgentProfile, SkillProfile } from '../agent/agent.ts'
import type { Binding, ServerDialect } from '../dialects/dialect.ts'
import type { AgentCard, AgentInterface, AgentSkill } from '../protocol/card.ts'

const text = ['text/plain']

/** What an agent's card says wherever it is mounted. */
export function cardOf(
  profile: AgentProfile,
  { extendedCard = false, pushNotifications = false } = {},
): Omit<AgentCard, 'interfaces'> {
  const { name, description = name, version = '1.0.0', inputModes = text, outputModes = text, extensions } = profile
  const skills = profile.skills ?? []
  return {
    name,
    description,
    version,
    capabilities: { streaming: true, pushNotifications, ...(extendedCard && { extendedCard }), extensions },
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    // A card must name a skill. An agent that names none has one: being itself.
    skills: (skills.length > 0 ? skills : [{ id: slug(name), name, description }]).map(skillOf),
    provider: profile.provider,
    documentationUrl: profile.documentationUrl,
    iconUrl: profile.iconUrl,
  }
}

export interface InterfaceOptions {
  /** Where JSON-RPC is served. */
  readonly path?: string
  /** Where JSON-RPC is served to speakers of the 0.3 house variant. */
  readonly housePath?: string
  /** Whether gRPC is served at the same port. */
  readonly grpc?: boolean
  /** The tenant that callers name, if several agents share an address. */
  readonly tenant?: string
}

export interface AddressOptions extends InterfaceOptions {
  /** The tenant that callers of gRPC name: it has no paths by which agents could be told apart. */
  readonly dialledAs?: string
}

/** Every address of an agent and what is spoken there, the preferred ones first. */
export function interfacesAt(
  origin: string,
  dialects: readonly ServerDialect[],
  options: AddressOptions,
): readonly AgentInterface[] {
  const versions = [...new Set(dialects.map(({ version }) => version))]
  return versions.flatMap((protocolVersion) => {
    const spoken = dialects.filter(({ version }) => version === protocolVersion).flatMap(({ bindings }) => bindings)
    return addressesFor(protocolVersion, origin, options)
      .filter(({ binding }) => spoken.includes(binding))
      .map((address) => ({ ...address, protocolVersion }))
  })
}

/** A name as it may stand in a path or an id. */
export function slug(name: string): string {
  const plain = name.toLowerCase().replace(/[^\p{Letter}\p{Number}]+/gu, '-')
  return plain.replace(/^-+|-+$/g, '') || 'agent'
}

function skillOf(skill: SkillProfile): AgentSkill {
  return { description: skill.name, ...skill, tags: skill.tags?.length ? skill.tags : [skill.id] }
}

/** Before 1.0 nobody can name a tenant: it is in the path, and where there is none the agent cannot be reached. */
function addressesFor(version: string, origin: string, options: AddressOptions): readonly Address[] {
  const { path = '/', grpc = false, tenant, dialledAs = tenant } = options
  const canName = !version.startsWith('0.')
  const base = tenant === undefined || canName ? origin : `${origin}/${encodeURIComponent(tenant)}`
  const named = canName && tenant !== undefined && { tenant }
  const addresses: Address[] = [
    { url: `${base}${path}`, binding: 'JSONRPC', ...named },
    { url: base, binding: 'HTTP+JSON', ...named },
  ]
  if (!grpc) return addresses
  const dial = { url: dialled(origin), binding: 'GRPC' } as const
  if (dialledAs === undefined) return [...addresses, dial]
  return canName ? [...addresses, { ...dial, tenant: dialledAs }] : addresses
}

type Address = Omit<AgentInterface, 'protocolVersion'> & { readonly binding: Binding }

/** What clients of gRPC dial: host and port, and nothing else. */
function dialled(origin: string): string {
  const { protocol, hostname, port } = new URL(origin)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
