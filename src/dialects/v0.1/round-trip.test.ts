import fc, { type Arbitrary } from 'fast-check'
import { expect, it } from 'vitest'
import { arbitraryObjectOf } from '../../../test/support/arbitrary-of.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { isObject } from '../is-object.ts'
import { Card } from './decode-card.ts'
import { v0_1, v0_1Client, v0_1Strict } from './index.ts'
import * as requests from './request-schemas.ts'
import * as wire from './schemas.ts'

/** The value survives as JSON, whatever the order of its members. */
function expectIdentity(values: Arbitrary<JsonObject>, there: (wire: JsonObject) => unknown): void {
  fc.assert(
    fc.property(values, (value) => {
      const json = JSON.stringify(value)
      expect(JSON.parse(JSON.stringify(there(JSON.parse(json))))).toEqual(JSON.parse(json))
    }),
  )
}

const { encodeResult, encodeEvent, encodeCard } = v0_1
const { encodeRequest, decodeResult, decodeEvent, decodeCard } = v0_1Client

it('every request comes back as it went', () => {
  for (const { decodeRequest } of [v0_1, v0_1Strict]) {
    const sends = arbitraryObjectOf(requests.SendParams)
    expectIdentity(sends, (params) => encodeRequest.sendMessage(decodeRequest.sendMessage(params)))
    expectIdentity(sends, (params) => encodeRequest.streamMessage(decodeRequest.streamMessage(params)))
    const gets = arbitraryObjectOf(requests.GetTaskParams)
    expectIdentity(gets, (params) => encodeRequest.getTask(decodeRequest.getTask(params)))
    const cancels = arbitraryObjectOf(requests.CancelTaskParams)
    expectIdentity(cancels, (params) => encodeRequest.cancelTask(decodeRequest.cancelTask(params)))
    const others = arbitraryObjectOf(requests.TaskParams)
    expectIdentity(others, (params) => encodeRequest.subscribeToTask(decodeRequest.subscribeToTask(params)))
    expectIdentity(others, (params) => encodeRequest.getPushConfig(decodeRequest.getPushConfig(params)))
    const configs = arbitraryObjectOf(wire.TaskPushConfig)
    expectIdentity(configs, (params) => encodeRequest.createPushConfig(decodeRequest.createPushConfig(params)))
  }
})

it('every answer comes back as it went', () => {
  const tasks = arbitraryObjectOf(wire.Task).map(told)
  expectIdentity(tasks, (task) => {
    const request = { message, alias: idOf(task) }
    return encodeResult.sendMessage(decodeResult.sendMessage(task, request), request)
  })
  expectIdentity(tasks, (task) => {
    const request = { taskId: idOf(task) }
    const result = encodeResult.getTask(decodeResult.getTask(task, request), request)
    expect(encodeResult.cancelTask(decodeResult.cancelTask(task, request), request)).toEqual(result)
    return result
  })
  expectIdentity(arbitraryObjectOf(wire.TaskPushConfig), (config) => {
    const request = { taskId: idOf(config), url: 'https://h' }
    const result = encodeResult.getPushConfig(decodeResult.getPushConfig(config, request), request)
    expect(encodeResult.createPushConfig(decodeResult.createPushConfig(config, request), request)).toEqual(result)
    return result
  })
})

it('every event of a stream comes back as it went', () => {
  for (const shape of [wire.StatusUpdate, wire.ArtifactUpdate]) {
    expectIdentity(arbitraryObjectOf(shape).map(told), (event) => {
      const request: SendRequest = { message, alias: idOf(event) }
      const [wire, ...more] = encodeEvent(decodeEvent(event, request), request)
      expect(more).toEqual([])
      return wire
    })
  }
})

it('every card comes back as it went', () => {
  expectIdentity(arbitraryObjectOf(Card), (card) => encodeCard(decodeCard(card)))
})

it('every part comes back as it went, whatever of ours stands in its metadata', () => {
  const words = fc.oneof(fc.constantFrom('', 'text/markdown', 'application/vnd.a2a.unknown+json'), fc.integer())
  const marks = { 'a2a.mediaType': words, 'a2a.filename': words, data_part_compat: fc.boolean(), own: fc.integer() }
  const metadata = fc.record(marks, { requiredKeys: [] })
  const values = fc.oneof(fc.jsonValue({ maxDepth: 1 }))
  const data = fc.oneof(fc.record({ value: values }), fc.record({ value: values, more: values }), fc.array(values))
  const parts = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string(), metadata }),
    fc.record({ type: fc.constant('file'), file: fc.record({ name: fc.string() }), metadata }),
    fc.record({ type: fc.constant('data'), data, metadata }),
  )
  const sends = parts.map((part) => ({ id: 't', message: { role: 'user', parts: [part] } }))
  expectIdentity(sends as Arbitrary<JsonObject>, (params) =>
    encodeRequest.sendMessage(v0_1.decodeRequest.sendMessage(params)),
  )
})

const message = { messageId: 'm', role: 'user', parts: [] } as const

function idOf({ id }: JsonObject): string {
  return id as string
}

/**
 * Without what a status cannot keep for want of a place: that its time is the very beginning of Unix, and that there
 * is empty metadata beside a state that is unknown.
 */
function told(value: JsonObject): JsonObject {
  if (!isObject(value.status)) return value
  const { timestamp = null, ...status } = value.status
  const timed: Json = timestamp === null || timestamp === new Date(0).toISOString() ? status : { ...status, timestamp }
  const { metadata, ...rest } = value
  const isMute = metadata === undefined || (status.state === 'unknown' && Object.keys(metadata as object).length === 0)
  return isMute ? { ...rest, status: timed } : { ...rest, status: timed, metadata }
}
