import type { Pool } from 'pg'
import type { MeshPeerOptions } from '../../../src/entries/mesh.ts'
import { serveRegistry } from '../../../src/entries/node.ts'
import { createPostgresRegistryStore, createPostgresReplayCache } from '../../../src/entries/postgres.ts'

export async function startReplica(pool: Pool, trust: Pick<MeshPeerOptions, 'key' | 'keys'>) {
  return await serveRegistry({
    ...trust,
    entries: await createPostgresRegistryStore({ pool }),
    replayCache: await createPostgresReplayCache({ pool }),
  })
}
