import type { Arbitrary } from 'fast-check'
import type { Json, JsonObject } from '../../../../src/base/json.ts'
import { isObject } from '../../../../src/base/json.ts'
import type { ClientDialect, ServerDialect } from '../../../../src/dialects/dialect.ts'
import type { Operation, UnaryOperation } from '../../../../src/protocol/service.ts'

/** What goes over the wire in a dialect, made from its schemas: valid, and in the one spelling that we write. */
export interface WireObjects {
  /** The lenient one, and the strict one if there is a difference. */
  readonly servers: readonly [ServerDialect, ...ServerDialect[]]
  readonly client: ClientDialect
  readonly requests: Readonly<Partial<Record<Operation, Arbitrary<JsonObject>>>>
  readonly results: Readonly<Partial<Record<UnaryOperation, Arbitrary<Json>>>>
  readonly events: Arbitrary<JsonObject>
  readonly cards: Arbitrary<JsonObject>
}

export function both(sends: Arbitrary<JsonObject>): WireObjects['requests'] {
  return { sendMessage: sends, streamMessage: sends }
}

/** A caller speaks only for itself. */
export function asUser({ message, ...params }: JsonObject): JsonObject {
  return { ...params, message: { ...(message as JsonObject), role: 'ROLE_USER' } }
}

const message = { messageId: 'm', role: 'user', parts: [] } as const

/** One that can have asked for this, whatever the operation. */
export function requestFor(wire: Json) {
  const taskId = isObject(wire) && typeof wire.id === 'string' ? wire.id : 't'
  const includeArtifacts = isObject(wire) && JSON.stringify(wire.tasks ?? []).includes('"artifacts":')
  return { message, alias: taskId, taskId, url: 'https://h', includeArtifacts }
}
