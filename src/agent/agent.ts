import type { AgentExtension, AgentProvider, AgentSkill } from '../protocol/card.ts'
import { type DirectRun, runOf, type Work } from './work.ts'

/** What an author says of an agent. The rest of its card is derived from how it is served. */
export interface AgentProfile {
  readonly name: string
  readonly description?: string
  /** The version of the agent itself. */
  readonly version?: string
  readonly skills?: readonly SkillProfile[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly provider?: AgentProvider
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly extensions?: readonly AgentExtension[]
  /** What becomes of its turns when their process is gone; `fail` unless said. */
  readonly recovery?: Recovery
}

/**
 * A turn whose process is gone is failed, retried from its start, or resumed where it was (see docs/durable-turns.md).
 * At most so many attempts are made, 3 unless said; for `resume`, so many in a row that bring nothing new.
 */
export type Recovery = RecoveryPolicy | { readonly policy: RecoveryPolicy; readonly attempts?: number }

export type RecoveryPolicy = 'fail' | 'retry' | 'resume'

export type SkillProfile = Pick<AgentSkill, 'id' | 'name'> & Partial<AgentSkill>

export type { Run } from './work.ts'

export interface Agent {
  readonly profile: AgentProfile
  readonly run: DirectRun
}

export function agent(profile: AgentProfile, work: Work): Agent {
  requireText('name', profile.name)
  for (const skill of profile.skills ?? []) {
    requireText('skills[].id', skill.id)
    requireText('skills[].name', skill.name)
  }
  for (const { uri } of profile.extensions ?? []) requireText('extensions[].uri', uri)
  return { profile, run: runOf(work, profile.name) }
}

function requireText(what: string, value: unknown): void {
  if (typeof value === 'string' && value.trim() !== '') return
  throw new TypeError(`agent(): expected ${what} to be a text that is not empty, got ${JSON.stringify(value)}`)
}
