import type { StreamEvent } from '../../protocol/events.ts'
import type { Call, RequestOf, ResultOf, Service, StreamOperation, UnaryOperation } from '../../protocol/service.ts'

/** All operations as two: those with one answer, and those with many. */
export interface Operations {
  ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>>
  follow<O extends StreamOperation>(operation: O, request: RequestOf<O>, call: Call): AsyncGenerator<StreamEvent>
}

export function serviceOf({ ask, follow }: Operations): Service {
  return {
    sendMessage: (request, call) => ask('sendMessage', request, call),
    streamMessage: (request, call) => follow('streamMessage', request, call),
    getTask: (request, call) => ask('getTask', request, call),
    listTasks: (request, call) => ask('listTasks', request, call),
    cancelTask: (request, call) => ask('cancelTask', request, call),
    subscribeToTask: (request, call) => follow('subscribeToTask', request, call),
    createPushConfig: (request, call) => ask('createPushConfig', request, call),
    getPushConfig: (request, call) => ask('getPushConfig', request, call),
    listPushConfigs: (request, call) => ask('listPushConfigs', request, call),
    deletePushConfig: (request, call) => ask('deletePushConfig', request, call),
    getExtendedCard: (request, call) => ask('getExtendedCard', request, call),
  }
}

/** The same as `Service`, seen so that the compiler follows an operation from its request to its result. */
export function operationsOf(service: Service): Operations {
  return {
    ask: (operation, request, call) =>
      (service[operation] as (request: unknown, call: Call) => Promise<never>)(request, call),
    follow: (operation, request, call) =>
      (service[operation] as (request: unknown, call: Call) => AsyncGenerator<StreamEvent>)(request, call),
  }
}
