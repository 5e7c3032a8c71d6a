import type { AgentExtension } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { InBand } from '../../protocol/extensions/in-task-credentials.ts'
import type { Part } from '../../protocol/model.ts'
import type { Call } from '../../protocol/service.ts'
import type { Push } from '../../push/push.ts'
import type { CallerLog } from '../caller-log.ts'
import type { RuntimeSettings } from '../options.ts'
import type { Runs } from '../turns/runs.ts'

/** Throws unless the caller knows what it must know to talk to this agent, and notes what of it is at work. */
export function activateExtensions(offered: readonly AgentExtension[], call: Call): void {
  const { extensions = [], activated } = call
  const missing = offered.filter(({ required, uri }) => required && !extensions.includes(uri)).map(({ uri }) => uri)
  if (missing.length > 0) {
    const text = `This agent insists on extensions that the call does not declare: ${missing.join(', ')}. Name them in the header A2A-Extensions.`
    throw new A2AError('extension-required', text, { metadata: { requiredExtensions: missing.join(', ') } })
  }
  for (const uri of activeExtensions(offered, call)) activated?.add(uri)
}

/** Those of the agent's extensions that the caller asks for. Others that it asks for are ignored (A2A 1.0 §3.2.6). */
export function activeExtensions(offered: readonly AgentExtension[], { extensions = [] }: Call): readonly string[] {
  return extensions.filter((uri) => offered.some((extension) => extension.uri === uri))
}

/** What an operation works with: the log as its caller sees it, and never the whole one. */
export interface OperationContext {
  readonly settings: Omit<RuntimeSettings, 'log'>
  readonly runs: Runs
  /** Undefined if the agent tells no webhooks. */
  readonly push: Push | undefined
  readonly log: CallerLog
  /** Aborts when this process goes. */
  readonly closing: AbortSignal
  /** Credentials that were taken out of the message. */
  readonly inBand?: readonly InBand[]
  /** What a message said that must not be stored. */
  readonly secret?: readonly Part[]
}
