import type { StreamEvent } from './events.ts'
import type { Call, Operation, RequestOf, ResultOf, Service, StreamOperation, UnaryOperation } from './service.ts'

export type UnaryNext<O extends UnaryOperation> = (request: RequestOf<O>, call: Call) => Promise<ResultOf<O>>

export type StreamNext<O extends StreamOperation> = (request: RequestOf<O>, call: Call) => AsyncGenerator<StreamEvent>

/** Work around the operations of a service that does not depend on which operation is called. */
export interface AnyOperationInterceptor {
  /**
   * Runs around every unary operation. It may throw before it returns a promise: the caller gets a rejected promise in
   * any case. Return the promise of `next` as it is where there is nothing to wait for: an `await` costs every call.
   */
  unary?<O extends UnaryOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
    next: UnaryNext<O>,
  ): Promise<ResultOf<O>>
  /** Runs around every stream. */
  stream?<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
    next: StreamNext<O>,
  ): AsyncGenerator<StreamEvent>
}

export type UnaryInterceptor<O extends UnaryOperation> = (
  request: RequestOf<O>,
  call: Call,
  next: UnaryNext<O>,
) => Promise<ResultOf<O>>

export type StreamInterceptor<O extends StreamOperation> = (
  request: RequestOf<O>,
  call: Call,
  next: StreamNext<O>,
) => AsyncGenerator<StreamEvent>

/** Work around single operations, each by its name. */
export type OperationInterceptors = UnaryInterceptors & StreamInterceptors

/** Work around the operations of a service. A member named after an operation replaces `unary` or `stream` for it. */
export type Interceptor = AnyOperationInterceptor & OperationInterceptors

/**
 * Puts interceptors around a service. The first one is the outermost: it sees a call first and its result last.
 * They are composed here, once: an operation that no interceptor touches stays the original function.
 */
export function intercept(service: Service, interceptors: readonly Interceptor[]): Service {
  const innermostFirst = interceptors.toReversed()
  return mapOperations(
    (operation) => {
      const operations: UnaryOperations = service
      let next: UnaryNext<typeof operation> = operations[operation]
      for (const interceptor of innermostFirst) next = interceptUnary(operation, interceptor, next)
      return next
    },
    (operation) => {
      const operations: StreamOperations = service
      let next: StreamNext<typeof operation> = operations[operation]
      for (const interceptor of innermostFirst) next = interceptStream(operation, interceptor, next)
      return next
    },
  )
}

/** All operations as two functions: one for unary operations, one for streams. */
export interface ServiceFunctions {
  unary<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>>
  stream<O extends StreamOperation>(operation: O, request: RequestOf<O>, call: Call): AsyncGenerator<StreamEvent>
}

/** A service made of two functions. */
export function createService({ unary, stream }: ServiceFunctions): Service {
  return mapOperations(
    (operation) => (request, call) => unary(operation, request, call),
    (operation) => (request, call) => stream(operation, request, call),
  )
}

/** Calls the unary operation of that name, with the types of its request and result. */
export function callUnary<O extends UnaryOperation>(
  service: Service,
  operation: O,
  request: RequestOf<O>,
  call: Call,
): Promise<ResultOf<O>> {
  const operations: UnaryOperations = service
  return operations[operation](request, call)
}

/** Opens the stream of that name. */
export function callStream<O extends StreamOperation>(
  service: Service,
  operation: O,
  request: RequestOf<O>,
  call: Call,
): AsyncGenerator<StreamEvent> {
  const operations: StreamOperations = service
  return operations[operation](request, call)
}

export function isStream(operation: Operation): operation is StreamOperation {
  return operation === 'streamMessage' || operation === 'subscribeToTask'
}

/** `Service` as mapped types, by which the compiler relates an operation to its request and its result. */
type UnaryOperations = { readonly [O in UnaryOperation]: UnaryNext<O> }

type StreamOperations = { readonly [O in StreamOperation]: StreamNext<O> }

type UnaryInterceptors = { readonly [O in UnaryOperation]?: UnaryInterceptor<O> }

type StreamInterceptors = { readonly [O in StreamOperation]?: StreamInterceptor<O> }

/** The only list of all operations: everything that concerns each of them is made by it. */
function mapOperations(
  unary: <O extends UnaryOperation>(operation: O) => UnaryNext<O>,
  stream: <O extends StreamOperation>(operation: O) => StreamNext<O>,
): Service {
  return {
    sendMessage: unary('sendMessage'),
    streamMessage: stream('streamMessage'),
    getTask: unary('getTask'),
    listTasks: unary('listTasks'),
    cancelTask: unary('cancelTask'),
    subscribeToTask: stream('subscribeToTask'),
    createPushConfig: unary('createPushConfig'),
    getPushConfig: unary('getPushConfig'),
    listPushConfigs: unary('listPushConfigs'),
    deletePushConfig: unary('deletePushConfig'),
    getExtendedCard: unary('getExtendedCard'),
  }
}

function interceptUnary<O extends UnaryOperation>(
  operation: O,
  interceptor: Interceptor,
  next: UnaryNext<O>,
): UnaryNext<O> {
  const byName: UnaryInterceptors = interceptor
  const { unary } = interceptor
  const around: UnaryInterceptor<O> | undefined =
    byName[operation] ?? (unary && ((request, call, next) => unary(operation, request, call, next)))
  if (!around) return next
  // Not async: the promise of `next` is handed on without waiting for it.
  return (request, call) => {
    try {
      return around(request, call, next)
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

function interceptStream<O extends StreamOperation>(
  operation: O,
  interceptor: Interceptor,
  next: StreamNext<O>,
): StreamNext<O> {
  const byName: StreamInterceptors = interceptor
  const { stream } = interceptor
  const around: StreamInterceptor<O> | undefined =
    byName[operation] ?? (stream && ((request, call, next) => stream(operation, request, call, next)))
  if (!around) return next
  return (request, call) => around(request, call, next)
}
