import type { Binding, Interface, Subject, Version } from './interface.ts'
import type { ConformanceSession } from './session.ts'

export type Level = 'MUST' | 'SHOULD' | 'MAY'

/** A rule of the protocol, and how an agent is checked against it. */
export interface Rule {
  /** The subject and the name of the rule, such as `send/terminal-task`. The same in all versions and bindings. */
  readonly id: string
  readonly level: Level
  readonly versions: readonly Version[]
  /** Defaults to all bindings. */
  readonly bindings?: readonly Subject[]
  /** The rule in one sentence. */
  readonly title: string
  readonly sends: string
  readonly expects: string
  /** Resolves if the agent keeps the rule, with a note if one is due. Throws a `RuleViolation` or a `NotMeasured`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing.
  check(session: ConformanceSession): Promise<string | void>
}

export const allBindings: readonly Binding[] = ['JSONRPC', 'HTTP+JSON', 'GRPC']

/** The bindings that carry JSON: gRPC cannot express what their rules forbid. */
export const jsonBindings: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

/** Whether a rule applies to an interface of an agent. 1.1 adds to 1.0, so the rules of both apply to it. */
export function appliesTo({ versions, bindings = allBindings }: Rule, { version, binding }: Interface): boolean {
  const isJudged = versions.includes(version) || (version === '1.1' && versions.includes('1.0'))
  return isJudged && bindings.includes(binding)
}
