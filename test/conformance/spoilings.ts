import { isUnknownTask, onAnswer, onTask, onTasks, resultOf, succeed, taskIn } from './fault-changes.ts'
import type { Answer, Call, Fault, Json } from './faulty-agent.ts'

/** One thing that a proxy spoils, and the rule or the finding that names it. */
export interface Spoiling {
  readonly name: string
  readonly spoil: Fault
  /** A rule of the conformance suite. */
  readonly rule?: string
  /** A finding of the doctor. */
  readonly finding?: string
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
}

/** Changes members of an object. */
const set = (target: Json, members: object): void => void Object.assign(target, members)
const every = (items: readonly Json[] | undefined, change: (item: Json) => void): void => {
  for (const item of items ?? []) change(item)
}
const card = (change: (card: Json) => void): Fault => ({
  answer: ({ json }, { operation }) => void (operation === 'card' && json && change(json)),
})
const cardHeader = (change: (headers: Headers) => void): Fault => ({
  answer: ({ headers }, { operation }) => void (operation === 'card' && change(headers)),
})
const onError = (change: (answer: Answer, call: Call) => void): Fault => ({
  answer: (answer, call) => void (answer.json?.error && change(answer, call)),
})
const errorCode = (from: number, to: number): Fault =>
  onError(({ json }) => void (json.error.code === from && set(json.error, { code: to })))
const refuse =
  (code: number, message: string) =>
  (answer: Answer): void => {
    answer.json = { jsonrpc: '2.0', id: answer.json?.id ?? null, error: { code, message } }
  }
const events = (change: NonNullable<Fault['event']>): Fault => ({
  event: (event, index, call) => (call.operation === 'stream' ? change(event, index, call) : [event]),
})
const bodyOf = (event: Json): Json => Object.values<Json>(event.result ?? {})[0] ?? {}
const everyTask = (change: (task: Json) => void): Fault => ({
  answer(answer, call) {
    const result = resultOf(answer, call)
    for (const task of result?.tasks ?? [taskIn(result)]) if (task) change(task)
  },
})

const spoiledCards: readonly Spoiling[] = [
  { name: 'the card has no name', rule: 'card/members', spoil: card((each) => delete each.name) },
  { name: 'the description is empty', rule: 'card/members', spoil: card((each) => set(each, { description: '' })) },
  { name: 'the card has no version', rule: 'card/members', spoil: card((each) => delete each.version) },
  {
    name: 'the output modes are a text',
    rule: 'card/modes',
    spoil: card((each) => set(each, { defaultOutputModes: 'text/plain' })),
  },
  { name: 'there are no input modes', rule: 'card/modes', spoil: card((each) => set(each, { defaultInputModes: [] })) },
  { name: 'there are no skills', rule: 'card/skills', spoil: card((each) => set(each, { skills: [] })) },
  { name: 'a skill has no tags', rule: 'card/skills', spoil: card((each) => delete each.skills[0].tags) },
  { name: 'a skill has no id', rule: 'card/skills', spoil: card((each) => delete each.skills[0].id) },
  {
    name: 'an interface has no version',
    rule: 'card/interfaces',
    spoil: card((each) => every(each.supportedInterfaces, (one) => void delete one.protocolVersion)),
  },
  {
    name: 'a version has a patch number',
    rule: 'card/interfaces',
    spoil: card((each) => set(each.supportedInterfaces[0], { protocolVersion: '1.0.0' })),
  },
  {
    name: 'an address is relative',
    rule: 'card/interfaces',
    spoil: card((each) =>
      each.supportedInterfaces.push({ url: '/a2a', protocolBinding: 'GRPC2', protocolVersion: '1.0' }),
    ),
  },
  {
    name: 'a capability is a text',
    rule: 'card/capabilities',
    spoil: card((each) => set(each.capabilities, { extendedAgentCard: 'false' })),
  },
  {
    name: 'the card is plain text',
    rule: 'card/content-type',
    spoil: cardHeader((headers) => headers.set('content-type', 'text/plain')),
  },
  {
    name: 'the card cannot be cached',
    rule: 'card/cache-control',
    spoil: cardHeader((headers) => headers.set('cache-control', 'no-store')),
  },
  { name: 'the name is a number', finding: 'card-schema', spoil: card((each) => set(each, { name: 7 })) },
  {
    name: 'a binding has another spelling',
    finding: 'unknown-binding',
    spoil: card((each) =>
      each.supportedInterfaces.push({ ...each.supportedInterfaces[0], protocolBinding: 'json-rpc2' }),
    ),
  },
  {
    name: 'a version is a word',
    finding: 'unknown-version',
    spoil: card((each) => each.supportedInterfaces.push({ ...each.supportedInterfaces[0], protocolVersion: 'latest' })),
  },
  {
    name: 'a required scheme is not declared',
    finding: 'scheme-undefined',
    spoil: card((each) => set(each, { securityRequirements: [{ schemes: { key: { list: [] } } }] })),
  },
  {
    name: 'a declared scheme is not required',
    finding: 'security-not-required',
    spoil: card((each) =>
      set(each, { securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } } }),
    ),
  },
  {
    name: 'credentials are required and not enforced',
    finding: 'auth-not-enforced',
    spoil: card((each) =>
      Object.assign(each, {
        securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } },
        securityRequirements: [{ schemes: { key: { list: [] } } }],
      }),
    ),
  },
  {
    name: 'an extended card is claimed',
    finding: 'extended-card-refused',
    spoil: card((each) => set(each.capabilities, { extendedAgentCard: true })),
  },
  {
    name: 'a path of the card is wrong',
    finding: 'wrong-path',
    spoil: card((each) => set(each.supportedInterfaces[0], { url: `${each.supportedInterfaces[0].url}nowhere` })),
  },
]

