import { v1_0Known } from '../../dialects/v1.0/client.ts'
import { type Connect, createConnect, overHttp } from '../connect.ts'

/** Speaks A2A 1.0 alone: with all that it may load, it is two thirds as large. */
export const connect: Connect = /* @__PURE__ */ createConnect({ dialects: [v1_0Known], transports: overHttp })

export * from '../../entries/client.ts'
