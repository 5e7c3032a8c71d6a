import { isObject } from '../../base/json.ts'
import type { ClientDialect } from '../dialect.ts'
import { decodeHttpError } from '../errors.ts'
import { withoutSubscriptions } from '../python-agents.ts'
import { decodeCard } from '../v0.3/card.ts'
import { v0_3Client as plain } from '../v0.3/client.ts'
import { restClientBinding } from '../v0.3/methods.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { decodeError } from './errors.ts'
import { withHouseAgent } from './house-agents.ts'
import { clientMethods } from './methods.ts'

export const v0_3HouseClient: ClientDialect = {
  name: 'v0.3-house',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods: clientMethods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  errors: { decodeError, decodeHttpError },
  decodeCard,
  rest: restClientBinding,
  servers: {
    explanation: 'The agent is called by the house profile of 0.3.',
    forServer: () => v0_3HouseClient,
  },
  adaptService: withHouseAgent,
}

/** 0.3 for all agents. Those that the user of the client, or a question of theirs, shows to follow the house profile get it. */
export const v0_3Client: ClientDialect = {
  ...plain,
  adaptService: withoutSubscriptions,
  servers: {
    forServer: ({ dialects, wire }) =>
      dialects?.includes('v0.3-house') || hasInputRequest(wire) ? v0_3HouseClient : v0_3Client,
  },
}

/** Whether a task or a status update has an input request as only house agents write it. */
function hasInputRequest(wire: unknown): boolean {
  const status = isObject(wire) ? wire.status : undefined
  const message = isObject(status) ? status.message : undefined
  return isObject(message) && isObject(message.inputRequest)
}
