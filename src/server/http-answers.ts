import type { Outgoing } from '../http/exchange.ts'

/** An error of HTTP itself, in the form that A2A 1.0 gives to errors over HTTP (§11.6). */
export function problem(code: number, message: string, headers?: Readonly<Record<string, string>>): Outgoing {
  return jsonAnswer(code, { error: { code, status: statusNames[code], message } }, headers)
}

export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

const statusNames: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}
