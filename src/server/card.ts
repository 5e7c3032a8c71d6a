import type { Agent, SkillProfile } from '../agent/agent.ts'
import type { AgentCard, AgentInterface, AgentSkill } from '../protocol/card.ts'

const text = ['text/plain']

/** An agent's card: what its author said, and what is really mounted. */
export function cardOf({ profile }: Agent, interfaces: readonly AgentInterface[]): AgentCard {
  const { name, description = name, version = '1.0.0', inputModes = text, outputModes = text, extensions } = profile
  const skills = profile.skills ?? []
  return {
    name,
    description,
    version,
    interfaces,
    capabilities: { streaming: true, pushNotifications: false, extensions },
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
