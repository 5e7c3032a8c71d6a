import { allClients, readOlderCard } from '../dialects/all-clients.ts'
import { createConnect } from './create-connect.ts'
import { overHttp } from './over-http.ts'

/** Speaks every version of A2A. */
export const connect = /* @__PURE__ */ createConnect({ dialects: allClients, readOlderCard, transports: overHttp })
