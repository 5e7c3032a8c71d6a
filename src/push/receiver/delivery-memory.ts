import { Refusal } from './refusal.ts'

/** Of one delivery. Attempts beyond these are no replays to us, but are not told either. */
const maxProofs = 16

export interface DeliveryMemoryOptions {
  /** Deliveries that are remembered. The oldest are forgotten first, but none that could be played again. */
  readonly capacity?: number
  /** Milliseconds. A day by default. */
  readonly rememberFor?: number
  readonly now?: () => number
}

/** A delivery as it is remembered. */
export interface Sighting {
  /** Unique among all senders. */
  readonly id: string
  /** Of the body. */
  readonly digest: string
  /** The signature, if there is one: every attempt of an honest sender has its own. */
  readonly proof?: string
  /** Until then (milliseconds since 1970) it must not be forgotten, for it could be played again. */
  readonly mustUntil: number
}

/**
 * - `new`: whoever gets it tells it, and nobody else does.
 * - `pending`: it is being told.
 * - `done`: it was told; this is a further attempt.
 * - `replayed`: this very attempt was seen before.
 * - `conflict`: another body came under the same id.
 */
export type Claim = 'new' | 'pending' | 'done' | 'replayed' | 'conflict'

/** Knows what was told, so that nothing is told twice. Replicas behind one address share one. */
export interface DeliveryMemory {
  claim(sighting: Sighting): Promise<Claim> | Claim
  settle(id: string): Promise<void> | void
  /** It was not told, and may come again. */
  release(id: string): Promise<void> | void
}

export function createDeliveryMemory({
  capacity = 100_000,
  rememberFor = 86_400_000,
  now = Date.now,
}: DeliveryMemoryOptions = {}): DeliveryMemory {
  /** The oldest first. */
  const entries = new Map<string, Entry>()

  function makeRoom(moment: number): void {
    for (const [id, { until, mustUntil, isDone }] of entries) {
      if (until > moment && entries.size < capacity) return
      const isNeeded = until > moment && (mustUntil > moment || !isDone)
      if (isNeeded) throw full(Math.max(1, Math.ceil((mustUntil - moment) / 1000)))
      entries.delete(id)
    }
  }

  return {
    claim({ id, digest, proof, mustUntil }) {
      const moment = now()
      const known = entries.get(id)
      if (!known || known.until <= moment) {
        entries.delete(id)
        makeRoom(moment)
        const proofs = new Set(proof === undefined ? [] : [proof])
        entries.set(id, { digest, proofs, mustUntil, until: Math.max(mustUntil, moment + rememberFor), isDone: false })
        return 'new'
      }
      if (known.digest !== digest) return 'conflict'
      if (!known.isDone) return 'pending'
      if (proof === undefined) return 'done'
      if (known.proofs.has(proof)) return 'replayed'
      if (known.proofs.size < maxProofs) known.proofs.add(proof)
      return 'done'
    },
    settle(id) {
      const known = entries.get(id)
      if (known) known.isDone = true
    },
    release(id) {
      entries.delete(id)
    },
  }
}

interface Entry {
  readonly digest: string
  readonly proofs: Set<string>
  readonly mustUntil: number
  readonly until: number
  isDone: boolean
}

function full(retryAfter: number): Refusal {
  return new Refusal('busy', 'Too many deliveries came lately: try again later.', { retryAfter })
}
