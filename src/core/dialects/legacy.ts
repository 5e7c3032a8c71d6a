/** What a client needs for the versions before 1.0: one chunk, which is loaded when an agent needs it. */

export { detectLegacyVersions } from './legacy-versions.ts'
export { v0_1Client } from './v0.1/client.ts'
export { v0_2Client } from './v0.2/client.ts'
export { v0_3Client } from './v0.3-house/client.ts'
export { v0_3ProtoClient } from './v0.3-proto/client.ts'
