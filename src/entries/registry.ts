/** A directory of A2A and mesh agents. */

export type { Exchange } from '../core/http/exchange.ts'
export type { RegistryChange } from '../registry/changes.ts'
export type { A2AEntry, MeshEntry, RegistryEntry, RegistryStore } from '../registry/entry.ts'
export type { FindQuery, FoundAgent } from '../registry/find.ts'
export { createRegistryExchange } from '../registry/http/exchange.ts'
export { createMemoryRegistryStore } from '../registry/memory-store.ts'
export type { RegistryOptions } from '../registry/options.ts'
export { createRegistry, type Registry } from '../registry/registry.ts'
export type { AgentQuery, SearchQuery, SearchResult } from '../registry/search.ts'
