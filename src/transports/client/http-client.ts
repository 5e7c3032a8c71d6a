import { unlessAborted, withDeadline } from '../../base/abort.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Binding } from '../../dialects/dialect.ts'
import { StreamSilent } from '../../http/sse-reader.ts'
import { A2AError, withContext } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../../protocol/service.ts'
import { withGeneration } from '../event-numbers.ts'
import { networkError, notInDialect } from './failures.ts'
import { serviceOf } from './operations.ts'
import { answerLimitsOf, believed, parametersOf, type WireClientOptions } from './options.ts'
import { type Answer, readAnswer, readStream } from './read-response.ts'

/** A request of HTTP. */
export interface HttpRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly body?: JsonObject
  readonly contentType: string
  /** The next one asks the same in another form: agents that take only that refuse this one as invalid. */
  readonly hasOtherForm?: boolean
  /** What this request showed to be right, if it is answered. */
  readonly confirm?: () => void
}

/** What is particular to a binding. */
export interface HttpBinding {
  readonly binding: Binding
  /** Whether it can carry the operation in the dialect at all. */
  has(operation: Operation): boolean
  /** The requests that may mean the operation, the likeliest first: another one is tried where nobody is. */
  compose(operation: Operation, wire: JsonObject): readonly HttpRequest[]
  /** The result in an answer; throws the error that it is instead. */
  resultIn(answer: Answer, operation: Operation): unknown
  /** The event in the data of a server-sent event; throws the error that it is instead. */
  eventIn(data: unknown, isError: boolean): unknown
}

/** `Service` over HTTP. Whatever goes wrong is an `A2AError` that knows with whom. */
export function createWireClient(options: WireClientOptions, speech: HttpBinding): Service {
  const { url, dialect, fetch, tenant } = options
  const limits = answerLimitsOf(options)
  const known = (error: A2AError) =>
    withContext(error, { dialect: dialect.name, binding: speech.binding, url: error.url ?? url })

  async function send(composed: HttpRequest, call: Call, headers: Readonly<Record<string, string>>): Promise<Response> {
    const { url, method, body, contentType } = composed
    const { signal } = call
    const sent = { ...parametersOf(options, call), ...headers, ...(body && { 'content-type': contentType }) }
    const asking = fetch(url, { method, headers: sent, signal, ...(body && { body: JSON.stringify(body) }) })
    return await unlessAborted(asking, signal)
  }

  /** Tries one request after the other until somebody is there. */
  async function ask<T>(
    operation: Operation,
    request: object,
    attempt: (composed: HttpRequest) => Promise<T>,
    call: Call,
  ) {
    if (!speech.has(operation)) throw known(notInDialect(operation, dialect.version, speech.binding))
    const encode = dialect.encodeRequest[operation] as (request: object) => JsonObject
    const wire = encode(tenant === undefined ? request : { tenant, ...request })
    let failure: A2AError | undefined
    for (const composed of speech.compose(operation, wire)) {
      try {
        const result = await attempt(composed)
        composed.confirm?.()
        return result
      } catch (error) {
        const told = networkError(error, composed.url, call.signal)
        failure ??= told
        const isOfForm = composed.hasOtherForm && told.code === 'invalid-params'
        if (told.reason !== 'wrong-path' && !isOfForm) throw known(told)
      }
    }
    throw known(failure as A2AError)
  }

  async function* follow(
    operation: StreamOperation,
    request: StreamRequest,
    caller: Call,
  ): AsyncGenerator<StreamEvent> {
    const { after } = request
    const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': `${after}` }) }
    const openWithin = operation === 'streamMessage' ? limits.openWithin : limits.idle
    const deadline = withDeadline(caller.signal, openWithin, () => new StreamSilent(openWithin), limits.clock)
    const { signal } = deadline
    const call = { ...caller, signal }
    const open = async (composed: HttpRequest) => {
      const response = await send(composed, call, headers)
      const stream = await unlessAborted(readStream(response, { ...limits, url: composed.url, signal }), signal)
      return 'answer' in stream ? { result: speech.resultIn(stream.answer, operation) } : stream
    }
    try {
      const opened = await ask(operation, request, open, call)
      if ('result' in opened) return yield dialect.decodeEvent(opened.result, request)
      deadline.extend()
      for await (const { id, follows, data, isError } of opened.events) {
        const event = dialect.decodeEvent(speech.eventIn(data, isError), request)
        yield withGeneration(event, id, follows)
        if (event.isLast) return
      }
    } catch (error) {
      // Who has gone hears no more; who is sent away hears why.
      if (caller.signal.aborted && !(caller.signal.reason instanceof A2AError)) return
      throw known(networkError(error, url, signal))
    } finally {
      deadline.release()
    }
  }

  return serviceOf({
    follow,
    async ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
      const headers = { accept: 'application/json, application/a2a+json' }
      const attempt = async (composed: HttpRequest) => {
        const response = await send(composed, call, headers)
        const reading = readAnswer(response, { ...limits, url: composed.url })
        return speech.resultIn(await unlessAborted(reading, call.signal), operation)
      }
      const result = await ask(operation, request, attempt, call)
      try {
        const wire = await believed(operation, result, options)
        return dialect.decodeResult[operation](wire, request)
      } catch (error) {
        throw known(networkError(error, url, call.signal))
      }
    },
  })
}

type StreamRequest = RequestOf<StreamOperation>
