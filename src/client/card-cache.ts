import { BoundedMap } from '../base/bounded-map.ts'
import type { JsonObject } from '../base/json.ts'

/** A card as it was last seen at an address. */
export interface CachedCard {
  readonly etag: string
  readonly wire: JsonObject
}

/** Cards by their address. They are asked for again every time, but need not be sent again (RFC 9110 §13.1.2). */
export interface CardCache {
  get(url: string): CachedCard | undefined
  set(url: string, card: CachedCard): void
}

export function createCardCache(limit = 256): CardCache {
  return new BoundedMap<string, CachedCard>(limit)
}
