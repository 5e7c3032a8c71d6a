import { unlessAborted } from '../core/base/abort.ts'
import { isTimeout } from '../core/base/clock.ts'
import { defined, isObject } from '../core/base/json.ts'
import { observe } from '../core/protocol/telemetry.ts'
import type { MeshDiscoverAgents, MeshHandshake, MeshRequest } from './envelope.ts'
import type { EnvelopeDraft } from './envelope-codec.ts'
import { MeshError, MeshRefusal } from './errors.ts'
import type { MeshCall, MeshPeerOptions } from './options.ts'
import { MeshErrorCode } from './payloads.ts'
import type { Sessions } from './sessions.ts'
import { cardFor, negotiateVersions } from './versions.ts'

export interface DispatchOptions
  extends Pick<
    MeshPeerOptions,
    'card' | 'allows' | 'directory' | 'refuseHandshake' | 'requireHandshake' | 'timeout' | 'telemetry'
  > {
  readonly methods: ReadonlyMap<string, NonNullable<MeshPeerOptions['methods']>[string]>
  readonly sessions: Sessions
}

/** The last step: answers a message that passed all checks. Some messages have no answer. */
export function createDispatch(options: DispatchOptions): (call: MeshCall) => Promise<EnvelopeDraft | undefined> {
  const { card, methods, sessions, directory, requireHandshake = false, timeout = 30_000 } = options

  async function request(call: MeshCall, { message_id, payload }: MeshRequest): Promise<EnvelopeDraft> {
    if (requireHandshake && sessions.get(call.from).state !== 'established') {
      throw new MeshError('FORBIDDEN', 'Send a handshake first.', { details: { reason: 'HANDSHAKE_REQUIRED' } })
    }
    const method = methods.get(payload.method)
    if (!method) throw new MeshError('NOT_FOUND', 'There is no such method here.', { details: { what: 'method' } })
    if (options.allows && !(await options.allows(payload.method, call))) {
      throw new MeshError('METHOD_NOT_ALLOWED', 'You may not call this method.')
    }
    const answer = { message_type: 'response', recipient_id: call.from, correlation_id: message_id } as const
    try {
      const activity = { type: 'mesh', side: 'server', method: payload.method, peer: call.from } as const
      const data = await observe(options.telemetry, activity, call.trace, (span) => {
        const trace = span?.trace ?? call.trace
        return withTimeout(timeout, (signal) => method(payload.parameters ?? {}, { ...call, signal, trace }))
      })
      if (!isObject(data)) throw new TypeError(`The method ${payload.method} did not return an object.`)
      return { ...answer, payload: { status: 'success', data } }
    } catch (error) {
      if (!(error instanceof MeshRefusal)) throw error
      const { code, message, details } = error
      if (MeshErrorCode.check(code) || message === '') throw new TypeError(`A refusal has no valid code: ${code}.`)
      return { ...answer, payload: { status: 'error', error: defined({ code, message, details }) } }
    }
  }

  async function handshake(call: MeshCall, { message_id, payload }: MeshHandshake): Promise<EnvelopeDraft> {
    const peerCard = payload.agent_card
    if (peerCard.agent_id !== call.from) {
      throw new MeshError('VALIDATION_FAILED', 'agent_card.agent_id is not the sender_id.', {
        details: { field: 'payload.agent_card.agent_id' },
      })
    }
    const answer = { message_type: 'handshake_ack', recipient_id: call.from, correlation_id: message_id } as const
    const agreement = negotiateVersions(card, peerCard)
    const reason = await options.refuseHandshake?.(peerCard, call)
    if (reason !== undefined) return { ...answer, payload: { accepted: false, reason } }
    sessions.apply(call.from, { type: 'agreed', card: peerCard, agreement })
    return {
      ...answer,
      payload: {
        accepted: true,
        agent_card: cardFor(card, agreement.schemaVersion),
        selected_protocol: agreement.protocol,
        schema_version: agreement.schemaVersion,
      },
    }
  }

  async function discover(call: MeshCall, { message_id, payload }: MeshDiscoverAgents): Promise<EnvelopeDraft> {
    if (!directory) throw new MeshError('NOT_FOUND', 'There is no registry here.', { details: { what: 'recipient' } })
    return {
      message_type: 'agent_announcement',
      sender_id: 'registry',
      recipient_id: call.from,
      correlation_id: message_id,
      payload: await withTimeout(timeout, () => directory.discover(payload, call)),
    }
  }

  return async (call) => {
    const { envelope } = call
    switch (envelope.message_type) {
      case 'request':
        return await request(call, envelope)
      case 'handshake':
        return await handshake(call, envelope)
      case 'discover_agents':
        return await discover(call, envelope)
      case 'goodbye':
        sessions.apply(call.from, { type: 'goodbye', reconnectAfter: envelope.payload.reconnect_after })
        return undefined
      case 'response':
      case 'handshake_ack':
      case 'agent_announcement':
      case 'error':
        // Answers to pending requests are handled before; no request is pending for this one.
        throw new MeshError('NOT_FOUND', 'No request is waiting for this answer.', {
          details: { what: 'correlation_id' },
        })
    }
  }
}

/** Runs `work` with a time limit and aborts its signal when the time is up. */
async function withTimeout<T>(milliseconds: number, work: (signal: AbortSignal) => Promise<T> | T): Promise<T> {
  const controller = new AbortController()
  const result = work(controller.signal)
  // A method that is not asynchronous has blocked every timer until now.
  if (!isThenable(result)) return result
  const expire = () =>
    controller.abort(new MeshError('TIMEOUT', `There was no answer within ${milliseconds / 1000} seconds.`))
  const timer = isTimeout(milliseconds) ? setTimeout(expire, milliseconds) : undefined
  try {
    return await unlessAborted(Promise.resolve(result), controller.signal)
  } finally {
    clearTimeout(timer)
  }
}

function isThenable<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof (value as { readonly then?: unknown } | undefined)?.then === 'function'
}
