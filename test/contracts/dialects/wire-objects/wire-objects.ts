import type { Arbitrary } from 'fast-check'
import { isObject, type Json, type JsonObject } from '../../../../src/core/base/json.ts'
import type { ClientDialect, ServerDialect } from '../../../../src/core/dialects/dialect.ts'
import type { Operation, UnaryOperation } from '../../../../src/core/protocol/service.ts'

/** Arbitrary wire objects of a dialect, derived from its schemas: valid, and in the spelling that we write. */
export interface WireObjects {
  /** The lenient dialect, and the strict one if it differs. */
  readonly servers: readonly [ServerDialect, ...ServerDialect[]]
  readonly client: ClientDialect
  readonly requests: Readonly<Partial<Record<Operation, Arbitrary<JsonObject>>>>
  readonly results: Readonly<Partial<Record<UnaryOperation, Arbitrary<Json>>>>
  readonly events: Arbitrary<JsonObject>
  readonly cards: Arbitrary<JsonObject>
}

export function unaryAndStream(sends: Arbitrary<JsonObject>): WireObjects['requests'] {
  return { sendMessage: sends, streamMessage: sends }
}

/** Sets the role of the user: callers have no other. */
export function asUser({ message, ...params }: JsonObject): JsonObject {
  return { ...params, message: { ...(message as JsonObject), role: 'ROLE_USER' } }
}

const message = { messageId: 'm', role: 'user', parts: [] } as const

/** A request that fits the result or event, whatever the operation. */
export function requestFor(wire: Json) {
  const taskId = isObject(wire) && typeof wire.id === 'string' ? wire.id : 't'
  const includeArtifacts = isObject(wire) && JSON.stringify(wire.tasks ?? []).includes('"artifacts":')
  return { message, alias: taskId, taskId, url: 'https://h', includeArtifacts }
}
