import type { Invocation } from '../core/agent/agent-function.ts'
import { describeError, redactSecrets } from '../core/base/error-summary.ts'

/** The failure of a model, a tool or a source of tools, for the operator. */
export interface LoopFailure {
  readonly error: unknown
  /** What failed, as the log says it. */
  readonly message: string
  /** `error` for what the task fails for, `warn` for what it survives. */
  readonly level: 'warn' | 'error'
  readonly fields?: object
}

export type ReportFailure = (failure: LoopFailure) => void

/** Logs failures by the logger of the turn. A loop that runs without an agent has no log, only `onError`. */
export function createFailureLog({ turn }: Invocation): ReportFailure {
  return ({ error, message, level, fields }) => turn?.log[level]({ ...fields, error: describeError(error) }, message)
}

/** The name of an MCP server in logs: its program, or its URL without credentials. */
export function serverName(address: object): string {
  if ('command' in address) return String(address.command)
  if (!('url' in address)) return 'a connected client'
  const { origin, pathname } = new URL(String(address.url))
  return redactSecrets(`${origin}${pathname}`)
}

/** Throws for a model that cannot be called, before the first message does. */
export function requireModel(model: unknown, name = 'model'): void {
  const expected = "a model of an AI SDK provider, such as openai('gpt-5') of the package @ai-sdk/openai"
  if (typeof model !== 'object' || model === null) {
    const actual = model === undefined ? 'nothing' : (JSON.stringify(model) ?? typeof model)
    throw new TypeError(`createAgentLoop(): ${name}: expected ${expected}, got ${actual}.`)
  }
  const { doStream, specificationVersion: version } = model as Record<string, unknown>
  if (typeof version === 'string' && version !== 'v4' && version !== 'v3') {
    throw new TypeError(
      `createAgentLoop(): ${name}: expected a model of specification v3 or v4, as providers for AI SDK 6 and 7 have them, got ${version}. Update its provider package.`,
    )
  }
  if (typeof doStream === 'function') return
  throw new TypeError(`createAgentLoop(): ${name}: expected ${expected}, got an object without doStream.`)
}
