import type { Logger } from './base/logger.ts'
import type { Exchange, Incoming } from './http/exchange.ts'
import { isBelow } from './http/fetch.ts'
import type { ServeOptions } from './serve-options.ts'
import { packageVersion } from './serve-start.ts'
import type { AuthChoice } from './server/authentication.ts'
import type { Host } from './server/host.ts'
import { type ConsoleOptions, consolePath } from './server/operator/options.ts'
import type { RecentLines } from './server/recent-log-lines.ts'

export interface ServedConsoleOptions {
  readonly options: ServeOptions
  readonly console: ConsoleOptions
  readonly host: Host
  readonly logger: Logger
  readonly lines: Pick<RecentLines, 'of'>
}

/**
 * The options of the console with their defaults. Without `console`, it is served where only this machine can call, and
 * no caller needs credentials. Undefined if it is off. Throws if it would be open to other machines.
 */
export function readConsoleOptions(
  { console: chosen }: ServeOptions,
  auth: AuthChoice,
  isLocal: boolean,
): ConsoleOptions | undefined {
  if (chosen === false) return undefined
  if (chosen !== undefined) {
    if (chosen.auth === undefined) {
      throw new TypeError('serve(): console.auth: say which operators may log in, such as { schemes: … }.')
    }
    if (chosen.auth === 'none' && !isLocal) {
      throw new TypeError(
        "serve(): console.auth: 'none' would let other machines operate the agents. Declare schemes: console: { auth: { schemes: … } }.",
      )
    }
    return chosen
  }
  const acceptsEveryone = auth === 'none' || Boolean(auth.anonymous)
  return isLocal && acceptsEveryone ? { auth: 'none' } : undefined
}

/** Puts the console in front of the agents. Its code is loaded by its first request; other requests pay one comparison. */
export function withConsole(
  exchange: Exchange,
  { options, console, host, logger, lines }: ServedConsoleOptions,
): Exchange {
  const started = Date.now()
  let loaded: Promise<Exchange> | undefined

  async function load(): Promise<Exchange> {
    const [{ createConsole }, { createConsoleFiles }] = await Promise.all([
      import('./server/operator/console.ts'),
      import('./node/console-files.ts'),
    ])
    return createConsole({
      options: console,
      mounted: host.mounted,
      files: createConsoleFiles(),
      logger,
      lines,
      version: packageVersion,
      started,
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

  /** An agent at this path takes precedence. */
  const isTaken = () => host.mounted().some(({ path }) => isBelow(path, consolePath))

  return (incoming) => {
    const { path } = incoming
    if (path === '/') return isPageRequest(incoming) ? Promise.resolve(toConsole(options)) : exchange(incoming)
    return isBelow(path, consolePath) && !isTaken() ? answer(incoming) : exchange(incoming)
  }
}

/** Whether a browser opens the address. */
function isPageRequest({ method, header }: Incoming): boolean {
  return (method === 'GET' || method === 'HEAD') && (header('accept')?.includes('text/html') ?? false)
}

function toConsole({ publicUrl }: ServeOptions) {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  return { status: 303, headers: { location: `${prefix}${consolePath}/` } }
}
