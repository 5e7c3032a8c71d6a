/** What a client needs for agents that speak no 1.0, as one chunk that is loaded when there is one. */
export { readOlderCard } from './older-card.ts'
export { v0_1Client } from './v0.1/client.ts'
export { v0_2Client } from './v0.2/client.ts'
export { v0_3Client } from './v0.3/client.ts'
export { v0_3ProtoClient } from './v0.3-proto/client.ts'
