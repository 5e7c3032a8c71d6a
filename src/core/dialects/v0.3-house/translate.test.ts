import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  arbitraryWireValues,
  arbitraryWireValuesOfJsonSchema,
} from '../../../../test/contracts/dialects/arbitrary-wire-values.ts'
import { arbitraryObjectOf, objectsOfJsonSchema } from '../../../../test/support/schema/arbitrary-of.ts'
import { expectRoundTrip } from '../../../../test/support/schema/expect-round-trip.ts'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import { jsonSchemaOf } from '../../schema/json-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { taggedAs } from '../../schema/unions.ts'
import * as request from '../v0.3/requests.ts'
import * as wire from '../v0.3/schemas.ts'
import { TaskPage } from '../v0.3/schemas.ts'
import { v1_0Client } from '../v1.0/client.ts'
import { v1_0 } from '../v1.0/server.ts'
import { v0_3HouseClient } from './client.ts'
import { InputRequest, ToolResult, ToolUse } from './parts.ts'
import { v0_3House, v0_3HouseStrict } from './server.ts'

const { encodeResult, encodeEvent, decodeRequest } = v0_3House
const { encodeRequest, decodeResult, decodeEvent } = v0_3HouseClient

const standardPart = JSON.stringify(jsonSchemaOf(wire.Part))
const toolPart: JsonObject = {
  oneOf: [taggedAs('kind', 'tool-use', ToolUse), taggedAs('kind', 'tool-result', ToolResult)].map(jsonSchemaOf),
}

const unknownPart = 'application/vnd.a2a.unknown-part+json'

/** Data that resembles a tool part. */
const literalPart: JsonObject = {
  type: 'object',
  properties: {
    kind: { const: 'data' },
    data: toolPart,
    metadata: { enum: [toolUse, toolResult, unknownPart].map((mediaType) => ({ 'a2a.mediaType': mediaType })) },
  },
  required: ['kind', 'data', 'metadata'],
}

/** Metadata that resembles an input request of the model. */
const requestMetadata: JsonObject = {
  enum: [{}, { [clientTools]: { requestId: 'r' } }, { [clientTools]: 'x', k: 1 }, { [clientTools]: { prompt: 7 } }],
}
const requestExtensions: JsonObject = { enum: [[], [clientTools], ['https://x', clientTools], ['https://x']] }

/** Adds the parts and members of the house to a schema of 0.3. */
function houseSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(houseSchema)
  if (!isObject(schema)) return schema
  if (JSON.stringify(schema) === standardPart) return { oneOf: [schema, toolPart, literalPart] }
  const inside = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, houseSchema(value)]))
  const { properties } = inside
  if (!isObject(properties) || properties.messageId === undefined) return inside
  const { metadata, extensions, ...members } = properties
  const requestMembers = {
    inputRequest: jsonSchemaOf(InputRequest),
    metadata: { oneOf: [metadata ?? {}, requestMetadata] },
    extensions: { oneOf: [extensions ?? {}, requestExtensions] },
  }
  return { ...inside, properties: { ...members, ...requestMembers } }
}

function houseValuesOf(schema: Schema<unknown>): Arbitrary<JsonObject> {
  return arbitraryWireValuesOfJsonSchema(houseSchema(jsonSchemaOf(schema)) as JsonObject)
}

const sent = decodeRequest.sendMessage({
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
})
const address = { taskId: 't' }

describe('round trips', () => {
  it('every message is encoded as it was decoded, including an answer by reference', () => {
    const sends = houseValuesOf(request.SendParams)
    for (const { decodeRequest } of [v0_3House, v0_3HouseStrict]) {
      expectRoundTrip(sends, (params) => encodeRequest.sendMessage(decodeRequest.sendMessage(params)))
      expectRoundTrip(sends, (params) => encodeRequest.streamMessage(decodeRequest.streamMessage(params)))
    }
  })

  it('every subscription is encoded as it was decoded', () => {
    const calls = arbitraryWireValues(request.TaskParams).map(({ id, ...params }) => ({ taskId: id ?? '', ...params }))
    expectRoundTrip(calls, (params) => encodeRequest.subscribeToTask(decodeRequest.subscribeToTask(params)))
  })

  it('every result is encoded as it was decoded', () => {
    const outcomes = houseValuesOf(wire.Outcome)
    const tasks = houseValuesOf(wire.Task)
    const pages = houseValuesOf(TaskPage)
    expectRoundTrip(outcomes, (result) => encodeResult.sendMessage(decodeResult.sendMessage(result, sent), sent))
    expectRoundTrip(tasks, (result) => encodeResult.getTask(decodeResult.getTask(result, address), address))
    expectRoundTrip(tasks, (result) => encodeResult.cancelTask(decodeResult.cancelTask(result, address), address))
    expectRoundTrip(pages, (result) => encodeResult.listTasks(decodeResult.listTasks(result, {}), {}))
  })

  it('every stream event is encoded as it was decoded', () => {
    expectRoundTrip(houseValuesOf(wire.StreamEvent), (event) => {
      const [wire, ...more] = encodeEvent(decodeEvent(event, sent), sent)
      expect(more).toEqual([])
      return wire
    })
  })
})

it('tool calls, tool results and input requests survive a conversion to A2A 1.0 and back', () => {
  const parts = fc.array(objectsOfJsonSchema(toolPart))
  const events = fc.record({ parts, inputRequest: arbitraryObjectOf(InputRequest) }).map((members) => {
    const message = { kind: 'message', role: 'agent', messageId: 'm', ...members }
    const status = { state: 'input-required', message }
    return { kind: 'status-update', taskId: 't', contextId: 'c', status, final: false }
  })
  expectRoundTrip(events, (event) => {
    const [newer] = v1_0.encodeEvent(decodeEvent(event, sent), sent)
    return encodeEvent(v1_0Client.decodeEvent(newer, sent), sent)[0]
  })
})
