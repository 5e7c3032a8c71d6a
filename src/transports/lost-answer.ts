import { EventTooLarge } from '../http/event-parser.ts'
import { BodyTooLarge } from '../http/exchange.ts'
import { type NetworkFailure, networkFailureOf } from '../http/network-failure.ts'
import { StreamSilent } from '../http/read-events.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Operation } from '../protocol/service.ts'

/**
 * What was thrown between a request and the end of its answer, as the one error that callers see. Whoever aborts may
 * say why by an error, such as that the time was up.
 */
export function lostAnswer(thrown: unknown, url: string, signal: AbortSignal): A2AError {
  const error = signal.aborted && !(thrown instanceof A2AError) ? signal.reason : thrown
  if (error instanceof A2AError) return error
  if (error instanceof StreamSilent) return silent(url, error.idle)
  if (signal.aborted) return givenUp(signal)
  if (error instanceof BodyTooLarge || error instanceof EventTooLarge) {
    const problem = `The answer of ${url} is not read: ${error.message}.`
    return new A2AError('payload-too-large', problem, { cause: error, url, reason: 'answer-too-large' })
  }
  const failure = networkFailureOf(error)
  const problem =
    failure === 'guarded' && error instanceof Error
      ? `${url} is not asked: ${error.message}.`
      : `${url} cannot be reached: ${sayings[failure]}.`
  return new A2AError('unavailable', problem, {
    cause: error,
    url,
    reason: failure,
  })
}

function silent(url: string, milliseconds: number): A2AError {
  const problem = `The stream of ${url} is silent: nothing came for ${milliseconds / 1000} seconds.`
  return new A2AError('unavailable', problem, { url, reason: 'silent' })
}

function givenUp({ reason }: AbortSignal): A2AError {
  return new A2AError('unavailable', 'The call was given up before there was an answer.', {
    cause: reason,
    reason: 'aborted',
  })
}

export function notInDialect(operation: Operation, version: string, binding: string): A2AError {
  const problem = `A2A ${version} has no way to ask for it over ${binding}: ${operation}.`
  return new A2AError('unsupported-operation', problem, { reason: 'not-in-dialect' })
}

const sayings: Readonly<Record<NetworkFailure, string>> = {
  'connection-refused': 'nothing listens there',
  'name-not-found': 'there is no host of that name',
  'host-unreachable': 'there is no way to that host',
  certificate: 'its certificate is not trusted',
  'not-tls': 'it does not speak TLS',
  'not-http': 'it does not speak HTTP',
  'bad-url': 'it is no address that can be asked',
  'redirect-loop': 'it redirects in a circle',
  guarded: 'the guard does not let it out',
  'connection-lost': 'the connection broke off',
  blocked: 'the request failed, and the platform does not say why',
}
