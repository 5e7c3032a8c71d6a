import type { Local, Target } from './options.ts'

/** Since 0.3. */
export const wellKnown = '/.well-known/agent-card.json'

/** An agent in this process is at no address; it builds its own from the one that it is asked at. */
export const localOrigin = 'http://localhost'

/** Where the card of a target should be; empty, if it is no address. A path may be a card, or where an agent is mounted. */
export function likeliestUrl(target: Target): string {
  const address = isLocal(target) ? localOrigin : `${target}`
  if (!/^https?:/i.test(address) || !URL.canParse(address)) return ''
  const { origin, pathname, search, href } = new URL(address)
  return pathname.endsWith('.json') ? href : `${origin}${pathname.replace(/\/+$/, '')}${wellKnown}${search}`
}

export function isLocal(target: Target): target is Local {
  return typeof target === 'object' && 'fetch' in target && typeof target.fetch === 'function'
}
