import type { Door } from '../../dialects/endpoints.ts'

/** One thing that was tried on the way to an agent. */
export type Step =
  | {
      readonly type: 'card'
      readonly url: string
      readonly outcome: 'found' | 'unchanged' | 'failed'
      readonly detail: string
    }
  | { readonly type: 'reading'; readonly detail: string }
  | (DoorFacts & { readonly type: 'door'; readonly outcome: 'taken' | 'failed'; readonly detail: string })
  | { readonly type: 'fallback'; readonly detail: string }

/** A way to the agent, as data. */
export interface DoorFacts {
  readonly url: string
  readonly binding: string
  readonly dialect: string
  readonly tenant?: string
}

/** How a client came to its agent. */
export interface Explanation {
  readonly steps: readonly Step[]
  /** The way that calls take. Undefined until a call has found one. */
  readonly door: DoorFacts | undefined
  /** The same in sentences. */
  readonly lines: readonly string[]
}

export interface Journal {
  note(step: Step): void
  explain(door: Door | undefined): Explanation
}

/** A client that lives long and fails often remembers only the last of it. */
const maxSteps = 200

export function createJournal(): Journal {
  const steps: Step[] = []
  return {
    note(step) {
      if (steps.length >= maxSteps) steps.shift()
      steps.push(step)
    },
    explain(door) {
      const facts = door && factsOf(door)
      const end = facts ? `Calls go to ${sayDoor(facts)}.` : 'No call has found its way yet.'
      return { steps: [...steps], door: facts, lines: [...steps.map(lineOf), end] }
    },
  }
}

export function factsOf({ url, binding, dialect, tenant }: Door): DoorFacts {
  return { url, binding, dialect: dialect.name, ...(tenant !== undefined && { tenant }) }
}

function lineOf(step: Step): string {
  switch (step.type) {
    case 'card':
      return step.outcome === 'failed'
        ? `There was no card at ${step.url}: ${step.detail}`
        : `The card was found at ${step.url}${step.outcome === 'unchanged' ? ', and had not changed' : ''}.`
    case 'reading':
      return `The card tells: ${step.detail}.`
    case 'door':
      return step.outcome === 'failed'
        ? `${sayDoor(step)} did not work: ${step.detail}`
        : `${sayDoor(step)} works${step.detail === '' ? '' : `: ${step.detail}`}.`
    case 'fallback':
      return step.detail
  }
}

function sayDoor({ url, binding, dialect, tenant }: DoorFacts): string {
  return `${binding} (A2A ${dialect.slice(1)}) at ${url}${tenant === undefined ? '' : ` for ${tenant}`}`
}
