import type { ClientDialect, FileBytes } from '../../dialects/dialect.ts'
import type { Endpoint } from '../../dialects/endpoints.ts'

/** A long-lived client that fails often keeps only the last steps. */
const maxSteps = 200

export interface EndpointInfo {
  readonly url: string
  readonly binding: string
  readonly dialect: string
  readonly tenant?: string
}

/** One attempt on the way to an agent. */
export type Step =
  | {
      readonly type: 'card'
      readonly url: string
      readonly outcome: 'found' | 'unchanged' | 'failed'
      readonly detail: string
    }
  | { readonly type: 'reading'; readonly detail: string }
  | (EndpointInfo & { readonly type: 'endpoint'; readonly outcome: 'taken' | 'failed'; readonly detail: string })
  | { readonly type: 'fallback'; readonly detail: string }

/** How a client found its agent. */
export interface Explanation {
  readonly steps: readonly Step[]
  /** The endpoint of all calls. Undefined until a call has succeeded. */
  readonly endpoint: EndpointInfo | undefined
  /** How the bytes of files travel. Only in versions whose agents disagree about it. */
  readonly fileBytes?: FileBytes
  /** The steps and the endpoint as sentences. */
  readonly lines: readonly string[]
}

export interface ConnectionTrace {
  add(step: Step): void
  /** `dialect` is the one of the endpoint, in the variant that the agent reads. */
  explain(endpoint: Endpoint | undefined, dialect?: ClientDialect): Explanation
}

export function createConnectionTrace(): ConnectionTrace {
  const steps: Step[] = []
  return {
    add(step) {
      if (steps.length >= maxSteps) steps.shift()
      steps.push(step)
    },
    explain(endpoint, dialect) {
      const info = endpoint && endpointInfo(endpoint)
      const end = info ? `Calls go to ${describeEndpoint(info)}.` : 'No call has succeeded yet.'
      const lines = [...steps.map(lineOf), end]
      const { form, explanation } = dialect?.servers ?? {}
      if (explanation) lines.push(explanation)
      return { steps: [...steps], endpoint: info, fileBytes: form?.fileBytes, lines }
    },
  }
}

export function endpointInfo({ url, binding, dialect, tenant }: Endpoint): EndpointInfo {
  return { url, binding, dialect: dialect.name, tenant }
}

function lineOf(step: Step): string {
  switch (step.type) {
    case 'card':
      return step.outcome === 'failed'
        ? `There was no card at ${step.url}: ${step.detail}`
        : `The card was found at ${step.url}${step.outcome === 'unchanged' ? ', and had not changed' : ''}.`
    case 'reading':
      return `The card was read: ${step.detail}.`
    case 'endpoint':
      return step.outcome === 'failed'
        ? `${describeEndpoint(step)} did not work: ${step.detail}`
        : `${describeEndpoint(step)} works${step.detail === '' ? '' : `: ${step.detail}`}.`
    case 'fallback':
      return step.detail
  }
}

function describeEndpoint({ url, binding, dialect, tenant }: EndpointInfo): string {
  return `${binding} (A2A ${dialect.slice(1)}) at ${url}${tenant === undefined ? '' : ` for ${tenant}`}`
}
