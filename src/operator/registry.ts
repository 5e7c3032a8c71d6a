import { defined } from '../core/base/json.ts'
import { object, string } from '../core/schema/values.ts'
import type { RegistryRow, RegistryRows } from './contract-tools.ts'
import { jsonAnswer, notFound } from './failures.ts'
import { type Route, readBody } from './routes.ts'

/** The registry that a server serves, as operators see it. */
export interface ConsoleRegistry {
  list(query: RegistryQuery): Promise<RegistryRows>
  /** Throws `A2AError` if there is no agent at this address. */
  add(url: string): Promise<RegistryRow>
  /** Checks an agent now. Undefined if there is no agent with this id. */
  probe(id: string): Promise<RegistryRow | undefined>
}

/** Which agents of a registry are listed. */
export interface RegistryQuery {
  readonly search?: string
  readonly cursor?: string
}

/** The routes that list, add and check the agents of a registry. */
export function registryRoutes(registry: ConsoleRegistry): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/registry/agents',
      role: 'viewer',
      async handle({ query }) {
        const [search, cursor] = [query.get('search'), query.get('cursor')]
        return jsonAnswer(await registry.list(defined({ search: search || undefined, cursor: cursor || undefined })))
      },
    },
    {
      method: 'POST',
      path: '/registry/agents',
      role: 'operator',
      handle: async (call) => jsonAnswer(await registry.add((await readBody(call, addSchema)).url), 201),
    },
    {
      method: 'POST',
      path: '/registry/agents/:id/probe',
      role: 'operator',
      async handle(_call, id: string) {
        const row = await registry.probe(id)
        if (!row) throw notFound('No agent is registered under this id.')
        return jsonAnswer(row)
      },
    },
  ]
}

const addSchema = object({ url: string({ max: 4_000 }) })
