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

/** The operations without a method in 0.1: functions that throw, for tables of all operations. */
export const missingOperations = {
  listTasks: unsupported('listing tasks'),
  listPushConfigs: unsupported('listing push configs'),
  deletePushConfig: unsupported('deleting push configs'),
  getExtendedCard: unsupported('extended cards'),
}

function unsupported(subject: string): () => never {
  return () => {
    throw new A2AError('method-not-found', `A2A 0.1 has no method for ${subject}.`)
  }
}
