import { defined } from '../../core/base/json.ts'
import type { Client } from '../../core/client/client.ts'
import { connect } from '../../core/client/connect.ts'
import type { ConnectOptions, Notice } from '../../core/client/options.ts'
import { clientDialects } from '../../core/dialects/client-dialects.ts'
import type { AgentCard, AgentInterface } from '../../core/protocol/card.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { anonymous } from '../../core/protocol/model.ts'
import type { Service } from '../../core/protocol/service.ts'
import type { Recorder } from './recorder.ts'

/** Milliseconds for one call. */
const callTimeout = 15_000

export interface ProbeOptions {
  readonly card: AgentCard
  readonly cardUrl: string | undefined
  readonly recorder: Recorder
  readonly fetch: NonNullable<ConnectOptions['fetch']>
  /** gRPC, if the card names it. */
  readonly grpc: NonNullable<ConnectOptions['bindings']>[number] | undefined
  readonly providers: NonNullable<ConnectOptions['auth']>
  readonly signal: AbortSignal
}

/** The operations at this interface. All capabilities are claimed, so that every call is really made. */
export async function openService(
  each: AgentInterface,
  options: ProbeOptions,
  onNotice: (notice: Notice) => void = () => {},
): Promise<Service> {
  const { card } = options
  const capabilities = { ...card.capabilities, streaming: true, pushNotifications: true, extendedCard: true }
  return (await openClient(each, { ...options, card: { ...card, capabilities } }, onNotice)).service
}

/** A client of only this interface, in its version, which repeats nothing. */
export async function openClient(
  each: AgentInterface,
  { card, fetch, grpc, providers, signal }: ProbeOptions,
  onNotice: (notice: Notice) => void,
): Promise<Client> {
  const named = each.protocolVersion.slice(0, 3)
  const isKnown = clientDialects.some((dialect) => dialect.version === named)
  const version = /^1\./.test(named) && !isKnown ? '1.0' : named
  const dialects = clientDialects.filter(
    (dialect) => dialect.version === version || dialect.olderEqualVersion === version,
  )
  const target: AgentCard = { ...card, interfaces: [each] }
  return await connect(
    target,
    defined({
      fetch,
      signal,
      onNotice,
      timeout: callTimeout,
      retry: { tries: 1 },
      resume: { tries: 1 },
      dialects: dialects.map(({ name }) => name) as NonNullable<ConnectOptions['dialects']>,
      bindings: ['JSONRPC', 'HTTP+JSON', ...(grpc ? [grpc] : [])],
      auth: providers.length > 0 ? providers : undefined,
    }),
  )
}

export async function getTask(each: AgentInterface, options: ProbeOptions): Promise<unknown> {
  const service = await openService(each, options)
  return await service.getTask({ taskId: newId() }, callOf(options))
}

/** The result of a call, or the `A2AError` by which it fails. */
export async function attempt<T>(call: () => Promise<T>): Promise<T | A2AError> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof A2AError && error.reason !== 'aborted') return error
    throw error
  }
}

export function isNotFound(outcome: unknown): boolean {
  return outcome instanceof A2AError && (outcome.code === 'task-not-found' || outcome.code === 'task-expired')
}

export function isRefusal(outcome: unknown): outcome is A2AError & { code: 'unauthenticated' | 'forbidden' } {
  return outcome instanceof A2AError && (outcome.code === 'unauthenticated' || outcome.code === 'forbidden')
}

export function callOf({ signal }: ProbeOptions) {
  return { principal: anonymous, signal, timeout: callTimeout }
}

export function newId(): string {
  return crypto.randomUUID()
}
