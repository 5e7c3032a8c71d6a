import { isList, isObject } from '../../core/base/json.ts'
import { describe, eventTaskId, eventTypeOf, expectError, listOf } from '../answers.ts'
import { isCurrent, type Version } from '../interface.ts'
import { pushParams, pushReference } from '../requests.ts'
import type { Rule } from '../rule.ts'
import type { ConformanceSession, ReceivedWebhook } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const withLists: readonly Version[] = ['1.0', '0.3']

/** A webhook that is never called: the task has ended, and the host does not exist (RFC 2606). */
const webhook = 'https://conformance.invalid/webhook'

/** Milliseconds in which a delivery must come. */
const deliveryTimeout = 10_000

/** Rules about registered webhooks. */
const pushRules: readonly Rule[] = [
  {
    id: 'push/create',
    level: 'MUST',
    versions: all,
    title: 'A webhook is registered, and the answer repeats it.',
    sends: 'a webhook for a task',
    expects: 'the configuration with its URL',
    async check(session) {
      const { id } = await taskWithPush(session)
      const { wire } = session
      const answer = await wire.call('push-create', pushParams(id, 'conformance-create', webhook, wire.target))
      expectThat(!answer.isError, `Expected the configuration, got ${describe(answer)}.`)
      expectThat(urlOf(answer.result) === webhook, `The answer has the URL ${JSON.stringify(urlOf(answer.result))}.`)
    },
  },
  {
    id: 'push/get',
    level: 'MUST',
    versions: all,
    title: 'A registered webhook can be read.',
    sends: 'a webhook for a task, and a get for it',
    expects: 'the configuration with its URL',
    async check(session) {
      const { wire } = session
      const { taskId, id } = await register(session)
      const answer = await wire.call('push-get', pushReference(taskId, id, wire.target))
      expectThat(urlOf(answer.result) === webhook, `Expected the URL ${webhook}, got ${describe(answer)}.`)
    },
  },
  {
    id: 'push/get-unknown',
    level: 'MUST',
    versions: withLists,
    title: 'A webhook that does not exist cannot be read.',
    sends: 'a get for an unknown webhook of a task',
    expects: 'an error',
    async check(session) {
      const { wire } = session
      const { id } = await taskWithPush(session)
      const answer = await wire.call('push-get', pushReference(id, 'conformance-unknown', wire.target))
      expectThat(answer.isError, `Expected an error, got ${describe(answer)}.`)
    },
  },
  {
    id: 'push/list',
    level: 'MUST',
    versions: withLists,
    title: 'The list of webhooks has all of them.',
    sends: 'a webhook for a task, and a list of its webhooks',
    expects: 'a list with this webhook',
    async check(session) {
      const { taskId, id } = await register(session)
      expectThat((await webhookIds(session, taskId)).includes(id), `The list does not have the webhook ${id}.`)
    },
  },
  {
    id: 'push/delete',
    level: 'MUST',
    versions: withLists,
    title: 'A deleted webhook is gone.',
    sends: 'a webhook for a task, its deletion, and a list of the webhooks',
    expects: 'a list without this webhook',
    async check(session) {
      const { wire } = session
      const { taskId, id } = await register(session)
      const answer = await wire.call('push-delete', pushReference(taskId, id, wire.target))
      expectThat(!answer.isError, `Expected a deletion, got ${describe(answer)}.`)
      expectThat(!(await webhookIds(session, taskId)).includes(id), `The list still has the webhook ${id}.`)
    },
  },
  {
    id: 'push/delete-again',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A webhook can be deleted twice.',
    sends: 'a webhook for a task, and two deletions',
    expects: 'no error for the second deletion',
    async check(session) {
      const { wire } = session
      const { taskId, id } = await register(session)
      const first = await wire.call('push-delete', pushReference(taskId, id, wire.target))
      measureIf(!first.isError, 'The first deletion failed.')
      const second = await wire.call('push-delete', pushReference(taskId, id, wire.target))
      expectThat(!second.isError, `Expected no error, got ${describe(second)}.`)
    },
  },
  {
    id: 'push/unknown-task',
    level: 'MUST',
    versions: all,
    title: 'A webhook for a task that does not exist is refused.',
    sends: 'a webhook for an unknown task',
    expects: 'TaskNotFound',
    async check(session) {
      measureIf(session.has('pushNotifications'), 'The card declares no push notifications.')
      const { wire } = session
      const params = pushParams(crypto.randomUUID(), 'conformance', webhook, wire.target)
      expectError({ exchange: await wire.call('push-create', params), name: 'TaskNotFound' }, wire.target)
    },
  },
  {
    id: 'push/delivery',
    level: 'MUST',
    versions: all,
    title: 'A registered webhook gets the changes of its task.',
    sends: 'a webhook for a waiting task, and an answer to the task',
    expects: 'a POST to the webhook within 10 seconds',
    async check(session) {
      expectThat((await deliveryTo(session)).delivery, 'No delivery came within 10 seconds.')
    },
  },
  {
    id: 'push/payload',
    level: 'MUST',
    versions: all,
    title: 'A delivery names its task in the JSON of its version.',
    sends: 'a webhook for a waiting task, and an answer to the task',
    expects: 'a StreamResponse with one object of this task (0.x: the task)',
    async check(session) {
      const { taskId, delivery } = await deliveryTo(session)
      measureIf(delivery, 'No delivery came.')
      const result = parse(delivery.body)
      const event = { json: result, result, isError: false }
      const { target } = session.wire
      const isTask = isObject(result) && result.id === taskId && isObject(result.status)
      const isEvent = eventTypeOf(event, target) !== undefined && eventTaskId(event, target) === taskId
      expectThat(
        isCurrent(target.version) ? isEvent : isTask || isEvent,
        `The delivery is ${delivery.body.slice(0, 200)}`,
      )
    },
  },
  {
    id: 'push/token',
    level: 'SHOULD',
    versions: all,
    title: 'A delivery carries the token of its webhook.',
    sends: 'a webhook with a token for a waiting task, and an answer to the task',
    expects: 'the token in the header X-A2A-Notification-Token',
    async check(session) {
      const { delivery } = await deliveryTo(session)
      measureIf(delivery, 'No delivery came.')
      const token = delivery.headers['x-a2a-notification-token']
      expectThat(token === 'conformance', `The header is ${token === undefined ? 'missing' : JSON.stringify(token)}.`)
    },
  },
  {
    id: 'push/unsupported',
    level: 'MUST',
    versions: all,
    title: 'An agent without push notifications refuses webhooks.',
    sends: 'a webhook for a task of an agent whose card declares no push notifications',
    expects: 'PushNotificationNotSupported',
    async check(session) {
      measureIf(!session.has('pushNotifications'), 'The agent declares push notifications.')
      const { wire } = session
      const { id } = await session.completedTask()
      const exchange = await wire.call('push-create', pushParams(id, 'conformance', webhook, wire.target))
      expectError({ exchange, name: 'PushNotificationNotSupported' }, wire.target)
    },
  },
]

