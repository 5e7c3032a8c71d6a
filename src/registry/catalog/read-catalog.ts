import { isObject, type JsonObject } from '../../base/json.ts'

export const catalogType = 'application/ai-catalog+json'

export const cardType = 'application/a2a-agent-card+json'

/** One thing that a catalog lists. */
export interface CatalogEntry {
  readonly identifier: string
  readonly mediaType: string
  /** Where it is, or what it is. */
  readonly artifact: { readonly url: string } | { readonly data: JsonObject }
  readonly version?: string
  readonly updatedAt?: string
}

export interface RefusedEntry {
  readonly identifier: string
  readonly problem: string
}

export interface Catalog {
  readonly entries: readonly CatalogEntry[]
  readonly refused: readonly RefusedEntry[]
}

/** Reads what it can: an entry that is wrong is refused, the others are taken. Throws if it is no catalog. */
export function readCatalog(document: unknown, base: string, maxEntries: number): Catalog {
  if (!isObject(document)) throw new Error('it is no catalog: expected an object')
  const { specVersion, entries } = document
  if (typeof specVersion !== 'string' || !/^\d+\.\d+$/.test(specVersion)) {
    throw new Error('it is no catalog: expected specVersion as Major.Minor')
  }
  if (!specVersion.startsWith('1.')) throw new Error(`it is a catalog of version ${specVersion}, and 1.x is read`)
  if (!Array.isArray(entries)) throw new Error('it is no catalog: expected entries as a list')
  if (entries.length > maxEntries)
    throw new Error(`it has ${entries.length} entries, and at most ${maxEntries} are read`)
  const refused: RefusedEntry[] = []
  const newest = new Map<string, CatalogEntry>()
  const seen = new Set<string>()
  for (const [at, given] of entries.entries()) {
    const entry = readEntry(given, base)
    if (typeof entry === 'string') {
      refused.push({ identifier: nameOf(given, at), problem: entry })
      continue
    }
    const { identifier, version } = entry
    const key = JSON.stringify([identifier, version])
    if (seen.has(key)) {
      refused.push({ identifier, problem: 'it is listed twice' })
      continue
    }
    seen.add(key)
    const other = newest.get(identifier)
    if (!other || isNewer(entry, other)) newest.set(identifier, entry)
  }
  return { entries: [...newest.values()], refused }
}

/** By semantic versioning: above 0 if the first is newer. What is no version is older than any. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [parse(one), parse(other)]
  if (!left || !right) return Number(Boolean(left)) - Number(Boolean(right))
  for (const at of [0, 1, 2] as const) {
    const difference = left.numbers[at] - right.numbers[at]
    if (difference !== 0) return difference
  }
  if (left.before === right.before) return 0
  // What comes before a release is older than it.
  if (left.before === '' || right.before === '') return left.before === '' ? 1 : -1
  return comparePrereleases(left.before.split('.'), right.before.split('.'))
}

function parse(version: string) {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+.*)?$/.exec(version)
  if (!match) return undefined
  const [, major, minor, patch, before = ''] = match
  return { numbers: [Number(major), Number(minor), Number(patch)] as const, before }
}

function comparePrereleases(one: readonly string[], other: readonly string[]): number {
  for (const [at, left] of one.entries()) {
    const right = other[at]
    if (right === undefined) return 1
    if (left === right) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (isNumber && isOtherNumber) return Number(left) - Number(right)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return left < right ? -1 : 1
  }
  return one.length - other.length
}

/** What is wrong, if it is a text. */
function readEntry(given: unknown, base: string): CatalogEntry | string {
  if (!isObject(given)) return 'expected an object'
  const { identifier, displayName, mediaType, url, data, version, updatedAt, trustManifest } = given
  if (typeof identifier !== 'string' || !/^[a-z][a-z0-9+.-]*:\S+$/i.test(identifier) || identifier.length > 2_000) {
    return 'identifier: expected a URN or URI'
  }
  if (typeof displayName !== 'string' || typeof mediaType !== 'string') {
    return 'expected displayName and mediaType as texts'
  }
  if (trustManifest !== undefined && (!isObject(trustManifest) || trustManifest.identity !== identifier)) {
    return 'trustManifest.identity is not the identifier'
  }
  if ((url === undefined) === (data === undefined)) return 'expected exactly one of url and data'
  const artifact = artifactOf(url, data, base)
  if (typeof artifact === 'string') return artifact
  return {
    identifier,
    mediaType: mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '',
    artifact,
    ...(typeof version === 'string' && { version }),
    ...(typeof updatedAt === 'string' && { updatedAt }),
  }
}

function artifactOf(url: unknown, data: unknown, base: string): CatalogEntry['artifact'] | string {
  if (data !== undefined) return isObject(data) ? { data } : 'data: expected an object'
  if (typeof url !== 'string' || !URL.canParse(url, base)) return 'url: expected an address'
  const address = new URL(url, base)
  return /^https?:$/.test(address.protocol) ? { url: address.href } : 'url: expected an address by http or https'
}

function nameOf(given: unknown, at: number): string {
  return isObject(given) && typeof given.identifier === 'string' ? given.identifier.slice(0, 200) : `entries[${at}]`
}

function isNewer(one: CatalogEntry, other: CatalogEntry): boolean {
  const byVersion = compareVersions(one.version ?? '', other.version ?? '')
  return byVersion !== 0 ? byVersion > 0 : Date.parse(one.updatedAt ?? '') > Date.parse(other.updatedAt ?? '')
}
