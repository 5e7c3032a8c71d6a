import type { InteropAgentOptions } from './agent.ts'

/** One request and its answer, as they were on the wire between another implementation and Parley. */
export interface Exchange {
  /** The check during which the exchange happened. Undefined if the other side made the request. */
  readonly check?: string
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    /** The JSON of the body, or its text if it is not JSON. */
    readonly body?: unknown
  }
  readonly response: {
    readonly status: number
    readonly type: string
    /** The software that the server names. */
    readonly server?: string
    /** The JSON of the body, or its text if it is not JSON. */
    readonly body?: unknown
    /** The data of server-sent events. */
    readonly events?: readonly unknown[]
  }
}

/** What `npm run interop` recorded with one peer. */
export interface Recording {
  readonly peer: string
  readonly version: string
  readonly date: string
  /** `client`: the peer called a Parley agent. `server`: Parley's client called an agent of the peer. */
  readonly role: 'client' | 'server'
  readonly transport: string
  /** What the agent was served with. */
  readonly agent?: InteropAgentOptions | undefined
  /** The path of the agent's card, if its address alone does not lead to it. */
  readonly cardPath?: string
  /** The checks that passed. */
  readonly passed: readonly string[]
  readonly exchanges: readonly Exchange[]
}

/** Stands for the origin of the agent in recordings. */
export const recordedOrigin = 'http://agent.test'

/** Headers that may change an answer. All others are not recorded: they could hold secrets. */
export const recordedHeaders = [
  'content-type',
  'accept',
  'user-agent',
  'a2a-version',
  'a2a-extensions',
  'x-a2a-extensions',
]

/** Longer bodies are not recorded, nor are further exchanges. */
export const maxBody = 32_768
export const maxExchanges = 64

export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The data of the events in the text of an event stream. */
export function eventsIn(text: string): readonly unknown[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((block) => block.split(/\r?\n/).filter((line) => line.startsWith('data:')))
    .filter((lines) => lines.length > 0)
    .map((lines) => parseBody(lines.map((line) => line.slice(5).trimStart()).join('\n')))
}
