import { onTestFinished } from 'vitest'
import { createGuardedFetch } from '../../src/entries/node.ts'
import { createRegistry, type Registry, type RegistryOptions } from '../../src/entries/registry.ts'
import { type ServeRegistryOptions, serveRegistry } from '../../src/node/serve-registry.ts'
import { quiet } from '../support/house.ts'

/** Asks this machine, and nothing else that is not public. */
function localFetch() {
  const fetch = createGuardedFetch({ loopback: 'allow', resolve: async () => [{ address: '10.1.2.3', family: 4 }] })
  onTestFinished(() => fetch.close())
  return fetch
}

export function registryHere(options: Partial<RegistryOptions> = {}): Registry {
  const registry = createRegistry({ fetch: localFetch(), logger: quiet, upkeep: false, ...options })
  onTestFinished(() => registry.close())
  return registry
}

export async function registryServer(options: ServeRegistryOptions = {}) {
  const server = await serveRegistry({ fetch: localFetch(), logger: quiet, upkeep: false, ...options })
  onTestFinished(() => server.close())
  return server
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like.
  readonly body: any
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answered> {
  const response = await fetch(url, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

export function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  return ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export const tea = {
  name: 'Tea shop',
  description: 'Sells leaves of many gardens.',
  version: '1.2.3',
  skills: [{ id: 'brew', name: 'Brew a pot', description: 'Hot water and leaves.', tags: ['Kitchen', 'drinks'] }],
}

/** A card that has all that 1.0 asks for. */
export function cardAt(origin: string, more: object = {}): object {
  return {
    ...tea,
    supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    ...more,
  }
}
