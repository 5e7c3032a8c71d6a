import { withDeadline } from '../../core/base/abort.ts'
import type { JsonObject } from '../../core/base/json.ts'
import { aFunction, checkOptions, flag, having, milliseconds, type OptionChecks } from '../../core/base/options.ts'
import { traceHeaders } from '../../core/base/trace-context.ts'
import type { Client } from '../../core/client/client.ts'
import { plainForm, resultForReader } from '../../core/dialects/reader-form.ts'
import { v1_0 } from '../../core/dialects/v1.0/server.ts'
import type { AgentCard } from '../../core/protocol/card.ts'
import { A2AError, invalidParams } from '../../core/protocol/errors.ts'
import type { StreamEvent } from '../../core/protocol/events.ts'
import { callUnary, intercept } from '../../core/protocol/intercept.ts'
import { anonymous, type Principal } from '../../core/protocol/model.ts'
import type { Call, Outcome, RequestOf, SendRequest, Service, UnaryOperation } from '../../core/protocol/service.ts'
import { isEnded, isInterrupted } from '../../core/protocol/states.ts'
import { isolateOwners } from '../../core/tasks/ownership.ts'
import type { MeshCall, MeshMethod } from '../options.ts'
import { toMeshError } from './errors.ts'
import { skillMethods } from './skill-methods.ts'

export type MeshPrincipalOf = (call: MeshCall) => Principal | Promise<Principal>

export interface BridgeOptions {
  /** The principal of a peer. Defaults to `mesh:` and its agent id. */
  readonly principalOf?: MeshPrincipalOf
  /** Also accepts unsigned messages, if the peer does. Defaults to false. */
  readonly allowsAnonymous?: boolean
  /**
   * Milliseconds after which a send returns the task in its current state. Must be less than the `timeout` of the peer.
   * Defaults to 20,000.
   */
  readonly patience?: number
}

export interface ServiceTarget {
  /** The service to call. It must distinguish its callers, as the service of a handler does. */
  readonly service: Service
  /** The agent's card: each skill id becomes a method. */
  readonly card?: Pick<AgentCard, 'skills' | 'capabilities'>
  readonly client?: undefined
}

export interface ClientTarget {
  /** A remote agent. It sees all peers as one caller, so their tasks are isolated here. */
  readonly client: Pick<Client, 'service' | 'card'>
  readonly service?: undefined
  readonly card?: undefined
}

export type A2AMethodsOptions = BridgeOptions & (ServiceTarget | ClientTarget)

const optionChecks: OptionChecks<BridgeOptions & Record<'service' | 'client' | 'card', unknown>> = {
  principalOf: aFunction,
  allowsAnonymous: flag,
  patience: milliseconds(),
  service: having('a service such as that of createHandler()', 'sendMessage'),
  client: having('a client of connect()', 'service', 'card'),
  card: having('the card of the agent', 'skills'),
}

export type BridgedMethod = keyof typeof operations

export type BridgedOperation = (typeof operations)[BridgedMethod]

