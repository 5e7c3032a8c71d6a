import type { Logger } from '../core/base/logger.ts'
import { packageVersion } from '../core/base/package-version.ts'
import type { Exchange, Incoming, Outgoing } from '../core/http/exchange.ts'
import { loggedError } from '../core/protocol/errors.ts'
import type { Host, HostPages } from '../core/server/host.ts'
import type { ConsoleAccess } from '../operator/access.ts'
import type { GatewayState, MeshState } from '../operator/contract-tools.ts'
import { consolePath } from '../operator/options.ts'
import type { ConsoleRecorder } from '../operator/recorder.ts'
import { runConformance, runDoctor } from './console-checks.ts'
import type { ServeOptions } from './options.ts'

const rollUpInterval = 60_000

export interface ServedConsoleOptions {
  readonly options: ServeOptions
  readonly console: ConsoleAccess
  readonly mounted: Host['mounted']
  readonly logger: Logger
  readonly recorder: ConsoleRecorder
  /** The URL at which the server listens. Undefined before it does. */
  readonly address: () => string | undefined
  /** If the server is a mesh peer. Undefined until the peer is ready. */
  readonly mesh?: (() => MeshState | undefined) | undefined
  /** If the server is a gateway. */
  readonly gateway?: (() => GatewayState) | undefined
}

/** The console as pages of a host. Its code is loaded by its first request. */
export function createConsolePages(settings: ServedConsoleOptions): HostPages {
  const { options, console, mounted, logger, recorder, address, mesh, gateway } = settings
  const started = Date.now()
  let loaded: Promise<Exchange> | undefined

  async function load(): Promise<Exchange> {
    const [{ createConsole }, { createConsoleFiles }] = await Promise.all([
      import('../operator/console.ts'),
      import('./console-files.ts'),
    ])
    return createConsole({
      options: console,
      mounted,
      files: createConsoleFiles(),
      logger,
      lines: { process: recorder.process, of: ({ log }) => recorder.linesOf(log) },
      mesh: mesh && { process: recorder.process, state: mesh },
      gateway,
      checks: { doctor: runDoctor, conformance: runConformance },
      version: packageVersion,
      started,
      address,
      publicUrl: options.publicUrl,
      trustProxy: options.trustProxy,
      hosts: options.http?.hosts,
    })
  }

  async function answer(incoming: Incoming) {
    loaded ??= load().catch((error) => {
      loaded = undefined
      throw error
    })
    return await (await loaded)(incoming)
  }

  /** Stores what happened in each minute, so that the overview has it after a restart. */
  async function rollUp(): Promise<void> {
    const agents = mounted().map(({ agent }) => agent)
    if (agents.every(({ isDraining }) => isDraining())) return clearInterval(timer)
    const { rollUpMinutes } = await import('../operator/minutes.ts')
    for (const { log } of agents) if (log.operator) await rollUpMinutes(log.operator, Date.now())
    await recorder.upkeep(mesh?.())
  }
  const timer = setInterval(() => {
    // It is tried again, and what it has missed is made up for then.
    rollUp().catch((error) => logger.debug({ error: loggedError(error) }, 'minutes could not be stored'))
  }, rollUpInterval).unref()

  return {
    path: consolePath,
    exchange: async (incoming) => (incoming.path === '/' ? toConsole(options) : await answer(incoming)),
  }
}

function toConsole({ publicUrl }: ServeOptions): Outgoing {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  return { status: 303, headers: { location: `${prefix}${consolePath}/` } }
}
