export type { AddOptions } from '../registry/a2a-agents.ts'
export type { CatalogReport } from '../registry/catalog/import-catalog.ts'
export type { RefusedEntry } from '../registry/catalog/read-catalog.ts'
export type { CatalogLimits, CatalogOptions } from '../registry/catalog/walk-catalogs.ts'
export type { CatalogHost } from '../registry/catalog/write-catalog.ts'
export type { FollowOptions, RegistryChange } from '../registry/changes.ts'
export type {
  A2AEntry,
  About,
  ChangePage,
  ChangeType,
  EntryIndex,
  EntryKind,
  EntryQuery,
  EntryStore,
  FoundEntries,
  KeptCatalog,
  MeshEntry,
  Put,
  RegistryEntry,
  Sighting,
  Sightings,
  SkillInfo,
  StoredChange,
  Trouble,
} from '../registry/entry.ts'
export type { FindQuery, FoundAgent, FoundAgents } from '../registry/find.ts'
export type { RegistryAuth } from '../registry/http/exchange.ts'
export { createRegistryExchange, type RegistryExchangeOptions } from '../registry/http/exchange.ts'
export type { AgentListing, ListedSighting } from '../registry/listing.ts'
export { createMemoryEntries, type MemoryEntriesOptions } from '../registry/memory-store.ts'
export type { AgentInfo, Found } from '../registry/mesh-agents.ts'
export type { A2AOptions, ProbeOptions, RegistryFetch, RegistryOptions, UpkeepOptions } from '../registry/options.ts'
export { createRegistry, type Registry } from '../registry/registry.ts'
export type { AgentQuery, SearchQuery, SearchResult } from '../registry/search.ts'
