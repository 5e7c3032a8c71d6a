import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createGuardedFetch } from '../../src/entries/node.ts'
import { createRegistry, type Registry, type RegistryOptions } from '../../src/entries/registry.ts'
import { type ServeRegistryOptions, serveRegistry } from '../../src/serve/serve-registry.ts'
import { silentLogger } from '../support/logger.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** Calls loopback addresses; every host name resolves to a private address and is refused. */
function loopbackFetch() {
  const fetch = createGuardedFetch({ loopback: 'allow', resolve: async () => [{ address: '10.1.2.3', family: 4 }] })
  onTestFinished(() => fetch.close())
  return fetch
}

export function createTestRegistry(options: Partial<RegistryOptions> = {}): Registry {
  const registry = createRegistry({ fetch: loopbackFetch(), logger: silentLogger, maintenance: false, ...options })
  onTestFinished(() => registry.close())
  return registry
}

export async function startRegistryServer(options: ServeRegistryOptions = {}) {
  const directory = await temporaryDirectory()
  const shared = { fetch: loopbackFetch(), logger: silentLogger, maintenance: false as const, directory }
  const server = await serveRegistry({ ...shared, ...options })
  onTestFinished(() => server.close())
  return { ...server, keyFile: join(directory, 'operator-key') }
}

export interface JsonResponse {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read any member of it.
  readonly body: any
}

export async function request(url: string, init: RequestInit = {}): Promise<JsonResponse> {
  const response = await fetch(url, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

export function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonResponse> {
  return request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export const teaProfile = {
  name: 'Tea shop',
  description: 'Sells leaves of many gardens.',
  version: '1.2.3',
  skills: [{ id: 'brew', name: 'Brew a pot', description: 'Hot water and leaves.', tags: ['Kitchen', 'drinks'] }],
}

/** A complete 1.0 card. */
export function cardAt(origin: string, more: object = {}): object {
  return {
    ...teaProfile,
    supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    ...more,
  }
}

export const cardType = 'application/a2a-agent-card+json'

export const catalogType = 'application/ai-catalog+json'

export function catalogEntry(name: string, more: object): object {
  return { identifier: `urn:test:${name}`, displayName: name, mediaType: cardType, ...more }
}

export function catalogOf(...entries: unknown[]): object {
  return { specVersion: '1.0', entries }
}
