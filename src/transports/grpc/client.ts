import {
  isStream,
  type RequestOf,
  type ResultOf,
  type StreamOperation,
  type UnaryOperation,
} from '../../dialects/dialect.ts'
import { orLeniently } from '../../dialects/or-leniently.ts'
import { unlessAborted, withDeadline } from '../../http/deadline.ts'
import { StreamSilent } from '../../http/read-events.ts'
import type { Clock } from '../../protocol/clock.ts'
import { A2AError, inContext } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { Call, Operation, Service } from '../../protocol/service.ts'
import { answerLimitsOf, believed, parametersOf, type WireClientOptions } from '../client-options.ts'
import { lostAnswer, notInDialect } from '../lost-answer.ts'
import { numbered } from '../numbered.ts'

import { serviceOf } from '../service-of.ts'
import { a2aServices } from './a2a-services.ts'
import { encodeFrame } from './frames.ts'
import { acceptedEncodings } from './inflate.ts'
import { type ReplyMessage, readReply } from './read-reply.ts'
import { methodNamed, pathOf, serviceNamed } from './registry.ts'

/** `Service` over gRPC. The `fetch` that it is given speaks HTTP/2 and gives trailers. */
export function createGrpcClient(options: WireClientOptions): Service {
  const { dialect, fetch, tenant } = options
  const { origin } = new URL(options.url)
  const described = a2aServices.find((each) => each.dialect === dialect.name)
  if (!described) throw new TypeError(`A2A ${dialect.version} has no gRPC binding`)
  const service = serviceNamed(described.name)
  const { answerLimit, eventLimit, jsonDepth, openWithin, idle, clock } = answerLimitsOf(options)

  function methodOf(operation: Operation) {
    const name = dialect.methods[operation]
    if (name !== undefined) return methodNamed(service, name)
    throw notInDialect(operation, dialect.version, 'gRPC')
  }

  /** The messages of the answer; the call is given up when nobody reads them any more. */
  async function* exchange(operation: Operation, request: object, call: Call, more: Metadata = {}) {
    const method = methodOf(operation)
    const url = `${origin}${pathOf(method)}`
    const encode = dialect.encodeRequest[operation] as (request: object) => JsonObject
    const body = encodeFrame(method.input, encode(tenant === undefined ? request : { tenant, ...request }) as Json)
    const headers = { ...fixed, ...parametersOf(options, call), ...timeoutOf(call, clock), ...more }
    const { signal } = call
    const init = { method: 'POST', headers, body: body as Uint8Array<ArrayBuffer>, signal }
    const response = await unlessAborted(fetch(url, init), signal)
    const messageLimit = isStream(operation) ? eventLimit : answerLimit
    yield* readReply(response, { dialect, url, type: method.output, answerLimit, messageLimit, jsonDepth })
  }

  /** Whatever goes wrong is an `A2AError` that knows with whom. */
  const known = (error: unknown, signal: AbortSignal): A2AError => {
    const failure = isRefused(error) ? turnedAway(error, options.url) : lostAnswer(error, options.url, signal)
    return inContext(failure, { dialect: dialect.name, binding: 'GRPC', url: failure.url ?? options.url })
  }

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: Call,
  ): AsyncGenerator<StreamEvent> {
    const { after } = request
    const within = operation === 'streamMessage' ? openWithin : idle
    const deadline = withDeadline(caller.signal, within, () => new StreamSilent(within), clock)
    const { signal } = deadline
    const more: Metadata = after === undefined ? {} : { 'last-event-id': `${after}` }
    try {
      for await (const { json, number, follows } of exchange(operation, request, { ...caller, signal }, more)) {
        // From here on it is the connection that is watched: a stream may have nothing to say for long.
        deadline.extend()
        const event = await orLeniently(dialect, ({ decodeEvent }) => decodeEvent(json, request))
        yield numbered(event, textOf(number), textOf(follows))
        if (event.isLast) return
      }
    } catch (error) {
      // Who has gone hears no more; who is sent away hears why.
      if (caller.signal.aborted && !(caller.signal.reason instanceof A2AError)) return
      throw known(error, signal)
    } finally {
      deadline.release()
    }
  }

  return serviceOf({
    follow,
    async ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
      try {
        const result = await onlyOne(exchange(operation, request, call))
        const wire = await believed(operation, result, options)
        return await orLeniently(dialect, ({ decodeResult }) => decodeResult[operation](wire, request))
      } catch (error) {
        throw known(error, call.signal)
      }
    },
  })
}

function textOf(number: number | undefined): string | undefined {
  return number === undefined ? undefined : `${number}`
}

type Metadata = Readonly<Record<string, string>>

const fixed: Metadata = {
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': acceptedEncodings,
  te: 'trailers',
}

/** The agent need not go on for longer than its caller waits. At most eight digits. */
function timeoutOf({ deadline }: Call, clock: Clock): Metadata {
  if (deadline === undefined) return {}
  const left = Math.max(1, Math.ceil(deadline - clock.now()))
  return { 'grpc-timeout': left < 1e8 ? `${left}m` : `${Math.ceil(left / 1000)}S` }
}

async function onlyOne(messages: AsyncGenerator<ReplyMessage>): Promise<unknown> {
  let only: ReplyMessage | undefined
  for await (const message of messages) {
    if (only) throw new A2AError('invalid-agent-response', 'There were two answers to one call.', { reason: 'not-a2a' })
    only = message
  }
  if (only) return only.json
  throw new A2AError('invalid-agent-response', 'The call ended well, but without an answer.', { reason: 'not-a2a' })
}

/** RFC 9113 §8.7: such a call was not begun, and may be made again. */
function isRefused(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /NGHTTP2_REFUSED_STREAM|ERR_HTTP2_GOAWAY_SESSION/.test(`${error.message} ${codeOf(error)}`)
  )
}

function codeOf(error: Error): unknown {
  return (error as { readonly code?: unknown }).code
}

function turnedAway(cause: Error, url: string): A2AError {
  return new A2AError('unavailable', `${url} takes no more calls at the moment.`, { cause, url, retryAfter: 0 })
}
