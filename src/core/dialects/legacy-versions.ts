import { isObject, type JsonObject } from '../base/json.ts'

/** The versions that a card may have. */
export interface DetectedVersions {
  /** The versions by which the card is read, the likeliest first. */
  readonly versions: readonly string[]
  /** What determined the versions, as text for the operator. */
  readonly evidence: string
  /** Set if the card is ambiguous: another version, which is as likely. */
  readonly alternativeVersion?: string
}

/** The versions that a card from before 1.0 may have, and the members that show it. */
export function detectLegacyVersions(wire: JsonObject): DetectedVersions {
  const { protocolVersion } = wire
  if (typeof protocolVersion === 'string') {
    return { versions: ['0.3', '0.2'], evidence: `protocolVersion is ${protocolVersion}` }
  }
  const member = newMembersOf0_2.find((name) => wire[name] !== undefined)
  if (member || (isObject(wire.capabilities) && wire.capabilities.extensions !== undefined)) {
    return { versions: ['0.2', '0.3'], evidence: `there is ${member ?? 'capabilities.extensions'}` }
  }
  if (isObject(wire.authentication)) return { versions: ['0.1'], evidence: 'there is authentication' }
  const missing = missingMemberOf0_2(wire)
  if (missing) return { versions: ['0.1'], evidence: `there is no ${missing}`, alternativeVersion: '0.2' }
  return { versions: ['0.2', '0.3'], evidence: 'no member distinguishes 0.2 from 0.1', alternativeVersion: '0.1' }
}

/** Members that 0.2 introduced. */
const newMembersOf0_2 = [
  'securitySchemes',
  'security',
  'supportsAuthenticatedExtendedCard',
  'preferredTransport',
  'additionalInterfaces',
  'iconUrl',
]

/** A missing member that 0.2 requires and 0.1 does not. */
function missingMemberOf0_2({ description, defaultInputModes, skills }: JsonObject): string | undefined {
  if (description === undefined) return 'description'
  if (defaultInputModes === undefined) return 'defaultInputModes'
  const isIncomplete = (skill: unknown) =>
    isObject(skill) && (skill.description === undefined || skill.tags === undefined)
  return Array.isArray(skills) && skills.some(isIncomplete) ? 'description of a skill' : undefined
}
