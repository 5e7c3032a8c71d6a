import type { Clock } from '../../core/base/clock.ts'
import { defined } from '../../core/base/json.ts'
import type { Logger } from '../../core/base/logger.ts'
import { A2AError, loggedError } from '../../core/protocol/errors.ts'
import type { A2AAgents, AddOptions } from '../a2a-agents.ts'
import type { RegistryStore, SyncedCatalog } from '../entry.ts'
import type { RegistryFetch } from '../options.ts'
import { freshnessLifetime, type LifetimeBounds, retryDelay } from '../read-card.ts'
import { type CatalogImport, type CatalogReport, importCatalog, resolveCatalogUrl } from './import-catalog.ts'
import type { CatalogOptions } from './walk-catalogs.ts'

/** Milliseconds. Longer than reading any catalog within the limits takes. */
const leaseTtl = 15 * 60_000

export interface CatalogSyncOptions {
  readonly entries: RegistryStore
  readonly agents: A2AAgents
  readonly fetch: RegistryFetch
  readonly clock: Clock
  readonly logger: Logger
  readonly lifetimes: LifetimeBounds
  /** Milliseconds after which a catalog that cannot be read is removed. */
  readonly removeAfter: number
  readonly options?: CatalogOptions
}

/** Reads catalogs, and reads them again when their caching headers say so. */
export interface CatalogSync {
  /** Throws `A2AError` if the catalog cannot be read, or if its owner has too many. */
  add(url: string | URL, addOptions?: AddOptions): Promise<CatalogReport>
  /** Stops reading a catalog and removes the agents whose cards are inline in it. Returns whether it existed. */
  remove(url: string | URL): Promise<boolean>
  /** Reads due catalogs one after the other. Does nothing while another replica holds the lease. */
  syncDue(): Promise<void>
  /** Resolves when a running pass has ended. */
  stop(): Promise<void>
}

export function createCatalogSync(settings: CatalogSyncOptions): CatalogSync {
  const { entries, agents, fetch, clock, logger, lifetimes, removeAfter, options = {} } = settings
  const { maxKept = 100, ...limits } = options
  const holder = crypto.randomUUID()
  let running: Promise<void> | undefined
  let isStopped = false

  const storedCatalog = async (url: string) => (await entries.catalogs()).find((catalog) => catalog.url === url)

  async function requireQuota(owner: string | undefined): Promise<void> {
    const owned = (await entries.catalogs()).filter((catalog) => catalog.owner === owner)
    if (maxKept === 0 || owned.length < maxKept) return
    const message = `You have ${maxKept} catalogs here, which is the maximum: remove one first.`
    throw new A2AError('forbidden', message, { reason: 'owner-quota' })
  }

  async function removeOwned(ids: readonly string[], owner: string | undefined): Promise<void> {
    for (const id of ids) if ((await entries.get(id))?.owner === owner) await entries.remove(id)
  }

  /** Removes agents that a catalog no longer contains, unless their catalog could not be read this time. */
  async function removeMissing(previous: readonly string[], { catalogs, inline }: CatalogImport, owner?: string) {
    const missing = previous.filter((id) => !inline.includes(id))
    const removed = missing.filter((id) => catalogs.includes(id.slice(0, id.indexOf('#'))))
    await removeOwned(removed, owner)
    return { removed, unread: missing.filter((id) => !removed.includes(id)) }
  }

  async function sync(url: string, addOptions: AddOptions, previous?: SyncedCatalog): Promise<CatalogReport> {
    const { owner } = addOptions
    const condition = previous?.etag === undefined ? {} : { etag: previous.etag }
    const imported = await importCatalog(url, { agents, fetch, limits, ...condition }, addOptions)
    const { headers, isUnchanged, inline: _, ...report } = imported
    const now = clock.now()
    const inline = isUnchanged ? (previous?.inline ?? []) : imported.inline
    const { removed, unread } = isUnchanged
      ? { removed: [], unread: [] }
      : await removeMissing(previous?.inline ?? [], imported, owner)
    // Nested catalogs may change while the outer one does not, so a catalog with nested ones is fetched without ETag.
    const isFlat = headers.length <= 1 && report.catalogs.length <= 1
    const etag = isFlat ? (headers[0]?.get('etag') ?? previous?.etag) : undefined
    if (maxKept > 0) {
      await entries.keepCatalog(
        defined({
          url,
          owner,
          due: now + Math.min(lifetimes.max, ...headers.map((fields) => freshnessLifetime(fields, now, lifetimes))),
          readAt: now,
          failures: 0,
          etag: etag ?? undefined,
          inline: [...inline, ...unread],
        }),
      )
    }
    return { ...report, removed }
  }

  /** Imports a catalog that is synced for another owner: that owner has its inline agents. */
  async function importOnce(url: string, addOptions: AddOptions): Promise<CatalogReport> {
    const imported = await importCatalog(url, { agents, fetch, limits }, addOptions)
    const { headers: _, isUnchanged: __, inline: ___, ...report } = imported
    return { ...report, removed: [] }
  }

  async function syncAgain(catalog: SyncedCatalog): Promise<void> {
    const { url, owner, readAt, failures } = catalog
    try {
      await sync(url, owner === undefined ? {} : { owner }, catalog)
    } catch (error) {
      const now = clock.now()
      if (now - readAt > removeAfter) {
        await remove(url)
        return logger.warn({ catalog: url }, 'removed a catalog that could not be read for too long')
      }
      logger.warn({ error: loggedError(error), catalog: url }, 'failed to read a catalog; will retry')
      await entries.keepCatalog({ ...catalog, due: now + retryDelay(failures), failures: failures + 1 })
    }
  }

  async function remove(url: string): Promise<boolean> {
    const catalog = await storedCatalog(url)
    if (!catalog) return false
    await removeOwned(catalog.inline, catalog.owner)
    return await entries.dropCatalog(url)
  }

  async function pass(): Promise<void> {
    const due = (await entries.catalogs()).filter((catalog) => catalog.due <= clock.now())
    for (const { url } of due) {
      if (isStopped || !(await entries.lease('catalogs', holder, leaseTtl))) return
      // It may have been removed or read meanwhile.
      const current = await storedCatalog(url)
      if (current && current.due <= clock.now()) await syncAgain(current)
    }
  }

  return {
    async add(target, addOptions = {}) {
      const url = resolveCatalogUrl(target)
      const previous = await storedCatalog(url)
      if (previous && previous.owner === addOptions.owner) {
        return await sync(url, addOptions, { ...previous, etag: undefined })
      }
      if (previous) return await importOnce(url, addOptions)
      await requireQuota(addOptions.owner)
      return await sync(url, addOptions)
    },
    remove: (target) => remove(resolveCatalogUrl(target)),
    syncDue() {
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
}
