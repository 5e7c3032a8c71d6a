import type { AgentProfile } from '../agent/agent.ts'
import type { SkillProfile } from '../agent/skill.ts'
import { defined } from '../base/json.ts'
import type { Binding, ServerDialect } from '../dialects/dialect.ts'
import type { AgentCapabilities, AgentCard, AgentInterface, AgentSkill } from '../protocol/card.ts'
import { idempotencyExtension } from '../protocol/extensions/idempotency.ts'
import { defaultModes } from '../protocol/media-types.ts'

/** The capabilities that depend on how an agent is served. */
export type Capabilities = Omit<AgentCapabilities, 'extensions'>

/**
 * The card of an agent without its interfaces, which depend on the address of a request. `isForwarded`: the operations of
 * the agent are elsewhere, so its profile alone says whether repeated sends are recognised.
 */
export function cardOf(
  profile: AgentProfile,
  { extendedCard = false, pushNotifications = false, streaming = true, ...history }: Capabilities = {},
  isForwarded = false,
): Omit<AgentCard, 'interfaces'> {
  const { name, description = name, version = '1.0.0', skills = [] } = profile
  const declared = profile.extensions ?? []
  const isDeclared = isForwarded || declared.some(({ uri }) => uri === idempotencyExtension.uri)
  const extensions = isDeclared ? declared : [...declared, idempotencyExtension]
  const { inputModes = defaultModes, outputModes = defaultModes } = profile
  // Several readers of older versions require the modes of every skill.
  const skillOf = (skill: SkillProfile) => ({ inputModes, outputModes, ...toCardSkill(skill) })
  return {
    name,
    description,
    version,
    capabilities: {
      streaming,
      pushNotifications,
      ...history,
      ...defined({ extendedCard: extendedCard || undefined }),
      extensions,
    },
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    // A card must have a skill. An agent without skills gets one with its own name and description.
    skills: (skills.length > 0 ? skills : [{ id: slug(name), name, description }]).map(skillOf),
    provider: profile.provider,
    documentationUrl: profile.documentationUrl,
    iconUrl: profile.iconUrl,
  }
}

export interface InterfaceOptions {
  /** Path of JSON-RPC. Defaults to `/`. */
  readonly path?: string
  /** Path of JSON-RPC for clients of the 0.3 house dialect. Defaults to `/api/a2a`. */
  readonly housePath?: string
  /** Whether gRPC is served on the same port. */
  readonly grpc?: boolean
  /** How cards name the address of gRPC. Defaults to `bare`. */
  readonly grpcAddress?: GrpcAddress | undefined
  /** Whether cards name gRPC. Defaults to true. */
  readonly grpcOnCard?: boolean | undefined
  /** The tenant that callers name, where several agents share an address. */
  readonly tenant?: string
}

export interface AddressOptions extends InterfaceOptions {
  /** The tenant that gRPC callers name. It includes the path of the agent, because gRPC has no paths. */
  readonly grpcTenant?: string
}

/** The address of gRPC: host and port, as gRPC clients expect it, or a URL. */
export type GrpcAddress = 'bare' | 'url'

/** All addresses of an agent with the versions spoken there, preferred ones first. */
export function interfacesAt(
  origin: string,
  dialects: readonly ServerDialect[],
  options: AddressOptions,
): readonly AgentInterface[] {
  const versions = [...new Set(dialects.map(({ version }) => version))]
  return versions.flatMap((protocolVersion) => {
    const bindings = dialects.filter(({ version }) => version === protocolVersion).flatMap(({ bindings }) => bindings)
    const hasTenants = dialects.some((dialect) => dialect.version === protocolVersion && dialect.hasTenants)
    return addressesFor(hasTenants, origin, options)
      .filter(({ binding }) => bindings.includes(binding))
      .map((address) => ({ ...address, protocolVersion }))
  })
}

/** A name in a form that fits into paths and ids. */
export function slug(name: string): string {
  const words = name.toLowerCase().replace(/[^\p{Letter}\p{Number}]+/gu, '-')
  return words.replace(/^-+|-+$/g, '') || 'agent'
}

function toCardSkill(skill: SkillProfile): AgentSkill {
  return { description: skill.name, ...skill, tags: skill.tags ?? [skill.id] }
}

/** Without a member for the tenant, it is in the path. Over gRPC, which has none, the tenant is unreachable then. */
function addressesFor(hasTenants: boolean, origin: string, options: AddressOptions): readonly Address[] {
  const {
    path = '/',
    grpc = false,
    grpcAddress: form = 'bare',
    grpcOnCard = true,
    tenant,
    grpcTenant = tenant,
  } = options
  const base = tenant === undefined || hasTenants ? origin : `${origin}/${encodeURIComponent(tenant)}`
  const tenantMember = hasTenants && tenant !== undefined && { tenant }
  const addresses: Address[] = [
    { url: `${base}${path}`, binding: 'JSONRPC', ...tenantMember },
    { url: base, binding: 'HTTP+JSON', ...tenantMember },
  ]
  if (!grpc || !grpcOnCard) return addresses
  const grpcAddress = { url: form === 'url' ? originOnly(origin) : grpcTarget(origin), binding: 'GRPC' } as const
  if (grpcTenant === undefined) return [...addresses, grpcAddress]
  return hasTenants ? [...addresses, { ...grpcAddress, tenant: grpcTenant }] : addresses
}

type Address = Omit<AgentInterface, 'protocolVersion'> & { readonly binding: Binding }

/** gRPC has no paths. */
function originOnly(origin: string): string {
  return new URL(origin).origin
}

/** gRPC clients take only a host and a port. */
function grpcTarget(origin: string): string {
  const { protocol, hostname, port } = new URL(origin)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
