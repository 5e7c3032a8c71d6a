import { defined } from '../core/base/json.ts'
import { consoleLogger, type Logger } from '../core/base/logger.ts'
import { createMemoryOperatorState } from '../core/base/operator-state.ts'
import { packageVersion } from '../core/base/package-version.ts'
import type { Exchange } from '../core/http/exchange.ts'
import { isBelow } from '../core/http/fetch.ts'
import type { ConsoleAccess } from '../operator/access.ts'
import type { RegistryRow } from '../operator/contract-tools.ts'
import { consolePath } from '../operator/options.ts'
import type { ConsoleRegistry } from '../operator/registry.ts'
import type { AgentListing } from '../registry/entry.ts'
import { isLocal } from '../registry/http/exchange.ts'
import type { ProbeRecord } from '../registry/probe-record.ts'
import type { Registry } from '../registry/registry.ts'

/** Agents on a page of the console. */
const pageSize = 50

export interface RegistryConsoleOptions {
  readonly options: ConsoleAccess
  readonly registry: Registry
  readonly probes: ProbeRecord
  readonly logger?: Logger | undefined
  readonly publicUrl?: string | undefined
  readonly trustProxy?: boolean | undefined
}

/**
 * Puts the console in front of a registry. Without login, only this machine can call it. Its code is loaded by its first
 * request.
 */
export function withRegistryConsole(exchange: Exchange, settings: RegistryConsoleOptions): Exchange {
  const { options, registry, logger = consoleLogger, publicUrl, trustProxy } = settings
  const started = Date.now()
  const state = registry.entries.operator ?? createMemoryOperatorState()
  let loaded: Promise<Exchange> | undefined

  async function load(): Promise<Exchange> {
    const [{ createConsole }, { createConsoleFiles }] = await Promise.all([
      import('../operator/console.ts'),
      import('./console-files.ts'),
    ])
    return createConsole({
      options,
      mounted: () => [],
      files: createConsoleFiles(),
      logger,
      lines: { process: '', of: () => [] },
      checks: {},
      registry: toConsoleRegistry(settings),
      state: () => state,
      version: packageVersion,
      started,
      publicUrl,
      trustProxy,
    })
  }

  return async (incoming) => {
    const isOpen = options.auth !== 'none' || isLocal(incoming)
    if (!isBelow(incoming.path, consolePath) || !isOpen) return await exchange(incoming)
    loaded ??= load().catch((error) => {
      loaded = undefined
      throw error
    })
    return await (await loaded)(incoming)
  }
}

function toConsoleRegistry({ registry, probes }: RegistryConsoleOptions): ConsoleRegistry {
  async function toRows(listings: readonly AgentListing[]): Promise<readonly RegistryRow[]> {
    const byId = await probes.of(listings.map(({ id }) => id))
    return listings.map(({ id, kind, name, description, endpoint, status }) => ({
      id,
      kind,
      name,
      description,
      url: endpoint,
      health: status === 'healthy' ? 'up' : 'down',
      probes: byId.get(id) ?? [],
    }))
  }

  async function toRow(listing: AgentListing): Promise<RegistryRow> {
    const [row] = await toRows([listing])
    if (!row) throw new Error('an agent has one row')
    return row
  }

  return {
    async list({ search, cursor }) {
      const { agents, nextCursor } = await registry.search(
        defined({ status: 'all', limit: pageSize, text: search, cursor }),
      )
      return defined({ agents: await toRows(agents), next: nextCursor })
    },
    add: async (url) => await toRow(await registry.add(url)),
    async probe(id) {
      await registry.probe(id)
      const entry = await registry.get(id)
      return entry && (await toRow(registry.describe(entry)))
    },
  }
}
