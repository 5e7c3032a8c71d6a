import type { DialectName } from '../../dialects/dialect.ts'
import type { ErrorForm } from './status.ts'

/** A dialect as a gRPC service. */
export interface A2AService extends ErrorForm {
  readonly name: string
  readonly dialect: DialectName
  /** Whether a caller that requests the extended card gets the public one if there is no other. */
  readonly hasPublicCard?: boolean
  /** The values of `a2a-version` that the service accepts. */
  readonly versions: readonly string[]
}

export const a2aServices: readonly A2AService[] = [
  { name: 'lf.a2a.v1.A2AService', dialect: 'v1.0', versions: ['1.0'] },
  {
    name: 'a2a.v1.A2AService',
    dialect: 'v0.3-proto',
    versions: ['0.3', '0.2'],
    // A2A 0.3 leaves the status open. Its SDKs agreed on UNIMPLEMENTED and recognize these errors by it alone.
    statuses: {
      'push-not-supported': 'UNIMPLEMENTED',
      'unsupported-operation': 'UNIMPLEMENTED',
      'streaming-not-supported': 'UNIMPLEMENTED',
    },
    namesErrors: true,
    hasPublicCard: true,
  },
]
