import { systemClock } from '../core/base/clock.ts'
import { sha256, toHex } from '../core/base/hash.ts'
import { defined, isObject, type JsonObject } from '../core/base/json.ts'
import { eventForReader } from '../core/dialects/reader-form.ts'
import { serverDialects } from '../core/dialects/server-dialects.ts'
import { isRequestRefused } from '../core/http/address-guard.ts'
import { BodyTooLarge, type Incoming, type Outgoing } from '../core/http/exchange.ts'
import { JsonError, parseJson } from '../core/http/json.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import { type Interceptor, intercept } from '../core/protocol/intercept.ts'
import { ownerOf } from '../core/protocol/model.ts'
import type { Call, PushConfig, PushConfigRef, SendRequest, Service } from '../core/protocol/service.ts'
import { sendRequest } from '../core/push/delivery/send.ts'
import { readPayload } from '../core/push/receiver/read-delivery.ts'
import { DeliveryRefusal } from '../core/push/receiver/refusal.ts'
import { pushHeaders } from '../core/push/request.ts'
import type { OwnershipRecord } from '../core/tasks/ownership.ts'
import type { GatewayContext } from './gateway-context.ts'
import { createCall } from './outgoing.ts'
import type { Upstream } from './upstream.ts'

/** Path below which agents send notifications. The rest of the path is the token of the webhook. */
export const pushPath = '/gateway/push/'

/** Bytes of a notification. */
const maxNotification = 4 * 2 ** 20

/** Milliseconds that the receiver of the caller may take. */
const deliveryTimeout = 15_000

const maxWebhooks = 20

/**
 * Registers the gateway at the agent in the place of the caller's webhook: the agent learns neither its address nor its
 * credentials, and cannot bypass the gateway. Callers see their own configuration.
 */
export function relayPush(service: Service, agent: string, context: GatewayContext): Service {
  const { ownership, pushFetch, pushUrl } = context

  /** Stores the caller's webhook before the agent can send to it. Returns the configuration for the agent. */
  async function register(
    config: PushConfig,
    taskId: string,
    id: string,
    call: Call,
  ): Promise<PushConfig & Registered> {
    try {
      await pushFetch?.check(config.url)
    } catch (error) {
      // A host that cannot be resolved now may exist when there is something to deliver.
      const reason = isRequestRefused(error) ? error.message : undefined
      if (reason !== undefined) {
        throw new A2AError('invalid-params', `url: ${reason}`, {
          cause: error,
          violations: [{ field: 'url', description: reason }],
        })
      }
    }
    const token = toHex(crypto.getRandomValues(new Uint8Array(32)))
    const record = recordOf({ agent, owner: ownerOf(call.principal), token, taskId, id, config })
    await ownership.claim(record)
    return defined({ id, url: `${pushUrl?.()}${token}`, token, record, taskId: taskId === '' ? undefined : taskId })
  }

  async function webhooksOf(taskId: string, { principal }: Call): Promise<readonly OwnershipRecord[]> {
    const query = { agent, kind: 'webhook', owner: ownerOf(principal), contextId: taskId, limit: maxWebhooks } as const
    return (await ownership.list(query)).records.toReversed()
  }

  async function webhookOf({ taskId, id }: PushConfigRef, call: Call): Promise<OwnershipRecord | undefined> {
    const all = await webhooksOf(taskId, call)
    return id === undefined ? all[0] : all.find(({ data }) => data?.id === id)
  }

  /** Replaces an inline webhook. Its task is known only when the agent answers. */
  async function withRelay(request: SendRequest, call: Call) {
    const config = request.configuration?.push
    if (!config) return { request, onTask: undefined }
    const { taskId = '' } = request.message
    const id = config.id ?? crypto.randomUUID()
    const { record, ...push } = await register({ ...config, ...dialectOf(request) }, taskId, id, call)
    return {
      request: { ...request, configuration: { ...request.configuration, push } },
      async onTask(task: string | undefined) {
        if (taskId === task) return
        await ownership.remove(record)
        if (task !== undefined)
          await ownership.claim({ ...record, contextId: task, data: { ...record.data, taskId: task } })
      },
    }
  }

  const relay: Interceptor = {
    async sendMessage(request, call, next) {
      const relayed = await withRelay(request, call)
      const outcome = await next(relayed.request, call)
      await relayed.onTask?.(outcome.type === 'task' ? outcome.task.id : undefined)
      return outcome
    },
    async *streamMessage(request, call, next) {
      const relayed = await withRelay(request, call)
      let isKnown = relayed.onTask === undefined
      for await (const event of next(relayed.request, call)) {
        if (!isKnown) await relayed.onTask?.(taskIdOf(event))
        isKnown = true
        yield event
      }
    },
    async createPushConfig(request, call, next) {
      const { taskId = '' } = request
      const existing = await webhooksOf(taskId, call)
      if (existing.length >= maxWebhooks) {
        throw new A2AError(
          'invalid-params',
          `taskId: a task may have at most ${maxWebhooks} webhooks, and this one has them.`,
        )
      }
      const { record, ...push } = await register(request, taskId, request.id ?? crypto.randomUUID(), call)
      try {
        await next({ ...request, ...push, authentication: undefined }, call)
      } catch (error) {
        await ownership.remove(record)
        throw error
      }
      return configOf(record)
    },
    async getPushConfig(request, call) {
      const record = await webhookOf(request, call)
      if (record) return configOf(record)
      if (request.mayBeMissing) return { taskId: request.taskId, url: '' }
      throw noWebhook(request)
    },
    async listPushConfigs({ taskId }, call) {
      return { configs: (await webhooksOf(taskId, call)).map(configOf), nextPageToken: '' }
    },
    async deletePushConfig(request, call, next) {
      const record = await webhookOf(request, call)
      if (!record) return
      await ownership.remove(record)
      await next({ ...request, id: `${record.data?.id}` }, call).catch(ignoreMissing)
    },
  }
  return intercept(service, [relay])
}

