import type { GrpcBinding } from '../dialect.ts'
import * as v1_0 from '../v1.0/methods.ts'

/** The service of 1.0: the version of a call is in its metadata. */
export const grpc: GrpcBinding = { ...v1_0.grpc, versions: ['1.1'] }
