import type { TokenExchange } from '../protocol/credentials.ts'
import type { Principal } from '../protocol/model.ts'

/** How an agent gets tokens in the name of its callers. */
export interface DelegationOptions {
  readonly exchange: TokenExchange
  /** The token with which a caller has proved who it is, if it was one. */
  readonly tokenOf: (principal: Principal) => string | undefined
}
