import { A2AError } from '../../protocol/errors.ts'
import { type Interceptor, intercept } from '../../protocol/intercept.ts'
import type { Service } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import { withImmediateSends } from '../immediate-sends.ts'
import { pythonServers } from '../python-agents.ts'
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
      intercept(service, [readBeforeCancel(service)]),
      { software: pythonServers, cancelsOnLeave: true },
      agent,
    ),
}

/**
 * 0.1 cancels by the same method, and cards of both can be equal. A task cannot be canceled twice, so a read finds out
 * first whether the agent speaks 0.2.
 */
function readBeforeCancel(service: Service): Interceptor {
  let isKnown = false
  return {
    async sendMessage(request, call, next) {
      const outcome = await next(request, call)
      isKnown = true
      return outcome
    },
    async getTask(request, call, next) {
      const task = await next(request, call)
      isKnown = true
      return task
    },
    async *stream(_operation, request, call, next) {
      for await (const event of next(request, call)) {
        isKnown = true
        yield event
      }
    },
    async cancelTask(request, call, next) {
      try {
        if (!isKnown) await service.getTask(request, call)
        isKnown = true
      } catch (error) {
        if (!(error instanceof A2AError) || error.code !== 'invalid-agent-response') throw error
        throw new A2AError('version-not-supported', 'The agent does not answer as A2A 0.2 does.', { cause: error })
      }
      return await next(request, call)
    },
  }
}

/** The extended card is beside the agent, at `{url}/../agent/authenticatedExtendedCard`, or below it, or at its origin. */
function extendedCardUrls(url: string): readonly string[] {
  const { origin, pathname } = new URL(url)
  const path = pathname.replace(/\/+$/, '')
  const bases = new Set([path.slice(0, path.lastIndexOf('/')), path, ''].map((base) => `${origin}${base}`))
  return [...bases].map((base) => `${base}${extendedCardPath}`)
}
