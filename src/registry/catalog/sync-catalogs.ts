import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { A2AAgents, AddOptions } from '../a2a-agents.ts'
import type { EntryStore, KeptCatalog } from '../entry.ts'
import { type AgeBounds, freshFor } from '../freshness.ts'
import type { RegistryFetch } from '../options.ts'
import { type CatalogReading, type CatalogReport, catalogAddress, readInCatalog } from './import-catalog.ts'
import type { CatalogOptions } from './walk-catalogs.ts'

const [minute, hour] = [60_000, 3_600_000]

export interface KeptCatalogsOptions {
  readonly entries: EntryStore
  readonly agents: A2AAgents
  readonly fetch: RegistryFetch
  readonly clock: Clock
  readonly logger: Logger
  readonly ages: AgeBounds
  /** Milliseconds after which a catalog is forgotten that could not be read. */
  readonly removeAfter: number
  readonly options?: CatalogOptions
}

/** Catalogs of others, which are read again when their caching headers say so. */
export interface KeptCatalogs {
  /** Throws `A2AError` if it cannot be read, or somebody has too many of them. */
  add(url: string | URL, adding?: AddOptions): Promise<CatalogReport>
  /** No longer reads it, and removes those whose cards lie in it. Answers whether it was kept. */
  forget(url: string | URL): Promise<boolean>
  /** Reads those that are due, one after the other; nothing while another replica does. */
  readDue(): Promise<void>
  /** Resolves when what is being read has been. */
  stop(): Promise<void>
}

export function createKeptCatalogs(settings: KeptCatalogsOptions): KeptCatalogs {
  const { entries, agents, fetch, clock, logger, ages, removeAfter, options = {} } = settings
  const { maxKept = 100, ...limits } = options
  const holder = crypto.randomUUID()
  let running: Promise<void> | undefined
  let isStopped = false

  const keptAt = async (url: string) => (await entries.catalogs()).find((kept) => kept.url === url)

  async function requireRoom(owner: string | undefined): Promise<void> {
    const own = (await entries.catalogs()).filter((kept) => kept.owner === owner)
    if (maxKept === 0 || own.length < maxKept) return
    const problem = `You have ${maxKept} catalogs here, and nobody may have more: remove one first.`
    throw new A2AError('forbidden', problem, { reason: 'owner-quota' })
  }

  /** What lay in a catalog that could be read, and does no more. What could not be read may still have it. */
  async function removeGone(before: readonly string[], { catalogs, inline }: CatalogReading, owner?: string) {
    const left = before.filter((id) => !inline.includes(id))
    const gone = left.filter((id) => catalogs.includes(id.slice(0, id.indexOf('#'))))
    await removeOwned(gone, owner)
    return { gone, unread: left.filter((id) => !gone.includes(id)) }
  }

  async function removeOwned(ids: readonly string[], owner: string | undefined): Promise<void> {
    for (const id of ids) if ((await entries.get(id))?.owner === owner) await entries.remove(id)
  }

  async function read(url: string, adding: AddOptions, before?: KeptCatalog): Promise<CatalogReport> {
    const { owner } = adding
    // Those in it may have changed although it has not, so only one that has none is asked by its tag.
    const known = before?.etag === undefined ? {} : { etag: before.etag }
    const reading = await readInCatalog(url, { agents, fetch, limits, ...known }, adding)
    const { headers, isUnchanged, inline: _, ...report } = reading
    const now = clock.now()
    const inline = isUnchanged ? (before?.inline ?? []) : reading.inline
    const { gone, unread } = isUnchanged
      ? { gone: [], unread: [] }
      : await removeGone(before?.inline ?? [], reading, owner)
    const isAlone = headers.length <= 1 && report.catalogs.length <= 1
    const etag = isAlone ? (headers[0]?.get('etag') ?? before?.etag) : undefined
    if (maxKept > 0) {
      await entries.keepCatalog({
        url,
        ...(owner !== undefined && { owner }),
        due: now + Math.min(ages.max, ...headers.map((each) => freshFor(each, now, ages))),
        readAt: now,
        failures: 0,
        ...(etag != null && { etag }),
        inline: [...inline, ...unread],
      })
    }
    return { ...report, removed: gone }
  }

  async function readAgain(kept: KeptCatalog): Promise<void> {
    const { url, owner, readAt, failures } = kept
    try {
      await read(url, owner === undefined ? {} : { owner }, kept)
    } catch (error) {
      const now = clock.now()
      if (now - readAt > removeAfter) {
        await forget(url)
        return logger.warn({ catalog: url }, 'a catalog could not be read for long, and is forgotten')
      }
      logger.warn({ error, catalog: url }, 'a catalog could not be read; it is tried again')
      const due = now + Math.min(hour, minute * 2 ** Math.min(failures, 10))
      await entries.keepCatalog({ ...kept, due, failures: failures + 1 })
    }
  }

  async function forget(url: string): Promise<boolean> {
    const kept = await keptAt(url)
    if (!kept) return false
    await removeOwned(kept.inline, kept.owner)
    return await entries.dropCatalog(url)
  }

  async function pass(): Promise<void> {
    const due = (await entries.catalogs()).filter((kept) => kept.due <= clock.now())
    for (const kept of due) {
      if (isStopped || !(await entries.lease('catalogs', holder, leaseTtl))) return
      // Who has just forgotten it, or read it, was faster.
      const now = await keptAt(kept.url)
      if (now && now.due <= clock.now()) await readAgain(now)
    }
  }

  return {
    async add(given, adding = {}) {
      const url = catalogAddress(given)
      const before = await keptAt(url)
      if (before && before.owner === adding.owner) return await read(url, adding, { ...before, etag: undefined })
      if (before) return await readOnce(url, adding)
      await requireRoom(adding.owner)
      return await read(url, adding)
    },
    forget: (given) => forget(catalogAddress(given)),
    readDue() {
      running ??= pass().finally(() => {
        running = undefined
      })
      return running
    },
    async stop() {
      isStopped = true
      await running?.catch(() => {})
    },
  }

  /** Somebody else has it read again: what is in it is that one's. */
  async function readOnce(url: string, adding: AddOptions): Promise<CatalogReport> {
    const {
      headers: _,
      isUnchanged: __,
      inline: ___,
      ...report
    } = await readInCatalog(url, { agents, fetch, limits }, adding)
    return { ...report, removed: [] }
  }
}

/** Longer than any catalog within its limits takes. */
const leaseTtl = 15 * minute
