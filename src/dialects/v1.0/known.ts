import type { KnownDialect } from '../dialect.ts'
import { v1_0Client } from './client.ts'

const { name, version, bindings, methods } = v1_0Client

export const v1_0Known: KnownDialect = {
  name,
  version,
  bindings,
  sendMethod: methods.sendMessage,
  load: () => v1_0Client,
}
