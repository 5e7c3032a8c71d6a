import type { CardKey, DetachedSignature } from '../auth/card-signature/sign-card.ts'
import type { KeyRing } from '../auth/key-ring.ts'
import { answeredForms } from '../dialects/cards.ts'
import { isLoopback } from '../http/loopback.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Logger } from '../protocol/logger.ts'
import type { JsonObject } from '../protocol/model.ts'
import { jwksPath } from './jwks-page.ts'

/** Signs what an agent says of itself, each version of it once. */
export interface CardSigner {
  /** The name of the key that signs now: with another one, a card is another version. */
  keyName(): string
  /** The card as it is sent, in whatever form, with signatures of exactly that. */
  signWire(wire: JsonObject, origin: string): Promise<JsonObject>
  /** A card that is still to be put into the form of some dialect. */
  signCard(card: AgentCard, origin: string): Promise<AgentCard>
}

export interface CardSignerOptions {
  readonly keys: Pick<KeyRing, 'current'>
  readonly publicUrl?: string | undefined
  readonly logger: Logger
}

/** Callers choose the origin they come by; so many versions are remembered. */
const maxKnown = 64

export function createCardSigner({ keys, publicUrl, logger }: CardSignerOptions): CardSigner {
  const known = new Map<string, Promise<readonly DetachedSignature[]>>()
  let hasWarned = false

  /** Otherwise anybody could have a card signed that leads to a host of their own, by asking for it in that name. */
  function maySign(origin: string): boolean {
    if (publicUrl !== undefined || isLoopback(new URL(origin).hostname)) return true
    if (!hasWarned) logger.warn({ origin }, 'cards are not signed: publicUrl must say where the agent is reached')
    hasWarned = true
    return false
  }

  function signaturesOf({ signatures: _, ...wire }: JsonObject, origin: string): Promise<readonly DetachedSignature[]> {
    const { key, kid, alg } = keys.current()
    const version = `${kid} ${origin} ${JSON.stringify(wire)}`
    const before = known.get(version)
    if (before) return before
    const signatures = sign(wire, { key, kid, alg, jku: `${origin}${jwksPath}` })
    if (known.size >= maxKnown) known.clear()
    known.set(version, signatures)
    signatures.catch(() => known.delete(version))
    return signatures
  }

  return {
    keyName: () => keys.current().kid,
    async signWire(wire, origin) {
      return maySign(origin) ? { ...wire, signatures: await signaturesOf(wire, origin) } : wire
    },
    async signCard(card, origin) {
      if (!maySign(origin)) return card
      const signed = await Promise.all(answeredForms(card).map((wire) => signaturesOf(wire, origin)))
      return { ...card, signatures: signed.flat() }
    },
  }
}

/** Only those who sign load what it needs. */
async function sign(wire: JsonObject, key: CardKey): Promise<readonly DetachedSignature[]> {
  const { cardSignatures } = await import('../auth/card-signature/sign-card.ts')
  return await cardSignatures(wire, key)
}
