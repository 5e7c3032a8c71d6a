import { existsSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../../../src/entries/auth.ts'
import type { ServeOptions, Server } from '../../../../src/serve/options.ts'
import { serve } from '../../../../src/serve/serve.ts'
import { silentLogger } from '../../../support/logger.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { assistant, createRefunder } from './console-agents.ts'
import { useLinkOf } from './open-console.ts'

export interface ConsoleServer {
  readonly server: Server
  /** Address of the console, without a slash at its end. */
  readonly url: string
}

/** Serves two agents, or others, with their console, as it was built. Closed after the test. */
export async function startConsoleServer(
  options: ServeOptions = {},
  agents: Parameters<typeof serve>[0] = { '/': assistant, '/refunds': createRefunder() },
): Promise<ConsoleServer> {
  if (!existsSync(new URL('../../../../dist/console/index.html', import.meta.url))) {
    throw new Error('The console is not built: run `npm run build` first.')
  }
  const server = await serve(agents, {
    ...{ port: 0, signals: false, logger: silentLogger, drainDeadline: 0, turns: { cancelGrace: 50 } },
    directory: await temporaryDirectory(),
    ...options,
  })
  onTestFinished(() => server.close())
  if (options.console === undefined) useLinkOf(server)
  return { server, url: `${server.url}/console` }
}

/** Operators log in by `operator-key`, viewers by `viewer-key`. */
export async function consoleWithLogin(options: { readonly sessionLifetime?: number } = {}): Promise<ServeOptions> {
  const keys = [
    { id: 'olga', hash: await hashApiKey('operator-key'), scopes: ['operate'] },
    { id: 'vera', hash: await hashApiKey('viewer-key') },
  ]
  return {
    console: {
      auth: { schemes: { key: apiKey({ keys }) } },
      roles: ({ scopes = [] }) => (scopes.includes('operate') ? 'operator' : 'viewer'),
      ...options,
    },
  }
}
