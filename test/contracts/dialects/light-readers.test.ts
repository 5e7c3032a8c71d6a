import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/base/json.ts'
import { allClients } from '../../../src/dialects/client-dialects.ts'
import type { ResponseDecoder } from '../../../src/dialects/dialect.ts'
import { lenientOf } from '../../../src/dialects/read.ts'
import type { Operation, RequestOf, UnaryOperation } from '../../../src/protocol/service.ts'
import { wireObjects } from './wire-objects/all.ts'
import { requestFor } from './wire-objects/wire-objects.ts'

/** What a client reads by at first must be right, or leave it: what it leaves, the reader that is loaded then reads. */
for (const { load, name } of allClients) {
  const objects = wireObjects.find(({ client }) => client.name === name)
  if (!objects) throw new Error(`there are no objects of ${name}`)
  const { results, events, cards } = objects
  const light = await load()
  const whole = await lenientOf(light)

  describe(`the light reader of ${name}`, () => {
    it.each(Object.keys(results) as UnaryOperation[])('reads answers to %s as the whole one, or not', (operation) => {
      const decode = (wire: Json, by: ResponseDecoder) => resultBy(by, operation, wire)
      expectAlike(results[operation] ?? fc.constant({}), light, whole, decode)
    })

    it('reads events as the whole one, or not', () => {
      expectAlike(events, light, whole, (wire, by) => by.decodeEvent(wire, requestFor(wire)))
    })

    it('reads cards as the whole one, or not', () => {
      expectAlike(cards, light, whole, (wire, by) => by.decodeCard(wire))
    })
  })
}

function resultBy<O extends UnaryOperation>({ decodeResult }: ResponseDecoder, operation: O, wire: Json): unknown {
  return decodeResult[operation](wire, requestFor(wire) as RequestOf<Operation> as RequestOf<O>)
}

function expectAlike(
  values: fc.Arbitrary<Json>,
  light: ResponseDecoder,
  whole: ResponseDecoder,
  decode: (wire: Json, by: ResponseDecoder) => unknown,
): void {
  fc.assert(
    fc.property(values, (wire) => {
      let read: unknown
      try {
        read = decode(wire, light)
      } catch {
        return
      }
      expect(read).toEqual(decode(wire, whole))
    }),
  )
}
