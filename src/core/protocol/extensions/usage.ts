import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { AgentExtension } from '../card.ts'

/** The metadata key of what a turn has used, in its last status and in the metadata of its task. */
export const usageKey = 'https://parley.dev/ext/usage/v1'

/** Declares on the card that the agent reports what its turns use. */
export const usageExtension: AgentExtension = {
  uri: usageKey,
  description: 'The tokens and the cost of a turn, in the metadata of its last status.',
  required: false,
}

/** What one model call used, or several together. */
export interface Usage {
  /** The name of the model. */
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** In millionths of the currency in `limits.currency`. */
  readonly cost?: number
}

/** The sum of two usages. Models have names of their own: the sum lists them. */
export function addUsage(one: UsageSum | undefined, other: Usage | UsageSum): UsageSum {
  const models = new Set([...modelsOf(one), ...modelsOf(other)])
  return defined({
    inputTokens: (one?.inputTokens ?? 0) + (other.inputTokens ?? 0),
    outputTokens: (one?.outputTokens ?? 0) + (other.outputTokens ?? 0),
    cost: one?.cost === undefined ? other.cost : one.cost + (other.cost ?? 0),
    models: models.size > 0 ? [...models].slice(0, 20) : undefined,
  })
}

/** What a turn used in all, as its last status has it. */
export interface UsageSum {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost?: number
  readonly models?: readonly string[]
}

/** Throws a `TypeError` for anything but counts. */
export function checkUsage(usage: unknown): asserts usage is Usage {
  const members: Readonly<Record<string, unknown>> = isObject(usage) ? usage : {}
  for (const name of Object.keys(members)) {
    if (!usageNames.includes(name)) {
      throw new TypeError(`turn.usage(): there is no ${name}; expected ${usageNames.join(', ')}`)
    }
  }
  for (const name of ['inputTokens', 'outputTokens', 'cost']) {
    const value = members[name]
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) continue
    throw new TypeError(`turn.usage(): expected ${name} to be a number from 0 on, got ${JSON.stringify(value)}`)
  }
  if (members.model === undefined || typeof members.model === 'string') return
  throw new TypeError(`turn.usage(): expected model to be a name, got ${typeof members.model}`)
}

/** The usage in the metadata of a status or a task. */
export function usageIn(metadata: JsonObject | undefined): Json | undefined {
  return metadata?.[usageKey]
}

const usageNames: readonly string[] = ['model', 'inputTokens', 'outputTokens', 'cost']

function modelsOf(usage: Usage | UsageSum | undefined): readonly string[] {
  if (!usage) return []
  if ('models' in usage) return usage.models ?? []
  return 'model' in usage && usage.model !== undefined ? [usage.model] : []
}
