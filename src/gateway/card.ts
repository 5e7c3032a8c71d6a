import type { AgentProfile } from '../core/agent/agent.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { AgentCard, AgentExtension } from '../core/protocol/card.ts'
import { isMediaRange } from '../core/protocol/media-types.ts'
import type { OriginCard } from './upstream.ts'

/** The extension by which a served card says whose card it is made from. */
const originExtension = 'https://parley.dev/extensions/gateway-origin/v1'

/**
 * What the gateway's card says of an agent: everything but addresses, security and signatures, which are the gateway's.
 * The origin extension carries the hash and the signer of the agent's own card.
 */
export function profileOf(origin: OriginCard, includesCard: boolean): AgentProfile {
  return withOrigin(profileOfCard(origin.card), origin, includesCard)
}

/** The profile of a card, without the origin extension. */
export function profileOfCard(card: AgentCard): AgentProfile {
  const { name, description, version, provider, documentationUrl, iconUrl, capabilities } = card
  const extensions = capabilities.extensions?.filter(({ uri }) => uri !== originExtension)
  return defined({
    name: name.trim() === '' ? 'Agent' : name,
    description,
    version,
    provider,
    documentationUrl,
    iconUrl,
    extensions,
    inputModes: modesOf(card.defaultInputModes),
    outputModes: modesOf(card.defaultOutputModes),
    // The security of a skill refers to schemes of the agent; callers authenticate to the gateway.
    skills: card.skills.map(({ security: _, inputModes, outputModes, ...skill }) =>
      defined({ ...skill, inputModes: modesOf(inputModes), outputModes: modesOf(outputModes) }),
    ),
  })
}

function withOrigin(profile: AgentProfile, { wire, hash, signature }: OriginCard, includesCard: boolean): AgentProfile {
  if (wire === undefined || hash === undefined) return profile
  const params: JsonObject = defined({
    cardHash: `sha-256:${hash}`,
    verification: signature.result,
    keyId: signature.keyId,
    signer: signature.signer,
    card: includesCard ? wire : undefined,
  })
  const description = 'The card that this one was made from, and whether its signature was valid.'
  const extension: AgentExtension = { uri: originExtension, description, required: false, params }
  return { ...profile, extensions: [...(profile.extensions ?? []), extension] }
}

/** Cards of other software have media types that are none; a list without any is as good as no list. */
function modesOf(modes: readonly string[] | undefined): readonly string[] | undefined {
  const valid = modes?.filter(isMediaRange) ?? []
  return valid.length > 0 ? valid : undefined
}
