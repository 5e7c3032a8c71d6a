import type { Pool } from 'pg'
import type { MeshPeerOptions } from '../../../src/mesh/index.ts'
import { serveRegistry } from '../../../src/node/registry.ts'
import { createPostgresEntries, createPostgresReplayCache } from '../../../src/stores/postgres/index.ts'

export async function startReplica(pool: Pool, trust: Pick<MeshPeerOptions, 'key' | 'keys'>) {
  return await serveRegistry({
    ...trust,
    entries: await createPostgresEntries({ pool }),
    replayCache: await createPostgresReplayCache({ pool }),
  })
}
