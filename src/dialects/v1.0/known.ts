import type { KnownDialect } from '../dialect.ts'
import { v1_0Light } from './light.ts'

const { name, version, bindings, methods } = v1_0Light

export const v1_0Known: KnownDialect = {
  name,
  version,
  bindings,
  sendMethod: methods.sendMessage,
  load: () => v1_0Light,
}
