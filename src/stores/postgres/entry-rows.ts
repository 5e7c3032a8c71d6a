import type { RegistryEntry } from '../../registry/entry.ts'
import { decodeText, encodeText } from './text.ts'

export const entryColumns = 'id, name, kind, owner, seen, trouble, entry'

export interface EntryRow {
  readonly owner: string | null
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  /** What has no column, as JSON. */
  readonly entry: string
}

/** In the order of the columns. */
export function valuesOf(entry: RegistryEntry) {
  const { owner, seen, trouble, ...rest } = entry
  const { id, name, kind } = rest
  const ownedBy = owner === undefined ? null : encodeText(owner)
  return [encodeText(id), encodeText(name), kind, ownedBy, seen, trouble ?? null, JSON.stringify(rest)] as const
}

export function entryOf({ owner, seen, trouble, entry }: EntryRow): RegistryEntry {
  const ownedBy = owner === null ? undefined : { owner: decodeText(owner) }
  return { ...JSON.parse(entry), ...ownedBy, seen, ...(trouble && { trouble }) }
}
