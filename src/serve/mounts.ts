import type { Agent } from '../core/agent/agent.ts'
import { defined } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import { isLoopback } from '../core/http/origin.ts'
import type { ServerLoad } from '../core/node/server-load.ts'
import type { PushOptions } from '../core/push/options.ts'
import type { AuthChoice } from '../core/server/authentication.ts'
import type { Host } from '../core/server/host.ts'
import type { HostedAgent } from '../core/server/hosted-agent.ts'
import { type HandlerOptions, mergeOptions } from '../core/server/options.ts'
import type { TaskLog } from '../core/tasks/log.ts'
import type { ConsoleAccess } from '../operator/access.ts'
import type { ConsoleRecorder } from '../operator/recorder.ts'
import type { AddOptions, ServeOptions } from './options.ts'
import type { AgentStores } from './stores.ts'

/** The options with their defaults, and what was created from them. */
export interface ServeSettings {
  readonly options: ServeOptions
  readonly auth: AuthChoice
  readonly asksCertificate: boolean
  /** The push options of an agent, which differ by whether only this machine can call it. */
  readonly pushFor: ((isLocal: boolean) => PushOptions) | undefined
  readonly load: ServerLoad | undefined
  readonly logger: Logger
  /** Undefined if the console is off. */
  readonly console: ConsoleAccess | undefined
  readonly stores: AgentStores
  readonly drainDeadline: number
  readonly patience: number
  readonly signals: boolean
}

export interface RecordedSettings extends ServeSettings {
  /** Undefined if the console is off. */
  readonly recorder: ConsoleRecorder | undefined
}

/** Adds agents to the host with the server's options, and owns the SQLite logs that it opens for them. */
export interface Mounts {
  /** `opened` is the log that the server has opened for the agent. Without one, it is opened here. */
  add(agent: Agent, options: AddOptions, opened?: TaskLog): HostedAgent
  /** `deadline`: how long turns and streams may go on, in milliseconds. Defaults to `drainDeadline`. */
  remove(agent: HostedAgent, deadline?: number): Promise<void>
  closeLogs(): Promise<void>
}

export function createMounts(host: Host, settings: RecordedSettings, onLog: (log: TaskLog) => void): Mounts {
  const { auth, asksCertificate, pushFor, logger, stores, drainDeadline, recorder } = settings
  const errorMessages = settings.options.logger === undefined && process.stderr.isTTY === true
  const shared = mergeOptions<SharedOptions>({ turns: { errorMessages } }, sharedOptions(settings.options))
  const openedLogs = new Map<HostedAgent, TaskLog>()
  return {
    add(agent, mount, openedBefore) {
      const merged = mergeOptions({ ...shared, logger, ...publicUrlAt(mount, shared) }, mount)
      const isLocal = isLocalOnly({ ...merged, host: settings.options.host })
      const opened = openedBefore ?? (mount.log ? undefined : stores.openNow(agent, mount))
      const log = mount.log ?? opened
      try {
        if (needsCertificate(mount.auth ?? auth) && !asksCertificate) {
          throw new TypeError(
            'serve(): a scheme asks for certificates: give `tls` to serve, and the scheme in its `auth`.',
          )
        }
        const hosted = host.add(agent, {
          ...merged,
          ...defined({
            push: pushFor && !merged.push ? pushFor(isLocal && isOpen(merged, mount.auth ?? auth)) : undefined,
            calls: isLocal ? undefined : { loopback: 'refuse' as const, ...merged.calls },
          }),
          // `auth: undefined` means the server's auth, not open access.
          auth: mount.auth ?? auth,
          ...defined({ log: opened, logger: recorder && log && recorder.loggerFor(merged.logger ?? logger, log) }),
        })
        if (opened) openedLogs.set(hosted, opened)
        if (log) onLog(log)
        return hosted
      } catch (error) {
        void opened?.close()
        throw error
      }
    },
    async remove(hosted, deadline = drainDeadline) {
      await host.remove(hosted, deadline)
      await recorder?.release(hosted.log)
      await openedLogs.get(hosted)?.close()
      openedLogs.delete(hosted)
    },
    async closeLogs() {
      await Promise.all([...openedLogs.values()].map((log) => log.close()))
      openedLogs.clear()
    },
  }
}

/**
 * Whether only this machine can call the server. Behind a proxy, callers are on other machines although the connection
 * comes from this one; `publicUrl` and `trustProxy` reveal a proxy.
 */
export function isLocalOnly({ host = '127.0.0.1', publicUrl, trustProxy }: ServerAddress): boolean {
  const isPublic = publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname)
  return isLoopback(host) && !isPublic && !trustProxy
}

/** Whether nothing suggests that callers are on other machines: no schemes, and no address as others reach it. */
function isOpen({ publicUrl }: Pick<HandlerOptions, 'publicUrl'>, auth: AuthChoice): boolean {
  const schemes = auth === 'none' ? {} : (auth.schemes ?? {})
  return publicUrl === undefined && Object.keys(schemes).length === 0
}

type ServerAddress = { readonly [K in 'host' | 'publicUrl' | 'trustProxy']?: ServeOptions[K] | undefined }

export function needsCertificate(auth: AuthChoice): boolean {
  const schemes = auth === 'none' ? {} : (auth.schemes ?? {})
  return Object.values(schemes).some((scheme) => scheme.needsCertificate)
}

/** `publicUrl` of the server is where the server is reached, so an agent below a path is reached below it. */
function publicUrlAt({ mount = '' }: AddOptions, { publicUrl }: Pick<HandlerOptions, 'publicUrl'>) {
  return publicUrl !== undefined && { publicUrl: `${publicUrl.replace(/\/+$/, '')}${mount.replace(/\/+$/, '')}` }
}

type SharedOptions = Omit<HandlerOptions, 'auth'>

/** The options of the server that its agents share: everything but where it listens and what each agent has alone. */
function sharedOptions(options: ServeOptions): SharedOptions {
  const {
    port: _,
    host,
    tls,
    directory,
    drainDeadline,
    patience,
    signals,
    mesh,
    console,
    log,
    push,
    http = {},
    ...shared
  } = options
  const { requestTimeout, keepAliveTimeout, unreadTimeout, overload, ...limits } = http
  return { ...shared, http: limits }
}