const spoiledCalls: readonly Spoiling[] = [
  {
    name: 'the version of JSON-RPC is 1.0',
    rule: 'jsonrpc/envelope',
    spoil: onAnswer('send', ({ json }) => set(json, { jsonrpc: '1.0' })),
  },
  {
    name: 'an answer has a result and an error',
    rule: 'jsonrpc/envelope',
    spoil: onAnswer('send', ({ json }) => set(json, { error: { code: 0, message: '' } })),
  },
  {
    name: 'ids are numbers always',
    rule: 'jsonrpc/id-text',
    spoil: { answer: ({ json }) => void (json?.id === 'a text' && set(json, { id: 1 })) },
  },
  {
    name: 'ids are texts always',
    rule: 'jsonrpc/id-number',
    spoil: { answer: ({ json }) => void (json?.id === 7 && set(json, { id: '7' })) },
  },
  {
    name: 'answers are web pages',
    rule: 'jsonrpc/content-type',
    spoil: onAnswer('get', ({ headers }) => headers.set('content-type', 'text/html')),
  },
  { name: 'a broken body is an internal error', rule: 'jsonrpc/parse-error', spoil: errorCode(-32700, -32603) },
  { name: 'an unknown method is an internal error', rule: 'jsonrpc/unknown-method', spoil: errorCode(-32601, -32603) },
  { name: 'an unknown task is an internal error', rule: 'get/unknown', spoil: errorCode(-32001, -32603) },
  { name: 'an unknown task is answered with null', rule: 'get/unknown', spoil: succeed('get', isUnknownTask) },
  {
    name: 'errors have no message',
    rule: 'errors/message',
    spoil: onError(({ json }) => set(json.error, { message: '' })),
  },
  {
    name: 'details of errors are a text',
    rule: 'errors/details',
    spoil: onError(({ json }) => set(json.error, { data: 'unknown' })),
  },
  {
    name: 'errors have no ErrorInfo',
    rule: 'errors/info',
    spoil: onError(({ json }) => set(json.error, { data: [] })),
  },
  {
    name: 'any version is spoken',
    rule: 'version/unsupported',
    spoil: {
      request: ({ headers }) => void (headers.get('a2a-version') === '9.9' && headers.set('a2a-version', '1.0')),
    },
  },
  {
    name: 'states have the names of 0.3',
    rule: 'data/states',
    spoil: everyTask(({ status }) => set(status, { state: status.state.replace('TASK_STATE_', '').toLowerCase() })),
  },
  {
    name: 'lists have the states of 0.3',
    rule: 'data/states',
    spoil: onTasks((tasks) => every(tasks, ({ status }) => set(status, { state: 'completed' }))),
  },
  {
    name: 'events have the states of 0.3',
    rule: 'data/states',
    spoil: events((event) => {
      const { status } = bodyOf(event)
      if (status) status.state = 'working'
      return [event]
    }),
  },
  {
    name: 'roles have the names of 0.3',
    rule: 'data/roles',
    spoil: onTask('get', ({ history }) => every(history, (each) => set(each, { role: 'user' }))),
  },
  {
    name: 'messages have no id',
    rule: 'data/message-members',
    spoil: onTask('get', ({ history }) => every(history, (each) => void delete each.messageId)),
  },
  {
    name: 'artifacts have no id',
    rule: 'data/artifact-members',
    spoil: onTask('get', ({ artifacts }) => every(artifacts, (each) => void delete each.artifactId)),
  },
  {
    name: 'parts have a kind of 0.3 alone',
    rule: 'data/parts',
    spoil: onTask('get', ({ artifacts }) => every(artifacts, (each) => set(each, { parts: [{ kind: 'text' }] }))),
  },
  {
    name: 'timestamps have no zone',
    rule: 'data/timestamps',
    spoil: onTask('get', ({ status }) => set(status, { timestamp: status.timestamp.replace('Z', '') })),
  },
  {
    name: 'members have underscores',
    rule: 'data/camel-case',
    spoil: onTask('get', (task) => set(task, { context_id: task.contextId })),
  },
  { name: 'tasks have no context', rule: 'data/context-id', spoil: onTask('get', (task) => delete task.contextId) },
  {
    name: 'lists have no totalSize',
    rule: 'list/total-size',
    spoil: onAnswer('list', ({ json }) => delete json.result?.totalSize),
  },
  {
    name: 'totalSize is the length of the page',
    rule: 'list/total-size',
    spoil: onAnswer('list', ({ json }) => {
      if (json.result) json.result.totalSize = json.result.tasks.length
    }),
  },
  {
    name: 'an empty list has no tasks',
    rule: 'list/shape',
    spoil: onAnswer('list', ({ json }) => void (json.result?.tasks.length === 0 && delete json.result.tasks)),
  },
  { name: 'lists are sorted the other way', rule: 'list/order', spoil: onTasks((tasks) => void tasks.reverse()) },
  {
    name: 'lists always have artifacts',
    rule: 'list/no-artifacts',
    spoil: onTasks((tasks) => every(tasks, (each) => set(each, { artifacts: [] }))),
  },
  {
    name: 'a page size of 150 is accepted',
    rule: 'list/page-size',
    spoil: { request: ({ params }) => void (params?.pageSize === 150 && delete params.pageSize) },
  },
  {
    name: 'an ended task is canceled again',
    rule: 'cancel/terminal',
    spoil: succeed('cancel', (call) => !isUnknownTask(call)),
  },
  {
    name: 'the stream is plain JSON',
    rule: 'stream/opens',
    spoil: onAnswer('stream', ({ headers }, { params }) => {
      if (!/"wait"/.test(JSON.stringify(params))) headers.set('content-type', 'application/json')
    }),
  },
  {
    name: 'the first event is missing',
    rule: 'stream/first-event',
    spoil: events((event, index) => (index === 0 && event.result?.task ? [] : [event])),
  },
  { name: 'a chunk is lost', rule: 'stream/complete', spoil: events((event, index) => (index === 3 ? [] : [event])) },
  {
    name: 'events belong to another task',
    rule: 'stream/one-task',
    spoil: events((event, index) => {
      if (index > 0) bodyOf(event).taskId = 'another'
      return [event]
    }),
  },
  { name: 'events have another id', rule: 'stream/envelope', spoil: events((event) => [{ ...event, id: 'another' }]) },
  { name: 'deliveries have no token', rule: 'push/token', spoil: { webhook: ({ body }) => ({ headers: {}, body }) } },
  {
    name: 'deliveries are not JSON',
    rule: 'push/payload',
    spoil: { webhook: (delivery) => ({ ...delivery, body: 'changed' }) },
  },
  { name: 'webhooks are never called', rule: 'push/delivery', spoil: { webhook: () => undefined } },
  {
    name: 'REST errors have no status',
    rule: 'rest/error-status',
    binding: 'HTTP+JSON',
    spoil: onError(({ json }) => delete json.error.status),
  },
  {
    name: 'REST answers are plain text',
    rule: 'rest/json',
    binding: 'HTTP+JSON',
    spoil: onAnswer('send', ({ headers }) => headers.set('content-type', 'text/plain')),
  },
  {
    name: 'streams are refused',
    finding: 'streaming-refused',
    spoil: onAnswer('subscribe', refuse(-32004, 'No streams')),
  },
  {
    name: 'no method follows a task',
    finding: 'resubscribe-missing',
    spoil: onAnswer('subscribe', refuse(-32601, 'Method not found')),
  },
  { name: 'webhooks are refused', finding: 'push-refused', spoil: onAnswer('push-get', refuse(-32003, 'No webhooks')) },
  { name: 'there is no list', finding: 'list-refused', spoil: onAnswer('list', refuse(-32601, 'Method not found')) },
  {
    name: 'unknown tasks are unknown failures',
    finding: 'wrong-error',
    spoil: onAnswer('get', refuse(-32603, 'Something went wrong')),
  },
  {
    name: 'versions are ignored',
    finding: 'version-ignored',
    spoil: {
      request: ({ headers }) => void (headers.get('a2a-version') === '99.0' && headers.set('a2a-version', '1.0')),
    },
  },
]

export const spoilings: readonly Spoiling[] = [...spoiledCards, ...spoiledCalls]
