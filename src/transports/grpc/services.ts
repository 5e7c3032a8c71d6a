import type { DialectName } from '../../dialects/dialect.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { StatusName } from './status.ts'

/** A dialect as a gRPC service. */
export interface A2AService {
  readonly name: string
  readonly dialect: DialectName
  /** What its callers may name as their `a2a-version`. */
  readonly versions: readonly string[]
  /** Errors that have another status there than the dialect gives them. */
  readonly statuses?: Readonly<Partial<Record<ErrorCode, StatusName>>>
}

export const a2aServices: readonly A2AService[] = [
  { name: 'lf.a2a.v1.A2AService', dialect: 'v1.0', versions: ['1.0'] },
  {
    name: 'a2a.v1.A2AService',
    dialect: 'v0.3-proto',
    versions: ['0.3', '0.2'],
    // 0.3 leaves it open; its SDKs agreed on this one, and know these errors by nothing else.
    statuses: {
      'push-not-supported': 'UNIMPLEMENTED',
      'unsupported-operation': 'UNIMPLEMENTED',
      'streaming-not-supported': 'UNIMPLEMENTED',
    },
  },
]