/** The REST form of these operations in 0.3 differs between the text, the proto file and the implementations. */
export const webhookRules: readonly Rule[] = pushRules.flatMap((rule): readonly Rule[] => {
  const legacy = rule.versions.filter((version) => !isCurrent(version))
  return [{ ...rule, versions: ['1.0'] }, ...(legacy.length > 0 ? [jsonRpcOnly({ ...rule, versions: legacy })] : [])]
})

function jsonRpcOnly(rule: Rule): Rule {
  return { ...rule, bindings: ['JSONRPC'] }
}

async function taskWithPush(session: ConformanceSession) {
  measureIf(session.has('pushNotifications'), 'The card declares no push notifications.')
  return await session.completedTask()
}

async function register(session: ConformanceSession): Promise<{ readonly taskId: string; readonly id: string }> {
  const { wire } = session
  const { id: taskId } = await taskWithPush(session)
  const id = `conformance-${crypto.randomUUID()}`
  const answer = await wire.call('push-create', pushParams(taskId, id, webhook, wire.target))
  measureIf(!answer.isError, `The agent did not register the webhook: ${describe(answer)}.`)
  return { taskId, id: idOf(answer.result) ?? id }
}

interface Delivered {
  readonly taskId: string
  readonly delivery: ReceivedWebhook | undefined
}

/** One delivery serves all rules about deliveries. */
const deliveries = new WeakMap<ConformanceSession, Promise<Delivered>>()

function deliveryTo(session: ConformanceSession): Promise<Delivered> {
  const known = deliveries.get(session)
  if (known) return known
  const delivering = deliver(session)
  deliveries.set(session, delivering)
  return delivering
}

async function deliver(session: ConformanceSession): Promise<Delivered> {
  const { wire, webhooks } = session
  measureIf(session.has('pushNotifications'), 'The card declares no push notifications.')
  measureIf(webhooks, 'The suite has no receiver for webhooks that the agent could reach.')
  const text = await session.text('task')
  const { id: taskId } = await session.waitingTask()
  const path = `/${crypto.randomUUID()}`
  const params = pushParams(taskId, 'conformance-delivery', `${webhooks.url}${path}`, wire.target)
  const answer = await wire.call('push-create', params)
  measureIf(!answer.isError, `The agent did not register the webhook: ${describe(answer)}.`)
  await session.send({ text, taskId })
  return { taskId, delivery: await webhooks.receive(path, deliveryTimeout) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function webhookIds({ wire }: ConformanceSession, taskId: string): Promise<readonly unknown[]> {
  const answer = await wire.call('push-list', isCurrent(wire.target.version) ? { taskId } : { id: taskId })
  measureIf(!answer.isError, `The webhooks cannot be listed: ${describe(answer)}.`)
  const { result } = answer
  return listOf(isObject(result) ? result.configs : isList(result) ? result : []).map(idOf)
}

/** 0.x has the configuration inside of an object that names the task. */
function configOf(result: unknown) {
  if (!isObject(result)) return {}
  return isObject(result.pushNotificationConfig) ? result.pushNotificationConfig : result
}

function urlOf(result: unknown): unknown {
  return configOf(result).url
}

function idOf(result: unknown): string | undefined {
  const { id } = configOf(result)
  return typeof id === 'string' ? id : undefined
}
