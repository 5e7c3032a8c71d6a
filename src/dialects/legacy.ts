import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import { decodeCardAs, type ReadCard } from './peer-card.ts'

export { v0_1Client } from './v0.1/client.ts'
export { v0_2Client } from './v0.2/client.ts'
export { v0_3Client } from './v0.3/client.ts'
export { v0_3ProtoClient } from './v0.3-proto/client.ts'

/** Reads a card of a version before 1.0. Which version it is, the members of the card show. */
export const readLegacyCard: ReadCard = async (wire, dialects) => {
  const { versions, ...found } = signsIn(wire)
  return { card: await decodeCardAs(versions, wire, dialects), ...found }
}

function signsIn(wire: JsonObject) {
  const { protocolVersion } = wire
  if (typeof protocolVersion === 'string') {
    return { versions: ['0.3', '0.2'], evidence: `protocolVersion is ${protocolVersion}` }
  }
  const sign = signsOf0_2.find((member) => wire[member] !== undefined)
  if (sign || (isObject(wire.capabilities) && wire.capabilities.extensions !== undefined)) {
    return { versions: ['0.2', '0.3'], evidence: `there is ${sign ?? 'capabilities.extensions'}` }
  }
  if (isObject(wire.authentication)) return { versions: ['0.1'], evidence: 'there is authentication' }
  const left = leftOutOf(wire)
  if (left) return { versions: ['0.1'], evidence: `there is no ${left}`, alternativeVersion: '0.2' }
  return { versions: ['0.2', '0.3'], evidence: 'nothing tells 0.2 from 0.1', alternativeVersion: '0.1' }
}

/** Which 0.1 did not know, and did not forbid. */
const signsOf0_2 = [
  'securitySchemes',
  'security',
  'supportsAuthenticatedExtendedCard',
  'preferredTransport',
  'additionalInterfaces',
  'iconUrl',
]

/** What 0.2 requires and 0.1 did not. */
function leftOutOf({ description, defaultInputModes, skills }: JsonObject): string | undefined {
  if (description === undefined) return 'description'
  if (defaultInputModes === undefined) return 'defaultInputModes'
  const isLacking = (skill: unknown) => isObject(skill) && (skill.description === undefined || skill.tags === undefined)
  return Array.isArray(skills) && skills.some(isLacking) ? 'description of a skill' : undefined
}
