import { BoundedMap } from '../../base/bounded-map.ts'
import type { PeerForm, ServerDialect } from '../../dialects/dialect.ts'
import type { Incoming } from '../../http/exchange.ts'
import { isAnonymous, ownerOf, type Principal } from '../../protocol/model.ts'

/** Callers whose form is remembered. */
const maxCallers = 10_000

/** Returns the variant of a dialect that the caller of a request reads. */
export type ChooseVariant = (
  dialect: ServerDialect,
  params: unknown,
  incoming: Pick<Incoming, 'header'>,
  principal: Principal,
) => ServerDialect

/**
 * Remembers what the requests of a caller have shown, for its later requests. Callers without credentials cannot be
 * distinguished: one behind the same proxy could have another SDK.
 */
export function createVariantChoice(): ChooseVariant {
  const learnedForms = new BoundedMap<string, Partial<PeerForm>>(maxCallers)
  return (dialect, params, incoming, principal) => {
    if (!dialect.callers) return dialect
    const userAgent = incoming.header('user-agent') ?? ''
    const key = isAnonymous(principal) ? undefined : `${ownerOf(principal)}\n${userAgent}`
    const known = key === undefined ? undefined : learnedForms.get(key)
    const { dialect: variant, learned } = dialect.callers.forCaller({ userAgent, params, learned: known })
    if (key !== undefined && Object.keys(learned).length > 0) learnedForms.set(key, { ...known, ...learned })
    return variant
  }
}
