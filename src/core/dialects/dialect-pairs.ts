import type { ClientDialect, ServerDialect } from './dialect.ts'
import { v0_1Client } from './v0.1/client.ts'
import { v0_1 } from './v0.1/server.ts'
import { v0_2Client } from './v0.2/client.ts'
import { v0_2 } from './v0.2/server.ts'
import { v0_3Client } from './v0.3/client.ts'
import { v0_3 } from './v0.3/server.ts'
import { v0_3HouseClient } from './v0.3-house/client.ts'
import { v0_3House } from './v0.3-house/server.ts'
import { v0_3ProtoClient } from './v0.3-proto/client.ts'
import { v0_3Proto } from './v0.3-proto/server.ts'
import { v1_0Client } from './v1.0/client.ts'
import { v1_0 } from './v1.0/server.ts'
import { v1_1Client } from './v1.1/client.ts'
import { v1_1 } from './v1.1/server.ts'
import type { DialectName } from './versions.ts'

/** Both halves of every dialect, for tools that write and read the JSON of a version. */
export const dialectPairs: Readonly<Record<DialectName, DialectPair>> = {
  'v1.1': { server: v1_1, client: v1_1Client },
  'v1.0': { server: v1_0, client: v1_0Client },
  'v0.3': { server: v0_3, client: v0_3Client },
  'v0.3-house': { server: v0_3House, client: v0_3HouseClient },
  'v0.3-proto': { server: v0_3Proto, client: v0_3ProtoClient },
  'v0.2': { server: v0_2, client: v0_2Client },
  'v0.1': { server: v0_1, client: v0_1Client },
}

interface DialectPair {
  readonly server: ServerDialect
  readonly client: ClientDialect
}
