import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import type { ClientDialect, ServerDialect } from '../../../src/dialects/dialect.ts'
import type { Operation, RequestOf, UnaryOperation } from '../../../src/protocol/service.ts'
import { expectRoundTrip } from '../../support/schema/expect-round-trip.ts'
import { wireObjects } from './wire-objects/all.ts'
import { requestFor } from './wire-objects/wire-objects.ts'

/** From the wire into the model and back onto the wire, by the half that reads it and the half that writes it. */
interface Halves {
  readonly server: ServerDialect
  readonly client: ClientDialect
}

for (const { servers, client, requests, results, events, cards } of wireObjects) {
  const [server] = servers

  describe(`in ${server.name}`, () => {
    it.each(entriesOf(requests))('every request to %s comes back as it went', (operation, values) => {
      for (const server of servers) {
        expectRoundTrip(values, (wire) => throughRequest({ server, client }, operation, wire))
      }
    })

    it.each(entriesOf(results))('every answer to %s comes back as it went', (operation, values) => {
      expectRoundTrip(values, (wire) => throughResult({ server, client }, operation, wire))
    })

    it('every event of a stream comes back as it went', () => {
      expectRoundTrip(events, (wire) => {
        const request = requestFor(wire)
        const [told, ...more] = server.encodeEvent(client.decodeEvent(wire, request), request)
        expect(more).toEqual([])
        return told
      })
    })

    it('every card comes back as it went', () => {
      const decodeCard = client.decodeLenientCard ?? client.decodeCard
      expectRoundTrip(cards, (wire) => server.encodeCard(decodeCard(wire)))
    })
  })
}

function throughRequest<O extends Operation>({ server, client }: Halves, operation: O, wire: Json): JsonObject {
  return client.encodeRequest[operation](server.decodeRequest[operation](wire))
}

function throughResult<O extends UnaryOperation>({ server, client }: Halves, operation: O, wire: Json): Json {
  const request = requestFor(wire) as RequestOf<Operation> as RequestOf<O>
  return server.encodeResult[operation](client.decodeResult[operation](wire, request), request)
}

function entriesOf<K extends string, V>(values: Readonly<Partial<Record<K, V>>>): [K, V][] {
  return Object.entries(values) as [K, V][]
}
