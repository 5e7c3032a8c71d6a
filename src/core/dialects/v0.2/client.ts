import type { ClientDialect } from '../dialect.ts'
import { withImmediateSends } from '../immediate-sends.ts'
import { decodeVersionedCard } from '../v0.3/card.ts'
import { createResponseDecoder } from '../v0.3/decode.ts'
import * as v0_3 from '../v0.3/encode.ts'
import { extendedCardPath, methods } from './methods.ts'

export const v0_2Client: ClientDialect = {
  name: 'v0.2',
  version: '0.2',
  bindings: ['JSONRPC'],
  methods,
  extendedCardUrls,
  encodeRequest: {
    ...v0_3.encodeRequest,
    // Up to 0.2.5, a configuration must have the output modes.
    sendMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [], blocking: true }),
    streamMessage: (request) => v0_3.encodeSend(request, { acceptedOutputModes: [] }),
  },
  ...createResponseDecoder((card) => decodeVersionedCard(card, '0.2')),
  // The SDK for Python ignores `blocking`.
  adaptService: (service, agent) =>
    withImmediateSends(
      service,
      { software: /uvicorn|hypercorn|granian|gunicorn|python/i, cancelsOnLeave: true },
      agent,
    ),
}

/** The extended card is beside the agent, at `{url}/../agent/authenticatedExtendedCard`, or below it, or at its origin. */
function extendedCardUrls(url: string): readonly string[] {
  const { origin, pathname } = new URL(url)
  const path = pathname.replace(/\/+$/, '')
  const bases = new Set([path.slice(0, path.lastIndexOf('/')), path, ''].map((base) => `${origin}${base}`))
  return [...bases].map((base) => `${base}${extendedCardPath}`)
}
