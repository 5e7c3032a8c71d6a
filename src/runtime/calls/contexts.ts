import type { CallTarget } from '../../agent/calling.ts'

/** The conversations with other agents: one for each of them in each context of ours and of one owner. */
export interface Contexts {
  get(place: ContextPlace): string | undefined
  set(place: ContextPlace, contextId: string): void
}

export interface ContextPlace {
  readonly owner: string
  readonly contextId: string
  readonly callee: string
}

/** Whom a target means, to tell conversations apart: agents in this process may have the same name. */
export function keyOf(target: CallTarget, name: string): string {
  if (typeof target !== 'object' || target instanceof URL) return name
  const number = numbers.get(target) ?? ++last
  numbers.set(target, number)
  return `${name} #${number}`
}

const numbers = new WeakMap<object, number>()
let last = 0

/** Those that were used last. Whose is forgotten begins a new conversation. */
const limit = 10_000

export function createContexts(): Contexts {
  const known = new Map<string, string>()
  const textOf = ({ owner, contextId, callee }: ContextPlace) => JSON.stringify([owner, contextId, callee])
  return {
    get: (place) => known.get(textOf(place)),
    set(place, contextId) {
      const key = textOf(place)
      known.delete(key)
      known.set(key, contextId)
      const [oldest] = known.keys()
      if (known.size > limit && oldest !== undefined) known.delete(oldest)
    },
  }
}
