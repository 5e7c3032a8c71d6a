import type { AgentCard } from '../protocol/card.ts'
import { addDoors, type Door, type DoorsOptions } from './doors.ts'

/** The doors that are behind those a card names if it is mistaken in the versions. */
export function skewedDoors({ interfaces }: AgentCard, named: readonly Door[], options: DoorsOptions): readonly Door[] {
  const doors = [...named]
  const versions = new Set(options.dialects.map(({ version }) => version))
  for (const each of interfaces) for (const version of versions) addDoors(doors, each, version, 'skew', options)
  return doors.slice(named.length)
}

/** The same on another origin: that of the card, which was reached. */
export function relativeDoors(doors: readonly Door[], cardUrl: string): readonly Door[] {
  const base = new URL(cardUrl.replace(/\/\.well-known\/.*$/s, '/'))
  const relative = doors.flatMap((door): Door[] => {
    const { pathname, search } = new URL(door.url)
    const urls = [new URL(`${pathname}${search}`, base.origin).href, new URL('.', base).href]
    return urls.map((url) => ({ ...door, url, origin: 'relative' }))
  })
  const known = new Set(doors.map(keyOf))
  return relative.filter((door) => !known.has(keyOf(door)) && known.add(keyOf(door)))
}

function keyOf({ url, binding, dialect }: Door): string {
  return `${binding} ${dialect.name} ${new URL(url).href}`
}
