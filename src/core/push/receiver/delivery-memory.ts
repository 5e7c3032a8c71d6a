import { aFunction, checkOptions, integer, milliseconds } from '../../base/options.ts'
import { DeliveryRefusal } from './refusal.ts'

/** Signatures remembered per delivery. A replay beyond these counts as another attempt, which is not handled again. */
const maxProofs = 16

export interface DeliveryMemoryOptions {
  /** Number of deliveries to remember. The oldest are dropped first, except those that could be replayed. Defaults to 100,000. */
  readonly capacity?: number
  /** How long to remember a delivery, in milliseconds. Defaults to one day. */
  readonly rememberFor?: number
  readonly now?: () => number
}

/** A delivery as the memory stores it. */
export interface DeliveryRecord {
  /** The delivery id, unique across senders. */
  readonly id: string
  /** The digest of the body. */
  readonly digest: string
  /** The signature, if the delivery has one. An honest sender signs every attempt anew. */
  readonly proof?: string
  /** Until this time, in milliseconds since 1970, the delivery could be replayed and must be remembered. */
  readonly mustUntil: number
}

/**
 * - `new`: the claimant handles the delivery; no other one does.
 * - `pending`: the delivery is being handled.
 * - `done`: the delivery was handled; this is a further attempt.
 * - `replayed`: this attempt was received before.
 * - `conflict`: a different body was received under the same id.
 */
export type DeliveryClaim = 'new' | 'pending' | 'done' | 'replayed' | 'conflict'

/** Remembers handled deliveries, so that none is handled twice. Replicas behind one URL share a memory. */
export interface DeliveryMemory {
  claim(record: DeliveryRecord): Promise<DeliveryClaim> | DeliveryClaim
  /** Marks a claimed delivery as handled. */
  settle(id: string): Promise<void> | void
  /** Gives up a claim: the delivery was not handled, and may be received again. */
  release(id: string): Promise<void> | void
}

/** Creates the memory of a receiver: it remembers deliveries of one process, so that each event is handled once. */
export function createDeliveryMemory(options: DeliveryMemoryOptions = {}): DeliveryMemory {
  const checks = { capacity: integer({ min: 1 }), rememberFor: milliseconds(), now: aFunction }
  checkOptions('createDeliveryMemory', options, checks)
  const { capacity = 100_000, rememberFor = 86_400_000, now = Date.now } = options
  /** The oldest deliveries first. */
  const entries = new Map<string, Entry>()

  function makeRoom(time: number): void {
    for (const [id, { until, mustUntil, isDone }] of entries) {
      if (until > time && entries.size < capacity) return
      const isNeeded = until > time && (mustUntil > time || !isDone)
      if (isNeeded) throw tooManyDeliveries(Math.max(1, Math.ceil((mustUntil - time) / 1000)))
      entries.delete(id)
    }
  }

  return {
    claim({ id, digest, proof, mustUntil }) {
      const time = now()
      const entry = entries.get(id)
      if (!entry || entry.until <= time) {
        entries.delete(id)
        makeRoom(time)
        const proofs = new Set(proof === undefined ? [] : [proof])
        entries.set(id, { digest, proofs, mustUntil, until: Math.max(mustUntil, time + rememberFor), isDone: false })
        return 'new'
      }
      if (entry.digest !== digest) return 'conflict'
      if (!entry.isDone) return 'pending'
      if (proof === undefined) return 'done'
      if (entry.proofs.has(proof)) return 'replayed'
      if (entry.proofs.size < maxProofs) entry.proofs.add(proof)
      return 'done'
    },
    settle(id) {
      const entry = entries.get(id)
      if (entry) entry.isDone = true
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

function tooManyDeliveries(retryAfter: number): DeliveryRefusal {
  return new DeliveryRefusal('busy', 'Too many deliveries were received recently: try again later.', { retryAfter })
}
