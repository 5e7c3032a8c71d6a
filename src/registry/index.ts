export type { RegistryChange } from './changes.ts'
export type { EntryQuery, EntryStore, FoundEntries, RegistryEntry, Trouble } from './entry-store.ts'
export { createMemoryEntries, type MemoryEntriesOptions } from './memory-entries.ts'
export {
  type AgentInfo,
  createRegistry,
  type Registry,
  type RegistryFetch,
  type RegistryOptions,
} from './mesh-registry.ts'
