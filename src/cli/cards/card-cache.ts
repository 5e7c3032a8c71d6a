import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CardCache } from '../../entries/client.ts'
import { cacheFolder } from '../settings.ts'

/** Cards in the cache; the oldest one gives way. */
const maxCards = 64

/** Bytes of a card that is cached. */
const maxCard = 2 ** 18

type CachedCard = Parameters<CardCache['set']>[1]

const cacheFile = () => join(cacheFolder(), 'cards.json')

/** Keeps public cards between commands. Every command revalidates its card, and an unchanged one is not sent again. */
export function createCardFileCache(): CardCache {
  const cards = readCards()
  return {
    get: (url) => cards.get(url),
    set(url, card) {
      if (JSON.stringify(card).length > maxCard) return
      cards.delete(url)
      cards.set(url, card)
      writeCards([...cards].slice(-maxCards))
    },
  }
}

/** The addresses of the agents that were used last, the latest first. */
export function recentAgents(): readonly string[] {
  const addresses = [...readCards().keys()].map((url) => url.replace(/\/\.well-known\/agent(-card)?\.json$/, ''))
  return [...new Set(addresses.toReversed())]
}

function readCards(): Map<string, CachedCard> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(cacheFile(), 'utf8'))))
  } catch {
    // A missing or broken cache is an empty one.
    return new Map()
  }
}

function writeCards(cards: readonly (readonly [string, CachedCard])[]): void {
  try {
    mkdirSync(cacheFolder(), { recursive: true, mode: 0o700 })
    // Renaming replaces the file at once, even while another command reads it.
    const temporary = `${cacheFile()}.${process.pid}`
    writeFileSync(temporary, JSON.stringify(Object.fromEntries(cards)), { mode: 0o600 })
    renameSync(temporary, cacheFile())
  } catch {
    // A read-only home is no reason to fail.
  }
}
