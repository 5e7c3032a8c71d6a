import { A2AError, type ErrorCode, type FieldViolation } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { isObject } from './is-object.ts'

/** What an agent tells of an error in objects of `google.rpc`, read as far as it can be understood. */
export interface RpcDetails {
  readonly reason?: string
  readonly domain?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly violations?: readonly FieldViolation[]
  readonly retryAfter?: number
}

export function readDetails(details: unknown): RpcDetails {
  if (!Array.isArray(details)) return {}
  return Object.assign({}, ...details.map(readDetail))
}

/** The error that its code, its message and its details make. What the agent sent stays with it as its cause. */
export function toError(code: ErrorCode, message: unknown, details: RpcDetails, cause: unknown): A2AError {
  const { metadata, violations, retryAfter } = details
  const text = typeof message === 'string' && message !== '' ? message : `The agent answered with an error: ${code}.`
  return new A2AError(code, text, { cause, metadata, violations, retryAfter })
}

/** The members of what may be an object. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function readDetail(value: unknown): RpcDetails {
  const detail = membersOf(value)
  switch (textOf(detail['@type']).split('/').at(-1)) {
    case 'google.rpc.ErrorInfo':
      return { reason: textOf(detail.reason), domain: textOf(detail.domain), metadata: textsOf(detail.metadata) }
    case 'google.rpc.BadRequest':
      return { violations: violationsOf(detail.fieldViolations) }
    case 'google.rpc.RetryInfo':
      return { retryAfter: secondsOf(detail.retryDelay) }
  }
  return {}
}

function violationsOf(value: unknown): readonly FieldViolation[] {
  if (!Array.isArray(value)) return []
  return value.map(membersOf).map(({ field, description }) => ({
    field: textOf(field),
    description: textOf(description),
  }))
}

function secondsOf(value: unknown): number | undefined {
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(textOf(value)) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

function textsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(membersOf(value)).filter(([, member]) => typeof member === 'string')
  return Object.fromEntries(entries) as Record<string, string>
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
