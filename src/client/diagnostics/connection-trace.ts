import type { Endpoint } from '../../dialects/endpoints.ts'

/** A client that lives long and fails often remembers only the last of it. */
const maxSteps = 200

/** A way to the agent, as data. */
export interface EndpointInfo {
  readonly url: string
  readonly binding: string
  readonly dialect: string
  readonly tenant?: string
}

/** One thing that was tried on the way to an agent. */
export type Step =
  | {
      readonly type: 'card'
      readonly url: string
      readonly outcome: 'found' | 'unchanged' | 'failed'
      readonly detail: string
    }
  | { readonly type: 'reading'; readonly detail: string }
  | (EndpointInfo & { readonly type: 'door'; readonly outcome: 'taken' | 'failed'; readonly detail: string })
  | { readonly type: 'fallback'; readonly detail: string }

/** How a client came to its agent. */
export interface Explanation {
  readonly steps: readonly Step[]
  /** The way that calls take. Undefined until a call has found one. */
  readonly endpoint: EndpointInfo | undefined
  /** The same in sentences. */
  readonly lines: readonly string[]
}

export interface ConnectionTrace {
  add(step: Step): void
  explain(door: Endpoint | undefined): Explanation
}

export function createConnectionTrace(): ConnectionTrace {
  const steps: Step[] = []
  return {
    add(step) {
      if (steps.length >= maxSteps) steps.shift()
      steps.push(step)
    },
    explain(door) {
      const facts = door && factsOf(door)
      const end = facts ? `Calls go to ${describeEndpoint(facts)}.` : 'No call has found its way yet.'
      return { steps: [...steps], endpoint: facts, lines: [...steps.map(lineOf), end] }
    },
  }
}

export function factsOf({ url, binding, dialect, tenant }: Endpoint): EndpointInfo {
  return { url, binding, dialect: dialect.name, ...(tenant !== undefined && { tenant }) }
}

function describeEndpoint({ url, binding, dialect, tenant }: EndpointInfo): string {
  return `${binding} (A2A ${dialect.slice(1)}) at ${url}${tenant === undefined ? '' : ` for ${tenant}`}`
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
        ? `${describeEndpoint(step)} did not work: ${step.detail}`
        : `${describeEndpoint(step)} works${step.detail === '' ? '' : `: ${step.detail}`}.`
    case 'fallback':
      return step.detail
  }
}
