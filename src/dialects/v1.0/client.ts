import { loaded } from '../../protocol/lazy-import.ts'
import type { ClientDialect, DialectInfo, ResponseDecoder } from '../dialect.ts'
import { lenientReading } from '../lenient-card.ts'
import { carried, carrying, cleanCard, decodeCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods as methodsLight, restAsking } from './methods.ts'
import { plainReading } from './plain.ts'

/** All of 1.0 for a client, of which what reads unusual answers is loaded with the first of them. */
export const v1_0Light: ClientDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods: methodsLight,
  encodeRequest,
  ...plainReading,
  lenient: async () => (await loaded('read the answer', import('./client.ts'), 'unread')).wholeReading,
  rest: restAsking,
}

/** With all that it takes to read any answer, for whoever does not mind how large it is. */
export const v1_0Client: ClientDialect = { ...v1_0Light, decodeResult, decodeEvent, decodeCard }

const { name, version, bindings, methods } = v1_0Light

export const v1_0Known: DialectInfo = {
  name,
  version,
  bindings,
  sendMethod: methods.sendMessage,
  load: () => v1_0Light,
}

/** All that agents of 1.0 may write, and cards as they are. */
export const wholeReading: ResponseDecoder = {
  ...lenientReading({ decodeCard, decodeResult }, cleanCard, { carrying, carried }),
  decodeEvent,
}
