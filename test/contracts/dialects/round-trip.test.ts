import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../../src/core/base/json.ts'
import type { ClientDialect, ServerDialect } from '../../../src/core/dialects/dialect.ts'
import type { Operation, RequestOf, UnaryOperation } from '../../../src/core/protocol/service.ts'
import { expectRoundTrip } from '../../support/schema/expect-round-trip.ts'
import { wireObjects } from './wire-objects/all.ts'
import { requestFor } from './wire-objects/wire-objects.ts'

/** Both halves of a dialect: one decodes what the other encodes. */
interface DialectHalves {
  readonly server: ServerDialect
  readonly client: ClientDialect
}

for (const { servers, client, requests, results, events, cards } of wireObjects) {
  const [server] = servers

  describe(`round trips in ${server.name}`, () => {
    it.each(entriesOf(requests))('every %s request is encoded as it was decoded', (operation, values) => {
      for (const server of servers) {
        expectRoundTrip(values, (wire) => roundTripRequest({ server, client }, operation, wire))
      }
    })

    it.each(entriesOf(results))('every %s result is encoded as it was decoded', (operation, values) => {
      expectRoundTrip(values, (wire) => roundTripResult({ server, client }, operation, wire))
    })

    it('every stream event is encoded as it was decoded', () => {
      expectRoundTrip(events, (wire) => {
        const request = requestFor(wire)
        const [encoded, ...more] = server.encodeEvent(client.decodeEvent(wire, request), request)
        expect(more).toEqual([])
        return encoded
      })
    })

    it('every card is encoded as it was decoded', () => {
      const decodeCard = client.decodeLenientCard ?? client.decodeCard
      expectRoundTrip(cards, (wire) => server.encodeCard(decodeCard(wire)))
    })
  })
}

function roundTripRequest<O extends Operation>(
  { server, client }: DialectHalves,
  operation: O,
  wire: Json,
): JsonObject {
  return client.encodeRequest[operation](server.decodeRequest[operation](wire))
}

function roundTripResult<O extends UnaryOperation>({ server, client }: DialectHalves, operation: O, wire: Json): Json {
  const request = requestFor(wire) as RequestOf<Operation> as RequestOf<O>
  return server.encodeResult[operation](client.decodeResult[operation](wire, request), request)
}

function entriesOf<K extends string, V>(values: Readonly<Partial<Record<K, V>>>): [K, V][] {
  return Object.entries(values) as [K, V][]
}
