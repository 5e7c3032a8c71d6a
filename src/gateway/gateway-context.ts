import type { Logger } from '../core/base/logger.ts'
import type { Interceptor } from '../core/protocol/intercept.ts'
import type { PushFetch } from '../core/push/options.ts'
import type { OwnershipStore } from '../core/tasks/ownership.ts'

/** What the agents of a gateway share. */
export interface GatewayContext {
  readonly ownership: OwnershipStore
  readonly logger: Logger
  /** The name of the gateway in `Via`. */
  readonly via: string
  /** Whether served cards contain the card of the agent. */
  readonly includesOrigin: boolean
  /** Where agents send notifications for the webhooks of pass-through callers. Undefined without push. */
  readonly pushUrl: (() => string) | undefined
  readonly pushFetch: PushFetch | undefined
  /** Run around every operation of an agent. */
  interceptorsFor(agent: string): readonly Interceptor[]
}
