import type { Clock } from '../protocol/clock.ts'
import type { InBand } from '../protocol/in-band.ts'
import type { Part } from '../protocol/model.ts'

/** What came with a message and must not be stored. */
export interface Kept {
  /** The token with which the request proved who sends it. */
  readonly token?: string | undefined
  readonly inBand: readonly InBand[]
  /** What the message said, if that must not be stored. */
  readonly parts?: readonly Part[] | undefined
}

/** Secrets of callers, in the memory of this process and nowhere else. The log knows them by tickets. */
export interface Vault {
  keep(kept: Kept): string
  /** Undefined if they were given to another process, or too long ago. */
  of(ticket: string | undefined): Kept | undefined
  forget(ticket: string | undefined): void
}

/** So many messages' secrets are held at once, and for so many milliseconds. */
const limit = 10_000
const life = 60 * 60 * 1000

export function createVault(clock: Clock): Vault {
  const held = new Map<string, { readonly kept: Kept; readonly until: number }>()

  /** The oldest come first. */
  function makeRoom(): void {
    for (const [ticket, { until }] of held) {
      if (held.size < limit && until > clock.now()) return
      held.delete(ticket)
    }
  }

  return {
    keep(kept) {
      makeRoom()
      const ticket = crypto.randomUUID()
      held.set(ticket, { kept, until: clock.now() + life })
      return ticket
    },
    of(ticket) {
      const found = ticket === undefined ? undefined : held.get(ticket)
      return found && found.until > clock.now() ? found.kept : undefined
    },
    forget(ticket) {
      if (ticket !== undefined) held.delete(ticket)
    },
  }
}
