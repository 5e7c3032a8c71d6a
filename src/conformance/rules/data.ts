import { isObject, type JsonObject } from '../../core/base/json.ts'
import { eventBody, isProto, listOf, requireTask, sentTask, stateOf } from '../answers.ts'
import { isCurrent, type Version } from '../interface.ts'
import { messageParams } from '../requests.ts'
import { jsonBindings, type Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']

/** Rules about the JSON of tasks, messages and parts. */
export const dataRules: readonly Rule[] = [
  {
    id: 'data/states',
    level: 'MUST',
    versions: all,
    bindings: jsonBindings,
    title: 'States have the names of their version.',
    sends: 'a message, as a call and as a stream, and a get and a list of its task',
    expects: 'states such as TASK_STATE_COMPLETED (0.x JSON-RPC: completed)',
    async check(session) {
      const { target } = session.wire
      let count = 0
      for await (const { place, state } of statesOf(session)) {
        const example = isProto(target) ? 'TASK_STATE_COMPLETED' : 'completed'
        expectThat(stateOf(state, target), `${place} has the state ${JSON.stringify(state)}, not ${example} or so.`)
        count += 1
      }
      measureIf(count > 0, 'The agent answers without tasks.')
    },
  },
  {
    id: 'data/roles',
    level: 'MUST',
    versions: all,
    bindings: jsonBindings,
    title: 'Roles have the names of their version.',
    sends: 'a get for a completed task',
    expects: 'messages with ROLE_USER and ROLE_AGENT (0.x JSON-RPC: user and agent)',
    async check(session) {
      const messages = await taskMessages(session)
      const roles = isProto(session.wire.target) ? ['ROLE_USER', 'ROLE_AGENT'] : ['user', 'agent']
      for (const { role } of messages) expectThat(roles.includes(`${role}`), `A message has the role ${role}.`)
    },
  },
  {
    id: 'data/message-members',
    level: 'MUST',
    versions: all,
    title: 'Messages have all required members.',
    sends: 'a get for a completed task',
    expects: 'messages with messageId (not in 0.1), role, and at least one part',
    async check(session) {
      const { version } = session.wire.target
      for (const message of await taskMessages(session)) {
        const { messageId } = message
        const hasId = version === '0.1' || (typeof messageId === 'string' && messageId !== '')
        expectThat(hasId, 'A message has no messageId.')
        expectThat(partsOf(message).length > 0, 'A message has no parts.')
      }
    },
  },
  {
    id: 'data/artifact-members',
    level: 'MUST',
    versions: all,
    title: 'Artifacts have all required members.',
    sends: 'a get for a task with artifacts',
    expects: 'artifacts with an artifactId (not in 0.1) and at least one part',
    async check(session) {
      const { version } = session.wire.target
      for (const artifact of await taskArtifacts(session)) {
        const { artifactId } = artifact
        const hasId = version === '0.1' || (typeof artifactId === 'string' && artifactId !== '')
        expectThat(hasId, 'An artifact has no artifactId.')
        expectThat(listOf(artifact.parts).length > 0, 'An artifact has no parts.')
      }
    },
  },
  {
    id: 'data/parts',
    level: 'MUST',
    versions: all,
    title: 'A part has exactly one content.',
    sends: 'a get for a task with artifacts',
    expects: 'parts with one of text, raw, url, data (0.x: kind or type, and its member)',
    async check(session) {
      for (const part of (await taskArtifacts(session)).flatMap(partsOf)) {
        expectThat(isPart(part, session), `A part is of no known type: ${JSON.stringify(part).slice(0, 200)}`)
      }
    },
  },
  {
    id: 'data/timestamps',
    level: 'MUST',
    versions: ['1.0', '0.3', '0.2'],
    bindings: jsonBindings,
    title: 'Timestamps are ISO 8601 in UTC.',
    sends: 'a get for a completed task',
    expects: 'a timestamp that ends in Z',
    async check(session) {
      const timestamp = await taskTimestamp(session)
      const isUtc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(timestamp)
      // 0.x asks for ISO 8601 alone.
      const isIso = !isCurrent(session.wire.target.version) && Number.isFinite(Date.parse(timestamp))
      expectThat(isUtc || isIso, `The timestamp is ${timestamp}.`)
    },
  },
  {
    id: 'data/milliseconds',
    level: 'SHOULD',
    versions: ['1.0'],
    bindings: jsonBindings,
    title: 'Timestamps have milliseconds.',
    sends: 'gets for three completed tasks',
    expects: 'a timestamp with three or more digits of a second',
    async check(session) {
      // ProtoJSON leaves out a fraction of zero, so one timestamp without it proves nothing.
      const timestamps = [await taskTimestamp(session)]
      while (timestamps.length < 3 && !timestamps.some(isFine)) timestamps.push(await newTimestamp(session))
      expectThat(timestamps.some(isFine), `The timestamps are ${timestamps.join(', ')}.`)
    },
  },
  {
    id: 'data/camel-case',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    bindings: jsonBindings,
    title: 'Members have names in camelCase.',
    sends: 'a get for a completed task',
    expects: 'no underscore in the names of members outside of metadata and data',
    async check(session) {
      const name = snakeName((await readTask(session)).wire)
      expectThat(name === undefined, `A member has the name ${name}.`)
    },
  },
  {
    id: 'data/kinds',
    level: 'MUST',
    versions: ['0.3', '0.2'],
    bindings: ['JSONRPC'],
    title: 'Tasks and messages have their kind.',
    sends: 'a get for a completed task',
    expects: 'kind "task", and messages with kind "message"',
    async check(session) {
      const { wire } = await readTask(session)
      expectThat(wire.kind === 'task', `The kind of the task is ${JSON.stringify(wire.kind)}.`)
      for (const { kind } of listOf(wire.history)) expectThat(kind === 'message', `A message has the kind ${kind}.`)
    },
  },
  {
    id: 'data/context-id',
    level: 'MUST',
    versions: ['1.0', '0.3', '0.2'],
    title: 'A task has its context id.',
    sends: 'a get for a completed task',
    expects: 'a contextId that is not empty',
    async check(session) {
      const { contextId } = await readTask(session)
      expectThat(contextId, 'The task has no contextId.')
    },
  },
  {
    id: 'data/history-order',
    level: 'SHOULD',
    versions: ['1.0', '0.3'],
    title: 'The history starts with the message of the caller.',
    sends: 'a get for a completed task',
    expects: 'a message of the caller first',
    async check(session) {
      const [first] = listOf((await readTask(session)).wire.history)
      measureIf(first, 'The task has no history.')
      expectThat(/user$/i.test(`${first.role}`), `The first message has the role ${first.role}.`)
    },
  },
]

async function readTask(session: ConformanceSession) {
  const { id } = await session.completedTask()
  return requireTask(await session.wire.call('get', { id }), session.wire.target)
}

async function taskMessages(session: ConformanceSession): Promise<readonly JsonObject[]> {
  const { wire } = await readTask(session)
  const status = isObject(wire.status) ? (wire.status.message ?? wire.status.update) : undefined
  const messages = [...listOf(wire.history), ...(isObject(status) ? [status] : [])]
  measureIf(messages.length > 0, 'The task has no messages.')
  return messages
}

async function taskArtifacts(session: ConformanceSession): Promise<readonly JsonObject[]> {
  const artifacts = listOf((await readTask(session)).wire.artifacts)
  measureIf(artifacts.length > 0, 'The task has no artifacts.')
  return artifacts
}

async function taskTimestamp(session: ConformanceSession): Promise<string> {
  const { status } = (await readTask(session)).wire
  const timestamp = isObject(status) ? status.timestamp : undefined
  measureIf(typeof timestamp === 'string', 'The status has no timestamp.')
  return timestamp
}

function isFine(timestamp: string): boolean {
  return /:\d\d\.\d{3,}/.test(timestamp)
}

/** The timestamp of a new task. */
async function newTimestamp(session: ConformanceSession): Promise<string> {
  const sent = sentTask(await session.send({ text: await session.text('task') }), session.wire.target)
  measureIf(sent, 'The agent did not answer with a task.')
  const { wire } = requireTask(await session.wire.call('get', { id: sent.id }), session.wire.target)
  const timestamp = isObject(wire.status) ? wire.status.timestamp : undefined
  measureIf(typeof timestamp === 'string', 'The status has no timestamp.')
  return timestamp
}

/** The states that the agent writes, wherever it writes them. */
async function* statesOf(session: ConformanceSession): AsyncGenerator<{ place: string; state: unknown }> {
  const { wire } = session
  const text = await session.text('task')
  const stateIn = (task: unknown) => (isObject(task) && isObject(task.status) ? task.status.state : undefined)
  const task = sentTask(await session.send({ text }), wire.target)
  if (!task) return
  yield { place: 'The answer to a message', state: stateIn(task.wire) }
  const { result } = await wire.call('get', { id: task.id })
  if (isObject(result)) yield { place: 'The answer to a get', state: stateIn(result) }
  if (isCurrent(wire.target.version) && task.contextId !== undefined) {
    const { result: page } = await wire.call('list', { contextId: task.contextId })
    for (const each of listOf(isObject(page) ? page.tasks : [])) yield { place: 'A list', state: stateIn(each) }
  }
  if (!session.has('streaming')) return
  const stream = await wire.open('stream', messageParams({ text }, wire.target))
  const events = stream.isStream ? await stream.rest() : []
  await stream.close()
  for (const event of events) {
    const { status } = eventBody(event, wire.target)
    if (isObject(status)) yield { place: 'An event of a stream', state: status.state }
  }
}

/** The proto file of 0.3 names the parts of a message `content`. */
function partsOf(holder: JsonObject): readonly JsonObject[] {
  return listOf(holder.parts ?? holder.content)
}

function isPart(part: JsonObject, { wire: { target } }: ConformanceSession): boolean {
  const has = (...names: readonly string[]) => names.filter((name) => name in part).length === 1
  if (isCurrent(target.version)) return has('text', 'raw', 'url', 'data')
  if (isProto(target)) return has('text', 'file', 'data')
  const type = `${target.version === '0.1' ? part.type : part.kind}`
  return ['text', 'file', 'data'].includes(type) && type in part
}

/** The first name with an underscore. Authors choose the names in metadata and in data. */
function snakeName(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(snakeName).find((name) => name !== undefined)
  if (!isObject(value)) return undefined
  for (const [name, member] of Object.entries(value)) {
    if (name.includes('_')) return name
    if (name === 'metadata' || name === 'data') continue
    const inner = snakeName(member)
    if (inner !== undefined) return inner
  }
  return undefined
}
