import type { Binding } from '../../../src/core/dialects/dialect.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'

/** Every dialect with each of its bindings. */
export const dialectBindings: readonly (readonly [DialectName, Binding])[] = [
  ['v1.0', 'JSONRPC'],
  ['v1.0', 'HTTP+JSON'],
  ['v1.0', 'GRPC'],
  ['v0.3', 'JSONRPC'],
  ['v0.3', 'HTTP+JSON'],
  ['v0.3-proto', 'HTTP+JSON'],
  ['v0.3-proto', 'GRPC'],
  ['v0.3-house', 'JSONRPC'],
  ['v0.2', 'JSONRPC'],
  ['v0.1', 'JSONRPC'],
]
