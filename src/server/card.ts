import type { AgentProfile, SkillProfile } from '../agent/agent.ts'
import type { AgentCard, AgentSkill } from '../protocol/card.ts'

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

function skillOf(skill: SkillProfile): AgentSkill {
  return { description: skill.name, ...skill, tags: skill.tags?.length ? skill.tags : [skill.id] }
}

/** A name as it may stand in a path or an id. */
export function slug(name: string): string {
  const plain = name.toLowerCase().replace(/[^\p{Letter}\p{Number}]+/gu, '-')
  return plain.replace(/^-+|-+$/g, '') || 'agent'
}
