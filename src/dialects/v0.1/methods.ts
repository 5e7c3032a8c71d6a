import { A2AError } from '../../protocol/errors.ts'
import { operationsByMethod } from '../dialect.ts'

export const methods = {
  sendMessage: 'tasks/send',
  streamMessage: 'tasks/sendSubscribe',
  getTask: 'tasks/get',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createPushConfig: 'tasks/pushNotification/set',
  getPushConfig: 'tasks/pushNotification/get',
}

export const operations = /* @__PURE__ */ operationsByMethod(methods, {})

/** The operations that 0.1 has no method for, wherever one must be named. */
export const missing = {
  listTasks: refusal('listing tasks'),
  listPushConfigs: refusal('listing push configs'),
  deletePushConfig: refusal('deleting push configs'),
  getExtendedCard: refusal('extended cards'),
}

function refusal(what: string): () => never {
  return () => {
    throw new A2AError('method-not-found', `A2A 0.1 has no method for ${what}.`)
  }
}
