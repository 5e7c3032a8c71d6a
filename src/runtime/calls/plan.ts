import type { CallOptions, CallTarget } from '../../agent/calling.ts'
import type { Lineage } from '../../protocol/lineage.ts'
import type { Part } from '../../protocol/model.ts'

/** A call as it was asked for, with what it may use. */
export interface Plan {
  /** Names it in the journal. */
  readonly name: string
  readonly target: CallTarget
  /** As far as it is known before it is reached. */
  readonly targetName: string
  readonly parts: readonly Part[]
  readonly options: CallOptions
  /** What the other agent is told; without the deadline, which is set when it begins. */
  readonly lineage: Lineage
  /** Why nothing may be sent. */
  readonly refusal?: Error
}

/** For the journal and for errors: without what may be a secret. */
export function nameOf(target: CallTarget): string {
  if (typeof target === 'string' || target instanceof URL) return bare(`${target}`)
  if ('service' in target && 'card' in target) return cardName(target.card) ?? 'an agent'
  if ('profile' in target && isObject(target.profile)) return cardName(target.profile) ?? 'an agent'
  return cardName(target) ?? 'an agent'
}

function bare(address: string): string {
  if (!URL.canParse(address)) return address.slice(0, 200)
  const { origin, host, pathname } = new URL(address)
  return `${origin === 'null' ? host : origin}${pathname}`.slice(0, 200)
}

function cardName(card: unknown): string | undefined {
  return isObject(card) && 'name' in card && typeof card.name === 'string' ? card.name : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
