import { v1_0Known } from '../../dialects/v1.0/known.ts'
import { type Connect, createConnect } from '../create-connect.ts'
import { overHttp } from '../over-http.ts'

export * from '../surface.ts'

/** Speaks A2A 1.0 alone: with all that it may load, it is two thirds as large. */
export const connect: Connect = /* @__PURE__ */ createConnect({ dialects: [v1_0Known], transports: overHttp })
