import type { ClientDialect } from './dialect.ts'
import { v0_1Client } from './v0.1/client.ts'
import { v0_2Client } from './v0.2/client.ts'
import { v0_3Client } from './v0.3/client.ts'
import { v0_3ProtoClient } from './v0.3-proto/client.ts'
import { v1_0Client } from './v1.0/client.ts'

/** Every dialect that a client can speak, in the order in which they are tried where nothing else decides. */
export const allClients: readonly ClientDialect[] = [v1_0Client, v0_3ProtoClient, v0_3Client, v0_2Client, v0_1Client]
