import type { ServingContext } from '../core/agent/agent.ts'
import { defined } from '../core/base/json.ts'
import { type Trace, traceHeaders } from '../core/base/trace-context.ts'
import type { CallWithTimeout } from '../core/client/options.ts'
import { A2AError, type ErrorCode } from '../core/protocol/errors.ts'
import { hopsHeader } from '../core/protocol/extensions/lineage.ts'
import { anonymous, type Principal } from '../core/protocol/model.ts'
import type { Call } from '../core/protocol/service.ts'
import type { UpstreamOptions } from './options.ts'

/** What of a caller's call goes to the agent. */
export interface OutgoingCall {
  readonly signal: AbortSignal
  readonly trace?: Trace | undefined
  readonly hops?: number | undefined
  readonly extensions?: readonly string[] | undefined
  readonly idempotencyKey?: string | undefined
  /** Headers of the caller that are passed on. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** A token of the caller, or for it. */
  readonly token?: string | undefined
  readonly timeout?: number | undefined
  /** For agents that are reached by a link of the caller, such as mesh peers. */
  readonly principal?: Principal
}

/** The call to the agent. The headers of the gateway take precedence over those of the caller. */
export function createCall(outgoing: OutgoingCall, via: string): CallWithTimeout {
  const { signal, trace, hops, extensions, idempotencyKey, headers, token, timeout, principal = anonymous } = outgoing
  return defined({
    principal,
    signal,
    trace,
    extensions,
    idempotencyKey,
    timeout,
    headers: {
      ...headers,
      ...traceHeaders(trace),
      ...defined({
        [hopsHeader]: hops !== undefined && hops > 0 ? `${hops}` : undefined,
        authorization: token === undefined ? undefined : `Bearer ${token}`,
      }),
      via: `1.1 ${via}`,
    },
  })
}

/** Names the audience that stands for the caller's own token. */
export const forwardAudience = 'parley:forward'

/** The audience of the token with which the agent is called in the name of the caller. Undefined if it is not. */
export function audienceOf({ identity }: UpstreamOptions): string | undefined {
  return identity === 'forward' ? forwardAudience : identity?.audience
}

/** Turns a call of a caller into one to the agent, with the caller's token and headers as far as the options say so. */
export function createForwarder(options: UpstreamOptions, { exchange }: ServingContext, via: string) {
  const audience = audienceOf(options)
  return async (call: Call, timeout = options.timeout): Promise<CallWithTimeout> => {
    const { signal, trace, hops, extensions, idempotencyKey, principal } = call
    const token = audience === undefined ? undefined : await exchange?.(principal, audience, signal)
    const headers = forwardedHeaders(options, call.header && ((header) => call.header?.(header)))
    const members = { signal, trace, hops, extensions, idempotencyKey, headers, token, timeout }
    return createCall(options.service ? { ...members, principal } : members, via)
  }
}

/** The headers of a request that are passed on. Values that could smuggle further headers are dropped. */
export function forwardedHeaders(
  { forwardHeaders = [] }: UpstreamOptions,
  header: ((name: string) => string | undefined) | undefined,
): Readonly<Record<string, string>> | undefined {
  if (!header || forwardHeaders.length === 0) return undefined
  const entries = forwardHeaders.flatMap((name) => {
    const value = header(name.toLowerCase())
    return value === undefined || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? [] : [[name.toLowerCase(), value] as const]
  })
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

/** Errors of the connection, whose texts name addresses that are no concern of callers. */
const connectionCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['unavailable', 'timeout', 'invalid-agent-response'])

/**
 * The error that the caller gets for one of a call to the agent. Errors that the agent sent keep their code, text and
 * details; those of the connection are reworded, because they name internal addresses.
 */
export function toCallerError(
  error: unknown,
  name: string,
  { identity }: Pick<UpstreamOptions, 'identity'> = {},
): unknown {
  if (!(error instanceof A2AError)) return error
  const { code, message, violations, retryAfter, reason, metadata } = error
  const details = defined({ cause: error, violations, metadata, retryAfter })
  if (code === 'unauthenticated' && identity === undefined) {
    const text = `The agent ${name} refuses the credentials of this gateway. Its operator has to renew them.`
    return new A2AError('unavailable', text, { cause: error, metadata: { reason: 'upstream-credentials' } })
  }
  if (connectionCodes.has(code) && (reason !== undefined || code === 'invalid-agent-response')) {
    const why = { ...metadata, reason: reason ?? code }
    return new A2AError(code, connectionText(code, name), defined({ cause: error, retryAfter, metadata: why }))
  }
  // An answer that is not A2A: the text names its address.
  if (reason !== undefined && message.includes('://')) {
    const own = foreignCodes.has(code) ? code : 'invalid-agent-response'
    return new A2AError(own, connectionText(own, name), defined({ cause: error, retryAfter, metadata: { reason } }))
  }
  return new A2AError(code, message, details)
}

/** The codes by which HTTP alone says what is wrong. */
const foreignCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['unauthenticated', 'forbidden', 'rate-limited'])

function connectionText(code: ErrorCode, name: string): string {
  if (code === 'unauthenticated') return `The agent ${name} does not accept the token of the caller.`
  if (code === 'forbidden') return `The agent ${name} does not allow this call.`
  if (code === 'rate-limited') return `The agent ${name} is called too often: try again later.`
  if (code === 'timeout') return `The agent ${name} did not answer in time.`
  if (code === 'invalid-agent-response') return `The agent ${name} sent an answer that cannot be understood.`
  return `The agent ${name} cannot be reached at the moment: try again.`
}
