import { AgentCard } from '@a2a-js/sdk'
import { DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import type { RequestHandler } from 'express'
import { startExpressServer } from './express-server.ts'
import { sdkAgent, sdkCard } from './sdk-agent.ts'

export interface SdkServerOptions {
  /** Members of the card as it is served. */
  readonly card?: (origin: string) => object
  /** Runs before every request that is not for the card. */
  readonly guard?: RequestHandler | ((...args: Parameters<RequestHandler>) => Promise<void>)
}

/** An agent of the official SDK, over JSON-RPC and REST, in 1.0 and 0.3. */
export function startSdkServer({ card, guard }: SdkServerOptions = {}): Promise<string> {
  return startExpressServer((app, origin) => {
    const requestHandler = new DefaultRequestHandler(
      sdkCard(origin),
      new InMemoryTaskStore(),
      sdkAgent(),
      undefined,
      new InMemoryPushNotificationStore(),
    )
    const options = {
      requestHandler,
      userBuilder: UserBuilder.noAuthentication,
      legacyCompat: { enabled: true },
    }
    if (card) {
      const served = { ...(AgentCard.toJSON(sdkCard(origin)) as object), ...card(origin) }
      app.get('/.well-known/agent-card.json', (_request, response) => void response.json(served))
    } else app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    if (guard) app.use(guard)
    app.use('/rpc', jsonRpcHandler(options))
    app.use('/rest', restHandler(options))
  })
}
