import type { ClientDialect } from '../dialect.ts'
import { v1_0Client } from '../v1.0/client.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { withGenerations } from './generations.ts'
import { grpc } from './methods.ts'

export const v1_1Client: ClientDialect = {
  ...v1_0Client,
  name: 'v1.1',
  version: '1.1',
  grpc,
  encodeRequest,
  decodeResult: { ...decodeResult, getExtendedCard: v1_0Client.decodeResult.getExtendedCard },
  decodeEvent,
  adaptService: withGenerations,
}
