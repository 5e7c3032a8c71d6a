import { defined, isList, isObject, type JsonObject } from '../../core/base/json.ts'

export const catalogType = 'application/ai-catalog+json'

export const cardType = 'application/a2a-agent-card+json'

/** An artifact that a catalog lists. */
export interface CatalogEntry {
  readonly identifier: string
  readonly displayName: string
  readonly tags: readonly string[]
  readonly mediaType: string
  /** A URL or the inline document. */
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

/** Refuses invalid entries one by one and reads the others. Throws if the document is not a catalog. */
export function readCatalog(document: unknown, base: string, maxEntries: number): Catalog {
  if (!isObject(document)) throw new Error('it is not a catalog: expected an object')
  const { specVersion, entries } = document
  if (typeof specVersion !== 'string' || !/^\d+\.\d+$/.test(specVersion)) {
    throw new Error('it is not a catalog: expected specVersion as Major.Minor')
  }
  if (!specVersion.startsWith('1.'))
    throw new Error(`it is a catalog of version ${specVersion}, and only 1.x is supported`)
  if (!Array.isArray(entries)) throw new Error('it is not a catalog: expected entries as a list')
  if (entries.length > maxEntries)
    throw new Error(`it has ${entries.length} entries, and at most ${maxEntries} are allowed`)
  const refused: RefusedEntry[] = []
  const newest = new Map<string, CatalogEntry>()
  const seen = new Set<string>()
  for (const [index, value] of entries.entries()) {
    const entry = readEntry(value, base)
    if (typeof entry === 'string') {
      refused.push({ identifier: identifierOf(value, index), problem: entry })
      continue
    }
    const { identifier, version } = entry
    const key = JSON.stringify([identifier, version])
    if (seen.has(key)) {
      refused.push({ identifier, problem: 'it is listed twice' })
      continue
    }
    seen.add(key)
    const previous = newest.get(identifier)
    if (!previous || isNewer(entry, previous)) newest.set(identifier, entry)
  }
  return { entries: [...newest.values()], refused }
}

/** Compares by semantic versioning: positive if the first is newer. An invalid version is older than every valid one. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [parseVersion(one), parseVersion(other)]
  if (!left || !right) return Number(Boolean(left)) - Number(Boolean(right))
  for (const index of [0, 1, 2] as const) {
    const difference = left.numbers[index] - right.numbers[index]
    if (difference !== 0) return difference
  }
  if (left.prerelease === right.prerelease) return 0
  // A prerelease is older than its release.
  if (left.prerelease === '' || right.prerelease === '') return left.prerelease === '' ? 1 : -1
  return comparePrereleases(left.prerelease.split('.'), right.prerelease.split('.'))
}

function parseVersion(version: string) {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+.*)?$/.exec(version)
  if (!match) return undefined
  const [, major, minor, patch, prerelease = ''] = match
  return { numbers: [Number(major), Number(minor), Number(patch)] as const, prerelease }
}

function comparePrereleases(one: readonly string[], other: readonly string[]): number {
  for (const [index, left] of one.entries()) {
    const right = other[index]
    if (right === undefined) return 1
    if (left === right) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (isNumber && isOtherNumber) return Number(left) - Number(right)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return left < right ? -1 : 1
  }
  return one.length - other.length
}

/** Returns the entry, or a string that says why it is refused. */
function readEntry(value: unknown, base: string): CatalogEntry | string {
  if (!isObject(value)) return 'expected an object'
  const { identifier, displayName, mediaType, url, data, version, updatedAt, tags, trustManifest } = value
  if (typeof identifier !== 'string' || !/^[a-z][a-z0-9+.-]*:\S+$/i.test(identifier) || identifier.length > 2_000) {
    return 'identifier: expected a URN or URI'
  }
  if (typeof displayName !== 'string' || typeof mediaType !== 'string') {
    return 'expected displayName and mediaType as strings'
  }
  if (trustManifest !== undefined && (!isObject(trustManifest) || trustManifest.identity !== identifier)) {
    return 'trustManifest.identity is not the identifier'
  }
  if ((url === undefined) === (data === undefined)) return 'expected exactly one of url and data'
  const artifact = readArtifact(url, data, base)
  if (typeof artifact === 'string') return artifact
  return defined({
    identifier,
    displayName,
    tags: isList(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
    mediaType: mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '',
    artifact,
    version: typeof version === 'string' ? version : undefined,
    updatedAt: typeof updatedAt === 'string' ? updatedAt : undefined,
  })
}

function readArtifact(url: unknown, data: unknown, base: string): CatalogEntry['artifact'] | string {
  if (data !== undefined) return isObject(data) ? { data } : 'data: expected an object'
  if (typeof url !== 'string' || !URL.canParse(url, base)) return 'url: expected a URL'
  const resolved = new URL(url, base)
  return /^https?:$/.test(resolved.protocol) ? { url: resolved.href } : 'url: expected an http or https URL'
}

function identifierOf(value: unknown, index: number): string {
  return isObject(value) && typeof value.identifier === 'string' ? value.identifier.slice(0, 200) : `entries[${index}]`
}

function isNewer(one: CatalogEntry, other: CatalogEntry): boolean {
  const byVersion = compareVersions(one.version ?? '', other.version ?? '')
  return byVersion !== 0 ? byVersion > 0 : Date.parse(one.updatedAt ?? '') > Date.parse(other.updatedAt ?? '')
}
