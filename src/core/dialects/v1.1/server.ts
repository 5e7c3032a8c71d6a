import type { ServerDialect } from '../dialect.ts'
import { restServerBinding } from '../v1.0/methods.ts'
import { v1_0 } from '../v1.0/server.ts'
import { encodeEvent, encodeResult, pushFormat } from './encode.ts'
import { grpc } from './methods.ts'
import { decodeRequest } from './requests.ts'

/** A2A 1.1, which is not released: 1.0 with the generation of tasks. */
export const v1_1: ServerDialect = {
  ...v1_0,
  name: 'v1.1',
  version: '1.1',
  mustBeNamed: true,
  numbersChanges: true,
  grpc,
  decodeRequest,
  encodeResult,
  encodeEvent,
  pushFormat,
  rest: { ...restServerBinding, recognises: () => false },
}
