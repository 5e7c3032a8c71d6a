export { type Freshness, freshnessOf } from './freshness.ts'
export type * from './mesh.ts'
export type * as mesh from './mesh.ts'
export type * from './types.ts'
export {
  createSchemaValidator,
  SchemaValidator,
  type SchemaVersion,
  schemaById,
  type ValidatorOptions,
  type Verdict,
  validate,
  validateA2A,
} from './validator.ts'
