import { defined } from '../../base/json.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { readParams } from '../codec.ts'
import type { ServerDialect } from '../dialect.ts'
import * as v1_0 from '../v1.0/requests.ts'
import { GetTaskRequest, SendMessageRequest } from './schemas.ts'

/** The end of an artifact has a number of its own, so it is an event of its own for every reader. */
const quirks = { closesSeparately: true }

export const decodeRequest: ServerDialect['decodeRequest'] = {
  ...v1_0.decodeRequest,
  sendMessage: decodeSend,
  streamMessage: (params) => ({ ...decodeSend(params), quirks }),
  getTask(params) {
    const { currentGeneration: afterRevision } = readParams(GetTaskRequest, params)
    return defined({ ...v1_0.decodeRequest.getTask(params), afterRevision })
  },
  // A task without its generation is one of an agent that does not count.
  listTasks: (params) => ({ ...v1_0.decodeRequest.listTasks(params), includeRevisions: true }),
  subscribeToTask: (params) => ({ ...v1_0.decodeRequest.subscribeToTask(params), quirks }),
}

function decodeSend(params: unknown): SendRequest {
  const request = v1_0.decodeRequest.sendMessage(params)
  const { configuration } = readParams(SendMessageRequest, params)
  const ifRevision = configuration?.ifGenerationMatch
  return ifRevision === undefined ? request : { ...request, configuration: { ...request.configuration, ifRevision } }
}
