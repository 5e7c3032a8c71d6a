import { it } from 'vitest'
import type { JsonObject } from '../../../src/core/base/json.ts'
import { v0_2Client } from '../../../src/core/dialects/v0.2/client.ts'
import { v0_2 } from '../../../src/core/dialects/v0.2/server.ts'
import { v0_3Client } from '../../../src/core/dialects/v0.3/client.ts'
import { v0_3 } from '../../../src/core/dialects/v0.3/server.ts'
import { v0_3ProtoClient } from '../../../src/core/dialects/v0.3-proto/client.ts'
import { v0_3Proto } from '../../../src/core/dialects/v0.3-proto/server.ts'
import { v1_0Client } from '../../../src/core/dialects/v1.0/client.ts'
import { SendMessageRequest } from '../../../src/core/dialects/v1.0/requests.ts'
import { v1_0 } from '../../../src/core/dialects/v1.0/server.ts'
import { arbitraryObjectOf } from '../../support/schema/arbitrary-of.ts'
import { expectRoundTrip } from '../../support/schema/expect-round-trip.ts'

const olderDialects = [
  [v0_3, v0_3Client],
  [v0_3Proto, v0_3ProtoClient],
  [v0_2, v0_2Client],
] as const

const messages = arbitraryObjectOf(SendMessageRequest).map((params) => {
  const message = params.message as JsonObject & { readonly parts: readonly JsonObject[] }
  const parts = message.parts.map(withoutEmptyMetadata)
  return { message: withoutEmptyMetadata({ ...message, role: 'ROLE_USER', parts }) }
})

for (const [server, client] of olderDialects) {
  it(`a 1.0 message survives a conversion to ${server.name} and back, except for empty metadata`, () => {
    expectRoundTrip(messages, (params) => {
      const converted = client.encodeRequest.streamMessage(v1_0.decodeRequest.streamMessage(params))
      const { message } = v1_0Client.encodeRequest.streamMessage(server.decodeRequest.streamMessage(converted))
      return { message }
    })
  })
}

function withoutEmptyMetadata(value: JsonObject): JsonObject {
  const { metadata, ...rest } = value
  return metadata && Object.keys(metadata).length > 0 ? value : rest
}
