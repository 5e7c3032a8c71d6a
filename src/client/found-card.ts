import type { KnownDialect } from '../dialects/dialect.ts'
import type { ReadCard } from '../dialects/peer-card.ts'
import type { Fetch } from '../http/outbound.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Answer } from '../transports/read-answer.ts'
import type { CardCache } from './card-cache.ts'
import type { Journal } from './journal.ts'
import type { ConnectOptions } from './options.ts'

/** Whom a target means. */
export interface FoundCard {
  readonly card: AgentCard
  readonly cardUrl?: string
  readonly orElse?: string
}

export interface FindCardOptions extends ConnectOptions {
  readonly fetch: Fetch
  readonly journal: Journal
  readonly clock: Clock
  /** The newest first. */
  readonly readers: readonly [KnownDialect, ...KnownDialect[]]
  readonly readOlderCard?: ReadCard
}

export interface SearchOptions extends FindCardOptions {
  readonly cache: CardCache
  readonly signal: AbortSignal
  readonly look: (url: string) => Promise<Answer>
}