/** Receives notifications of agents, and delivers each to the webhook of the caller before it is acknowledged. */
export function createPushRelay(upstreams: ReadonlyMap<string, Upstream>, context: GatewayContext) {
  const dialects = serverDialects({})

  async function deliver(record: OwnershipRecord, event: StreamEvent): Promise<Outgoing> {
    const { pushFetch, logger, via } = context
    const { taskId, dialect, url, token, authentication } = record.data ?? {}
    const known = typeof taskId === 'string' && taskId !== '' ? taskId : undefined
    const sent = taskIdOf(event)
    if (known !== undefined && sent !== undefined && sent !== known) return answer(400, 'The event is of another task.')
    const upstream = upstreams.get(record.agent)
    const { pushFormat, hasInputRequests } = dialects.find(({ name }) => name === dialect) ?? dialects[0]
    let readable = (await upstream?.content?.event(event)) ?? event
    if (event.type !== 'task' && event.type !== 'message' && pushFormat.sendsTask(event) && upstream) {
      const call = createCall({ signal: AbortSignal.timeout(deliveryTimeout) }, via)
      readable = { type: 'task', task: await upstream.service.getTask({ taskId: event.taskId }, call) }
    }
    if (!hasInputRequests) readable = eventForReader(readable, { hasPlainQuestions: true, hasAnswerArtifacts: true })
    const headers: Record<string, string> = { 'content-type': pushFormat.contentType }
    if (typeof token === 'string') headers[pushHeaders.token] = token
    if (isObject(authentication) && typeof authentication.credentials === 'string') {
      headers[pushHeaders.authorization] = `${authentication.scheme} ${authentication.credentials}`
    }
    if (!pushFetch || typeof url !== 'string') return answer(410, 'There is no such webhook.')
    const body = JSON.stringify(pushFormat.encode(readable, known ?? sent ?? ''))
    const options = {
      fetch: pushFetch,
      timeout: deliveryTimeout,
      signal: new AbortController().signal,
      clock: systemClock,
    }
    const result = await sendRequest({ url, headers, body }, options)
    if (result.problem === undefined) return { status: 204, headers: {} }
    logger.warn(
      { agent: record.agent, taskId: known ?? sent, problem: result.problem },
      'a webhook could not be delivered',
    )
    if (result.isGone) await context.ownership.remove(record)
    return answer(result.isGone ? 410 : 502, 'The webhook did not accept the notification.')
  }

  return async (incoming: Incoming): Promise<Outgoing> => {
    if (incoming.method !== 'POST') return answer(405, 'Notifications are sent by POST.')
    const token = incoming.path.slice(pushPath.length)
    const record = /^[0-9a-f]{64}$/.test(token) ? await findByToken(token, upstreams.keys(), context) : undefined
    if (!record) return answer(401, 'There is no webhook with this token.')
    const header = incoming.header(pushHeaders.token)
    if (header !== undefined && header !== token) return answer(401, 'The token of the header is another one.')
    try {
      const { event } = await readPayload(parseJson(await incoming.bytes(maxNotification), { depth: 64 }))
      return await deliver(record, event)
    } catch (error) {
      if (error instanceof BodyTooLarge) return answer(413, `A notification has at most ${maxNotification} bytes.`)
      if (error instanceof DeliveryRefusal || error instanceof JsonError) return answer(400, error.message)
      context.logger.warn({ agent: record.agent, reason: `${error}` }, 'a notification could not be relayed')
      return answer(502, 'The notification could not be relayed.')
    }
  }
}

