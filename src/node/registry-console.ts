import { consoleLogger, type Logger } from '../base/logger.ts'
import { packageVersion } from '../base/package-version.ts'
import type { Exchange } from '../http/exchange.ts'
import { isBelow } from '../http/fetch.ts'
import type { AgentListing } from '../registry/entry.ts'
import { isLocal } from '../registry/http/exchange.ts'
import type { ProbeRecord } from '../registry/probe-record.ts'
import type { Registry } from '../registry/registry.ts'
import type { RegistryRow } from '../server/operator/contract-tools.ts'
import { consolePath } from '../server/operator/options.ts'
import type { ConsoleRegistry } from '../server/operator/registry.ts'

/** Agents on a page of the console. */
const pageSize = 50

export interface RegistryConsoleOptions {
  readonly registry: Registry
  readonly probes: ProbeRecord
  readonly logger?: Logger | undefined
}

/**
 * Puts the console in front of a registry that only this machine can call. Its code is loaded by its first request.
 */
export function withRegistryConsole(exchange: Exchange, options: RegistryConsoleOptions): Exchange {
  const started = Date.now()
  let loaded: Promise<Exchange> | undefined

  async function load(): Promise<Exchange> {
    const [{ createConsole }, { createConsoleFiles }] = await Promise.all([
      import('../server/operator/console.ts'),
      import('./console-files.ts'),
    ])
    return createConsole({
      options: { auth: 'none' },
      mounted: () => [],
      files: createConsoleFiles(),
      logger: options.logger ?? consoleLogger,
      taskLines: () => [],
      checks: {},
      registry: toConsoleRegistry(options),
      version: packageVersion,
      started,
    })
  }

  return async (incoming) => {
    if (!isBelow(incoming.path, consolePath) || !isLocal(incoming)) return await exchange(incoming)
    loaded ??= load().catch((error) => {
      loaded = undefined
      throw error
    })
    return await (await loaded)(incoming)
  }
}

function toConsoleRegistry({ registry, probes }: RegistryConsoleOptions): ConsoleRegistry {
  const toRow = ({ id, kind, name, description, endpoint, status }: AgentListing): RegistryRow => ({
    ...{ id, kind, name, description, url: endpoint },
    health: status === 'healthy' ? 'up' : 'down',
    probes: probes.of(id),
  })
  return {
    async list({ search, cursor }) {
      const { agents, nextCursor } = await registry.search({
        ...{ status: 'all', limit: pageSize },
        ...(search !== undefined && { text: search }),
        ...(cursor !== undefined && { cursor }),
      })
      return { agents: agents.map(toRow), ...(nextCursor !== undefined && { next: nextCursor }) }
    },
    add: async (url) => toRow(await registry.add(url)),
    async probe(id) {
      await registry.probe(id)
      const entry = await registry.get(id)
      return entry && toRow(registry.describe(entry))
    },
  }
}
