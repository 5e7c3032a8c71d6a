import { withDeadline } from '../base/abort.ts'
import type { JsonObject } from '../base/json.ts'
import { traceHeaders } from '../base/trace-context.ts'
import type { Client } from '../client/client.ts'

import { expandInputRequestsInResult } from '../dialects/input-requests.ts'
import { v1_0 } from '../dialects/v1.0/server.ts'
import type { MeshCall, MeshMethod } from '../mesh/options.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import type { Call, Outcome, RequestOf, ResultOf, SendRequest, Service, UnaryOperation } from '../protocol/service.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
import { toMeshError } from './errors.ts'
import { skillMethods } from './skill-methods.ts'
import { isolateOwners } from './task-ownership.ts'

export type MeshPrincipalOf = (call: MeshCall) => Principal | Promise<Principal>

export interface BridgeOptions {
  /** Who a peer is to the service: by default `mesh:` and its id. */
  readonly principalOf?: MeshPrincipalOf
  /** Takes also messages that nobody has signed, where the peer does. */
  readonly allowsAnonymous?: boolean
  /**
   * Milliseconds after which a send is answered with the task as it is: 20 seconds unless it is given, and less than the
   * `timeout` of the peer.
   */
  readonly patience?: number
}

export interface ToService {
  /** What is called. It must know its callers apart, as that of a handler does. */
  readonly service: Service
  /** The agent's card: each of its skills becomes a method, by its id. */
  readonly card?: Pick<AgentCard, 'skills' | 'capabilities'>
  readonly client?: undefined
}

export interface ToClient {
  /** An agent somewhere else. To that one all peers are whoever the client is, so they are kept apart here. */
  readonly client: Pick<Client, 'service' | 'card'>
  readonly service?: undefined
  readonly card?: undefined
}

export type A2AMethodsOptions = BridgeOptions & (ToService | ToClient)

export type BridgedMethod = keyof typeof operations

export type BridgedOperation = (typeof operations)[BridgedMethod]

/** An agent of A2A for the mesh: methods for `createMeshPeer`. */
export function a2aMethods(options: A2AMethodsOptions): Readonly<Record<string, MeshMethod>> {
  const { client, card = client?.card, patience = 20_000, allowsAnonymous = false } = options
  const service = client ? isolateOwners(client.service) : options.service
  const { principalOf = meshPrincipal({ allowsAnonymous }) } = options
  const sending: Service = {
    ...service,
    sendMessage: (request, call) => sendWithTimeout(service, request, call, patience),
  }

  /** Whatever key a send has, or else its envelope: so it is done once, also if what was seen of it here was forgotten. */
  async function callOf(call: MeshCall, { idempotencyKey = call.envelope.message_id }: JsonObject = {}): Promise<Call> {
    const { signal, trace } = call
    if (typeof idempotencyKey !== 'string' || !/^[ -~]{1,255}$/.test(idempotencyKey)) {
      throw invalidParams('idempotencyKey', 'expected 1 to 255 printable ASCII characters')
    }
    const told = trace && { headers: traceHeaders(trace) }
    return { principal: await principalOf(call), signal, trace, idempotencyKey, ...told }
  }

  const bridged = <O extends BridgedOperation>(operation: O): MeshMethod =>
    translating(async (parameters, call) => {
      const asked = await callOf(call, parameters)
      const request: RequestOf<O> = v1_0.decodeRequest[operation](parameters)
      const told = operation === 'sendMessage' ? { ...request, dialect: v1_0.name } : request
      const result = await (sending as Asked)[operation](told, asked)
      // Every result of these operations is an object.
      return v1_0.encodeResult[operation](expandInputRequestsInResult(operation, result), request) as JsonObject
    })

  const methods = Object.entries(operations).map(([name, operation]) => [name, bridged(operation)])
  const skills = card ? skillMethods({ card, service: sending, callOf }) : {}
  const clash = Object.keys(skills).find((id) => Object.hasOwn(operations, id))
  if (clash !== undefined) throw new TypeError(`a2aMethods(): a skill has the id ${clash}, which is a method already.`)
  const translated = Object.entries(skills).map(([id, method]) => [id, translating(method)])
  return Object.fromEntries([...methods, ...translated])
}

/**
 * Whom a peer is to a service: somebody of its own name, whom no user of another scheme can be taken for. Who has not
 * signed is nobody in particular, where that is enough. It has proved nothing to the schemes of A2A, and so has no grants.
 */
export function meshPrincipal({ allowsAnonymous = false } = {}): MeshPrincipalOf {
  return ({ identity }) => {
    if (identity) return { id: `mesh:${identity.agentId}` }
    if (allowsAnonymous) return anonymous
    throw new A2AError('unauthenticated', 'The message is not signed by a known key, and the agent must know who asks.')
  }
}

/** The operations of A2A as methods of the mesh. What they take and give are the objects of A2A 1.0. */
export const operations = {
  'a2a.send': 'sendMessage',
  'a2a.get': 'getTask',
  'a2a.list': 'listTasks',
  'a2a.cancel': 'cancelTask',
} as const satisfies Readonly<Record<string, UnaryOperation>>

/**
 * Sends a message and waits until its task rests, but not for longer than so many milliseconds: then the answer is the
 * task as it is. A stream tells early which task it is, wherever the agent is.
 */
async function sendWithTimeout(service: Service, request: SendRequest, call: Call, patience: number): Promise<Outcome> {
  const { configuration, tenant } = request
  if (configuration?.returnImmediately) return await service.sendMessage(request, call)
  let { taskId } = request.message
  const { signal, release } = withDeadline(call.signal, patience, () => new Error('The patience is over.'))
  try {
    for await (const event of service.streamMessage({ ...request, endOnAuth: true }, { ...call, signal })) {
      if (event.type === 'message') return { type: 'message', message: event.message }
      taskId = event.type === 'task' ? event.task.id : event.taskId
      if (rests(event)) break
    }
  } catch (error) {
    // Who stops waiting may be told so by an error.
    if (!signal.aborted || call.signal.aborted) throw error
  } finally {
    release()
  }
  if (taskId === undefined) {
    throw new A2AError('timeout', `The agent said nothing within ${patience / 1000} seconds.`)
  }
  const historyLength = configuration?.historyLength
  return { type: 'task', task: await service.getTask({ taskId, historyLength, tenant }, call) }
}

function rests(event: Exclude<StreamEvent, { type: 'message' }>): boolean {
  if (event.type === 'artifact') return false
  const { state } = event.type === 'task' ? event.task.status : event.status
  return isEnded(state) || isInterrupted(state)
}

function translating(method: MeshMethod): MeshMethod {
  return async (parameters, call) => {
    try {
      return await method(parameters, call)
    } catch (error) {
      // When its time is up, that is the answer.
      if (call.signal.aborted) throw call.signal.reason
      throw error instanceof A2AError ? toMeshError(error) : error
    }
  }
}

/** The same as `Service`, seen so that the compiler follows an operation from its request to its result. */
type Asked = { readonly [O in BridgedOperation]: (request: RequestOf<O>, call: Call) => Promise<ResultOf<O>> }