interface Registered {
  readonly record: OwnershipRecord
}

interface NewRecord {
  readonly agent: string
  readonly owner: string
  readonly token: string
  readonly taskId: string
  readonly id: string
  readonly config: PushConfig
}

/** The token itself is not stored: a copy of the store does not allow to send notifications. */
function recordOf({ agent, owner, token, taskId, id, config }: NewRecord): OwnershipRecord {
  const { url, token: callerToken, authentication, dialect } = config
  const data: JsonObject = defined({ id, taskId, url, token: callerToken, authentication, dialect })
  const key = hashOf(token)
  return defined({
    agent,
    kind: 'webhook',
    id: key,
    owner,
    remoteId: key,
    data,
    contextId: taskId === '' ? undefined : taskId,
  })
}

/** The configuration as the caller registered it, without its secrets. */
function configOf({ data = {} }: OwnershipRecord): PushConfig {
  const { id, taskId, url, authentication } = data
  const scheme = isObject(authentication) ? { scheme: `${authentication.scheme}` } : undefined
  return defined({ id: `${id}`, taskId: `${taskId}`, url: `${url}`, authentication: scheme })
}

async function findByToken(token: string, agents: Iterable<string>, { ownership }: GatewayContext) {
  const id = hashOf(token)
  for (const agent of agents) {
    const record = await ownership.find({ agent, kind: 'webhook', id })
    if (record) return record
  }
  return undefined
}

function hashOf(token: string): string {
  return toHex(sha256(token))
}

function dialectOf({ dialect }: SendRequest): Pick<PushConfig, 'dialect'> {
  return dialect === undefined ? {} : { dialect }
}

function taskIdOf(event: StreamEvent): string | undefined {
  if (event.type === 'task') return event.task.id
  return event.type === 'message' ? event.message.taskId : event.taskId
}

function noWebhook({ taskId, id }: PushConfigRef): A2AError {
  return new A2AError('task-not-found', `Task ${taskId} has no webhook${id === undefined ? '' : ` ${id}`}.`)
}

/** The agent may have removed it already. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof A2AError) || error.code === 'unavailable' || error.code === 'timeout') throw error
}

function answer(status: number, message: string): Outgoing {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: { code: status, message } }),
  }
}