/** The methods for `createMeshPeer` that expose an A2A agent in the mesh. */
export function a2aMethods(options: A2AMethodsOptions): Readonly<Record<string, MeshMethod>> {
  checkOptions<object>('a2aMethods', options, optionChecks)
  const { client, card = client?.card, patience = 20_000, allowsAnonymous = false } = options
  const service = client ? isolateOwners(client.service) : options.service
  const { principalOf = meshPrincipal({ allowsAnonymous }) } = options
  const boundedService = intercept(service, [
    { sendMessage: (request, call) => sendWithTimeout(service, request, call, patience) },
  ])

  /**
   * Uses the idempotency key of a send, or the envelope id, so that a send is done once even after the replay cache
   * forgot it.
   */
  async function callOf(call: MeshCall, { idempotencyKey = call.envelope.message_id }: JsonObject = {}): Promise<Call> {
    const { signal, trace } = call
    if (typeof idempotencyKey !== 'string' || !/^[ -~]{1,255}$/.test(idempotencyKey)) {
      throw invalidParams('idempotencyKey', 'expected 1 to 255 printable ASCII characters')
    }
    const headers = trace && { headers: traceHeaders(trace) }
    return { principal: await principalOf(call), signal, trace, idempotencyKey, ...headers }
  }

  const methodFor = <O extends BridgedOperation>(operation: O): MeshMethod =>
    withMeshErrors(async (parameters, call) => {
      const a2aCall = await callOf(call, parameters)
      const request: RequestOf<O> = v1_0.decodeRequest[operation](parameters)
      const withDialect = operation === 'sendMessage' ? { ...request, dialect: v1_0.name } : request
      const result = await callUnary(boundedService, operation, withDialect, a2aCall)
      // Every result of these operations is an object.
      return v1_0.encodeResult[operation](resultForReader(operation, result, plainForm, request), request) as JsonObject
    })

  const methods = Object.entries(operations).map(([name, operation]) => [name, methodFor(operation)])
  const skills = card ? skillMethods({ card, service: boundedService, callOf }) : {}
  const clash = Object.keys(skills).find((id) => Object.hasOwn(operations, id))
  if (clash !== undefined) throw new TypeError(`a2aMethods(): the skill id ${clash} is already the name of a method.`)
  const translated = Object.entries(skills).map(([id, method]) => [id, withMeshErrors(method)])
  return Object.fromEntries([...methods, ...translated])
}

/**
 * Maps a peer to a principal whose id cannot collide with users of A2A security schemes. Unsigned messages are
 * anonymous, if that is allowed. The principal has no grants, because the peer has satisfied no A2A security scheme.
 */
export function meshPrincipal(options: Pick<BridgeOptions, 'allowsAnonymous'> = {}): MeshPrincipalOf {
  checkOptions('meshPrincipal', options, { allowsAnonymous: flag })
  const { allowsAnonymous = false } = options
  return ({ identity }) => {
    if (identity) return { id: `mesh:${identity.agentId}` }
    if (allowsAnonymous) return anonymous
    throw new A2AError('unauthenticated', 'The message is not signed by a known key, which this agent requires.')
  }
}

/** The A2A operations by mesh method. Parameters and results are A2A 1.0 objects. */
export const operations = {
  'a2a.send': 'sendMessage',
  'a2a.get': 'getTask',
  'a2a.list': 'listTasks',
  'a2a.cancel': 'cancelTask',
} as const satisfies Readonly<Record<string, UnaryOperation>>

/**
 * Sends a message and waits until its task is idle or the time is up, and then returns the task in its current state.
 * Streams internally, because a stream reports the task id early.
 */
async function sendWithTimeout(service: Service, request: SendRequest, call: Call, timeout: number): Promise<Outcome> {
  const { configuration, tenant } = request
  if (configuration?.returnImmediately) return await service.sendMessage(request, call)
  let { taskId } = request.message
  const { signal, release } = withDeadline(call.signal, timeout, () => new Error('The time is up.'))
  try {
    for await (const event of service.streamMessage({ ...request, quirks: { endOnAuth: true } }, { ...call, signal })) {
      if (event.type === 'message') return { type: 'message', message: event.message }
      taskId = event.type === 'task' ? event.task.id : event.taskId
      if (isIdle(event)) break
    }
  } catch (error) {
    // An aborted stream may end with an error.
    if (!signal.aborted || call.signal.aborted) throw error
  } finally {
    release()
  }
  if (taskId === undefined) {
    throw new A2AError('timeout', `The agent did not answer within ${timeout / 1000} seconds.`)
  }
  const historyLength = configuration?.historyLength
  return { type: 'task', task: await service.getTask({ taskId, historyLength, tenant }, call) }
}

function isIdle(event: Exclude<StreamEvent, { type: 'message' }>): boolean {
  if (event.type === 'artifact') return false
  const { state } = event.type === 'task' ? event.task.status : event.status
  return isEnded(state) || isInterrupted(state)
}

function withMeshErrors(method: MeshMethod): MeshMethod {
  return async (parameters, call) => {
    try {
      return await method(parameters, call)
    } catch (error) {
      // A timeout takes precedence over the error it causes.
      if (call.signal.aborted) throw call.signal.reason
      throw error instanceof A2AError ? toMeshError(error) : error
    }
  }
}
