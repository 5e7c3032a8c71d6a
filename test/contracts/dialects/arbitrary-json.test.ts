import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/base/json.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import type { Operation, UnaryOperation } from '../../../src/core/protocol/service.ts'
import { wireObjects } from './wire-objects/all.ts'
import { requestFor } from './wire-objects/wire-objects.ts'

for (const { servers, client, requests, results, events, cards } of wireObjects) {
  describe(`arbitrary JSON at any path in ${client.name}`, () => {
    it('a request with arbitrary JSON is decoded or rejected with an A2AError', () => {
      for (const [operation, values] of Object.entries(requests)) {
        for (const { decodeRequest } of servers) expectOnlyA2AErrors(values, decodeRequest[operation as Operation])
      }
    })

    it('a result with arbitrary JSON is decoded or rejected with an A2AError', () => {
      for (const [operation, values] of Object.entries(results)) {
        const decode = client.decodeResult[operation as UnaryOperation] as (wire: Json, request: unknown) => unknown
        expectOnlyA2AErrors(values, (wire) => decode(wire, requestFor(wire)))
      }
    })

    it('an event with arbitrary JSON is decoded or rejected with an A2AError', () => {
      expectOnlyA2AErrors(events, (wire) => client.decodeEvent(wire, requestFor(wire)))
    })

    it('a card with arbitrary JSON is decoded or rejected with an A2AError', () => {
      expectOnlyA2AErrors(cards, (wire) => client.decodeCard(wire))
    })
  })
}

function expectOnlyA2AErrors(values: Arbitrary<Json>, decode: (wire: Json) => unknown): void {
  fc.assert(
    fc.property(values, fc.nat(), fc.jsonValue({ maxDepth: 3 }), (value, n, replacement) => {
      const paths = pathsIn(value)
      try {
        decode(replaceAt(value, paths[n % paths.length] ?? [], replacement as Json))
      } catch (error) {
        expect(error).toBeInstanceOf(A2AError)
        // The value may be large or secret, and must not be in the message.
        expect((error as A2AError).message.length).toBeLessThan(600)
      }
    }),
  )
}

type Path = readonly string[]

function pathsIn(value: Json): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [[]]
  const inner = Object.entries(value).flatMap(([key, member]) => pathsIn(member).map((path) => [key, ...path]))
  return [[], ...inner]
}

function replaceAt(value: Json, [key, ...rest]: Path, replacement: Json): Json {
  if (key === undefined || typeof value !== 'object' || value === null) return replacement
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    name === key ? replaceAt(member, rest, replacement) : member,
  ])
  return Array.isArray(value) ? entries.map(([, member]) => member as Json) : Object.fromEntries(entries)
}
