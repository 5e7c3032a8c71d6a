import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/base/json.ts'
import { A2AError } from '../../../src/protocol/errors.ts'
import type { Operation, UnaryOperation } from '../../../src/protocol/service.ts'
import { wireObjects } from './wire-objects/all.ts'
import { requestFor } from './wire-objects/wire-objects.ts'

for (const { servers, client, requests, results, events, cards } of wireObjects) {
  describe(`in ${client.name}, arbitrary JSON in any place`, () => {
    it('of a request is read or refused, and never breaks the reader', () => {
      for (const [operation, values] of Object.entries(requests)) {
        for (const { decodeRequest } of servers) expectNoBreak(values, decodeRequest[operation as Operation])
      }
    })

    it('of an answer is read or refused, and never breaks the reader', () => {
      for (const [operation, values] of Object.entries(results)) {
        const read = client.decodeResult[operation as UnaryOperation] as (wire: Json, request: unknown) => unknown
        expectNoBreak(values, (wire) => read(wire, requestFor(wire)))
      }
    })

    it('of an event is read or refused, and never breaks the reader', () => {
      expectNoBreak(events, (wire) => client.decodeEvent(wire, requestFor(wire)))
    })

    it('of a card is read or refused, and never breaks the reader', () => {
      expectNoBreak(cards, (wire) => client.decodeCard(wire))
    })
  })
}

function expectNoBreak(values: Arbitrary<Json>, read: (wire: Json) => unknown): void {
  fc.assert(
    fc.property(values, fc.nat(), fc.jsonValue({ maxDepth: 3 }), (value, n, other) => {
      const places = placesIn(value)
      try {
        read(replaced(value, places[n % places.length] ?? [], other as Json))
      } catch (error) {
        expect(error).toBeInstanceOf(A2AError)
        // What came may be large or secret.
        expect((error as A2AError).message.length).toBeLessThan(600)
      }
    }),
  )
}

type Place = readonly string[]

function placesIn(value: Json): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [[]]
  const inside = Object.entries(value).flatMap(([key, member]) => placesIn(member).map((place) => [key, ...place]))
  return [[], ...inside]
}

function replaced(value: Json, [key, ...rest]: Place, other: Json): Json {
  if (key === undefined || typeof value !== 'object' || value === null) return other
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    name === key ? replaced(member, rest, other) : member,
  ])
  return Array.isArray(value) ? entries.map(([, member]) => member as Json) : Object.fromEntries(entries)
}
