export type { AddOptions } from './a2a-agents.ts'
export type { CatalogReport } from './catalog/add-catalog.ts'
export type { RefusedEntry } from './catalog/read-catalog.ts'
export type { CatalogLimits, CatalogOptions } from './catalog/walk-catalogs.ts'
export type { CatalogHost } from './catalog/write-catalog.ts'
export type {
  A2AEntry,
  About,
  EntryKind,
  MeshEntry,
  RegistryEntry,
  Sighting,
  Sightings,
  SkillInfo,
  Trouble,
} from './entry.ts'
export type {
  ChangePage,
  ChangeType,
  EntryIndex,
  EntryQuery,
  EntryStore,
  FoundEntries,
  KeptCatalog,
  Put,
  StoredChange,
} from './entry-store.ts'
export type { FindQuery, FoundAgent, FoundAgents } from './find.ts'
export type { FollowOptions, RegistryChange } from './follow.ts'
export type { RegistryAuth } from './http/admission.ts'
export { createRegistryExchange, type RegistryExchangeOptions } from './http/exchange.ts'
export type { AgentListing, ListedSighting } from './listing.ts'
export { createMemoryEntries, type MemoryEntriesOptions } from './memory-entries.ts'
export type { AgentInfo, Found } from './mesh-side.ts'
export type { A2AOptions, ProbeOptions, RegistryFetch, RegistryOptions, UpkeepOptions } from './options.ts'
export { createRegistry, type Registry } from './registry.ts'
export type { SearchQuery, SearchResult } from './search.ts'
export type { AgentQuery } from './terms.ts'
