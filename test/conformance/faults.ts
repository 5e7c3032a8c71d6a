import {
  isInvented,
  isUnknownTask,
  onAnswer,
  onTask,
  onTasks,
  resultOf,
  succeed,
  taskIn,
  without,
  workingLike,
} from './fault-changes.ts'
import type { Call, Fault, Json } from './faulty-agent.ts'
import { pushFaults } from './push-faults.ts'
import { streamFaults } from './stream-faults.ts'

/** For every rule, a fault that breaks it. Some faults have a state, so every run needs new ones. */
export function createFaults(): Readonly<Record<string, Fault>> {
  return {
    ...cardFaults(),
    ...envelopeFaults(),
    ...sendFaults(),
    ...taskFaults(),
    ...dataFaults(),
    ...streamFaults(),
    ...pushFaults(),
    ...generationFaults(),
  }
}

function generationFaults(): Record<string, Fault> {
  const isLongPoll = ({ params }: Call) => params.currentGeneration !== undefined
  const onSend = (change: (configuration: Json) => void): Fault => ({
    request: ({ operation, params }) => {
      const { configuration } = params ?? {}
      if (operation === 'send' && configuration?.ifGenerationMatch) change(configuration)
    },
  })
  return {
    'generation/task': onTask('get', (task, call) => {
      if (!isLongPoll(call)) task.generation = 0
    }),
    'generation/stream': {
      event: (event, index, { operation, isRpc }) => {
        const [body] = Object.values<Json>(isRpc ? event.result : event)
        if (operation === 'stream' && index > 0) body.generation = '1'
        return [event]
      },
    },
    'generation/long-poll': onTask('get', (task, call) => {
      if (isLongPoll(call)) delete task.generation
    }),
    'generation/mismatch': onSend((configuration) => {
      if (configuration.ifGenerationMatch === '999999') delete configuration.ifGenerationMatch
    }),
    'generation/match': onSend((configuration) => {
      configuration.ifGenerationMatch = '999999'
    }),
  }
}

function cardFaults(): Record<string, Fault> {
  const card = (change: (card: Json) => void, more: Partial<Fault> = {}): Fault => ({
    ...more,
    answer: (answer, call) => call.operation === 'card' && answer.json && change(answer.json),
  })
  const cardHeaders = (change: (headers: Headers) => void): Fault => ({
    answer: ({ headers }, call) => void (call.operation === 'card' && change(headers)),
  })
  return {
    'card/content-type': cardHeaders((headers) => headers.set('content-type', 'text/plain')),
    'card/well-known': {
      path: '/card.json',
      request: ({ url }) => {
        if (url.pathname === '/card.json') url.pathname = '/.well-known/agent-card.json'
      },
    },
    'card/members': card((each) => delete each.name),
    'card/modes': card((each) => delete each.defaultOutputModes),
    'card/skills': card((each) => delete each.skills[0].name),
    'card/skill-ids': card((each) => each.skills.push(each.skills[0])),
    'card/interfaces': card((each) => {
      for (const one of each.supportedInterfaces ?? []) one.protocolVersion = `${one.protocolVersion}.0`
    }),
    'card/url': card(
      (each) => {
        each.url = '/'
      },
      { also: ['card/main-interface'] },
    ),
    'card/preferred-transport': card((each) => delete each.preferredTransport, { also: ['card/main-interface'] }),
    'card/transports': card((each) => each.additionalInterfaces?.push({ url: each.url, transport: 'http' })),
    'card/main-interface': card((each) => each.additionalInterfaces?.shift()),
    'card/capabilities': card((each) => {
      each.capabilities.extendedAgentCard = 'no'
    }),
    'card/signatures': card(
      (each) => {
        for (const signature of each.signatures ?? []) signature.protected = btoa('{"alg":"ES256"}')
      },
      { agent: 'plain' },
    ),
    'card/cache-control': cardHeaders((headers) => headers.delete('cache-control')),
    'card/etag': cardHeaders((headers) => headers.delete('etag')),
    'card/not-modified': { request: ({ headers }) => headers.delete('if-none-match') },
  }
}

function envelopeFaults(): Record<string, Fault> {
  const code = (from: number, to: number): Fault => ({
    answer: ({ json }) => {
      if (json?.error?.code === from) json.error.code = to
    },
  })
  return {
    'jsonrpc/envelope': onAnswer('send', ({ json }) => {
      json.jsonrpc = '1.0'
    }),
    'jsonrpc/content-type': onAnswer('get', ({ headers }) => headers.set('content-type', 'text/plain')),
    'jsonrpc/id-text': onAnswer('get', ({ json }) => {
      if (json.id === 'a text') json.id = 'another'
    }),
    'jsonrpc/id-number': onAnswer('get', ({ json }) => {
      if (json.id === 7) json.id = '7'
    }),
    'jsonrpc/parse-error': code(-32700, -32603),
    'jsonrpc/invalid-request': {
      answer: ({ json }, { body }) => {
        if (body?.jsonrpc && !body.method) json.error.code = -32603
      },
    },
    'jsonrpc/version': {
      request: ({ body }) => {
        if (body?.jsonrpc) body.jsonrpc = '2.0'
      },
    },
    'jsonrpc/unknown-method': code(-32601, -32603),
    'jsonrpc/params-type': onAnswer('get', ({ json }, { params }) => {
      if (params.id === 7) json.error.code = -32603
    }),
    'errors/message': onAnswer('get', ({ json }) => {
      if (json.error) json.error.message = ''
      if (json.message) json.message = ''
    }),
    'errors/details': {
      ...onAnswer('get', ({ json }) => {
        if (json.error?.data) json.error.data = { reason: 'unknown' }
      }),
      also: ['errors/info'],
    },
    'errors/info': onAnswer('get', ({ json }) => {
      for (const detail of json.error?.data ?? []) detail['@type'] = 'type.googleapis.com/google.rpc.Help'
    }),
    'grpc/content-type': onAnswer('send', ({ headers }) => headers.set('content-type', 'text/plain')),
    'grpc/status': {
      ...onAnswer('get', ({ trailers, status }) => void (status >= 400 && trailers?.delete('grpc-status'))),
      also: ['get/unknown', 'get/negative-history'],
    },
    'grpc/error-info': onAnswer('get', ({ json }) => {
      if (json.error?.details) json.error.details = []
    }),
    'rest/error-info': onAnswer('get', ({ json }) => {
      if (json.error?.details) json.error.details = []
    }),
    'rest/error-status': onAnswer('get', ({ json }) => {
      if (json.error?.status) json.error.status = 'MISSING'
    }),
    'rest/content-type': onAnswer('send', ({ headers }) => headers.set('content-type', 'application/json')),
    'rest/json': {
      ...onAnswer('send', ({ headers }) => headers.set('content-type', 'text/plain')),
      also: ['rest/content-type'],
    },
    'rest/parse-error': onAnswer('send', (answer, { body }) => {
      if (body === undefined) answer.status = 500
    }),
    'rest/unknown-path': {
      answer: (answer, { operation, isRpc }) => {
        if (!isRpc && operation === undefined) answer.status = 500
      },
    },
    'extended-card/unsupported': succeed('extended-card'),
    'extended-card/fetched': {
      agent: 'plain',
      ...onAnswer('extended-card', (answer, { isRpc }) => {
        answer.json = isRpc ? { jsonrpc: '2.0', id: answer.json.id, result: {} } : {}
      }),
    },
    'extensions/unknown': onAnswer('send', (answer, { headers, isRpc }) => {
      if (!/unknown-extension/.test(`${headers.get('a2a-extensions')}${headers.get('x-a2a-extensions')}`)) return
      answer.status = isRpc ? 200 : 400
      answer.json = { jsonrpc: '2.0', id: answer.json?.id ?? null, error: { code: -32603, message: 'Unknown' } }
    }),
    'extensions/required': {
      agent: 'plain',
      request: ({ headers }) => headers.set('a2a-extensions', requiredExtension),
    },
    'version/unsupported': version('9.9', '1.0'),
    'version/patch': version('1.0.1', '9.9'),
    'version/absent': {
      answer: (answer, { headers, operation }) => {
        if (operation !== 'get' || headers.has('a2a-version')) return
        answer.status = 200
        answer.json = { jsonrpc: '2.0', id: answer.json?.id ?? null, result: {} }
      },
    },
    'auth/other-get': asOwner('get'),
    'auth/other-cancel': asOwner('cancel'),
    'auth/other-list': asOwner('list'),
    'auth/refused': {
      agent: 'plain',
      request: ({ headers }) => {
        if (!headers.has('x-api-key')) headers.set('x-api-key', plainKey)
      },
    },
    'auth/invalid': {
      agent: 'plain',
      request: ({ headers }) => {
        if (headers.get('x-api-key')?.includes('wrong')) headers.set('x-api-key', plainKey)
      },
    },
    'auth/challenge': { agent: 'plain', answer: ({ headers }) => headers.delete('www-authenticate') },
  }
}

/** Reads the credentials of the second caller as those of the first. */
function asOwner(operation: Call['operation']): Fault {
  return {
    agent: 'plain',
    request: (call) => {
      if (call.operation === operation && call.headers.get('x-api-key') === otherKey)
        call.headers.set('x-api-key', plainKey)
    },
  }
}

/** The extension that the agent without streams requires. */
export const requiredExtension = 'https://example.com/required/v1'

/** Whether a 1.0 request names no version. */
function isWithoutVersion({ headers, body }: Call): boolean {
  return !headers.has('a2a-version') && !/\//.test(body?.method ?? '')
}

/** The credentials of the agent without streams. */
export const plainKey = 'conformance-key-of-the-plain-agent'
export const otherKey = 'conformance-key-of-a-second-caller'

function version(from: string, to: string): Fault {
  return {
    request: ({ headers }) => {
      if (headers.get('a2a-version') === from) headers.set('a2a-version', to)
    },
  }
}

function sendFaults(): Record<string, Fault> {
  const messageOf = ({ params }: Call): Json => params.message ?? {}
  const idsOf = (call: Call) => messageOf(call)
  const repeated = new Map<string, Json>()
  return {
    'send/answer': onAnswer('send', (answer, { isRpc }) => {
      if (isRpc && answer.json.result) answer.json.result = {}
      if (!isRpc && answer.status === 200) answer.json = {}
    }),
    'send/task-id': onTask('send', (task, call) => {
      const { taskId, contextId, parts, content } = messageOf(call)
      const key = `${call.isRpc} ${JSON.stringify(parts ?? content)} ${JSON.stringify(call.params.configuration)}`
      if (taskId || contextId || !/"count"/.test(key)) return
      const first = repeated.get(key) ?? repeated.set(key, { ...task }).get(key)
      Object.assign(task, first)
    }),
    'send/task-id-kept': {
      ...onTask('send', (task) => {
        task.id = `${task.id}-other`
      }),
      also: ['get/current', 'get/history-limit', 'cancel/terminal', ...dataRules, 'push/create'],
    },
    'send/context-id': onTask('send', (task, call) => {
      if (!idsOf(call).contextId) delete task.contextId
    }),
    'send/context-kept': onTask('send', (task, call) => {
      if (idsOf(call).taskId) return
      if (idsOf(call).contextId) task.contextId = 'another'
      if (call.params.sessionId) task.sessionId = 'another'
    }),
    'send/blocking': onTask('send', (task) => {
      if (/completed/i.test(task.status.state)) task.status.state = workingLike(task.status.state)
    }),
    'send/latest-state': onTask('send', (task) => {
      for (const { parts } of task.artifacts ?? []) for (const part of parts) part.text = part.text?.slice(0, 1)
    }),
    'send/return-immediately': onTask('send', (task) => {
      const { state } = task.status
      if (!/completed|required/i.test(state))
        task.status.state = /^TASK/.test(state) ? 'TASK_STATE_COMPLETED' : 'completed'
    }),
    'send/terminal-task': succeed(
      'send',
      (call) => idsOf(call).taskId && !isInvented(idsOf(call).taskId) && !idsOf(call).contextId,
    ),
    'send/unknown-task': succeed('send', (call) => isInvented(idsOf(call).taskId)),
    'send/content-type': succeed('send', (call) => messageOf(call).parts?.[0]?.mediaType),
    'send/no-parts': succeed('send', (call) => call.params.message && !messageOf(call).parts?.length),
    'send/no-message': succeed('send', ({ params, body }) => body && !params.message),
    'send/no-message-id': succeed('send', (call) => call.params.message && !messageOf(call).messageId),
    'send/context-inferred': onTask('send', (task, call) => {
      if (idsOf(call).taskId) task.contextId = 'another'
    }),
    'send/context-mismatch': succeed('send', (call) => idsOf(call).taskId && idsOf(call).contextId),
    'send/question': onTask('send', ({ status }) => {
      delete status.message
      delete status.update
    }),
    'send/history-limit': {
      request: (call) => {
        if (call.operation === 'send') delete call.params.configuration?.historyLength
      },
    },
    'send/output-in-artifacts': {
      also: ['stream/complete'],
      answer: (answer, call) => {
        if (call.operation !== 'send' && call.operation !== 'get') return
        const task = taskIn(resultOf(answer, call))
        if (task) delete task.artifacts
      },
    },
    'send/unknown-members': onAnswer('send', (answer, { params, isRpc }) => {
      if (!params.xConformance) return
      answer.status = isRpc ? 200 : 400
      answer.json = { jsonrpc: '2.0', id: answer.json?.id ?? null, error: { code: -32602, message: 'Unknown member' } }
    }),
  }
}

const dataRules = ['data/roles', 'data/message-members', 'data/artifact-members', 'data/parts']

function taskFaults(): Record<string, Fault> {
  return {
    'get/current': onTask('get', (task) => {
      task.id = 'another'
    }),
    'get/unknown': succeed(
      'get',
      (call) => isUnknownTask(call) && call.body?.jsonrpc !== '1.0' && !isWithoutVersion(call),
    ),
    'get/history-limit': onTask('get', (task, { params }) => {
      if (`${params.historyLength}` === '1') task.history = [{}, {}]
    }),
    'get/no-history': without('get', 'historyLength', (value) => `${value}` === '0'),
    'get/negative-history': without('get', 'historyLength', (value) => `${value}` === '-1'),
    'list/shape': onAnswer('list', (answer, call) => {
      const result = resultOf(answer, call)
      if (result?.tasks?.length === 0) delete result.nextPageToken
    }),
    'list/total-size': onAnswer('list', (answer, call) => {
      const result = resultOf(answer, call)
      if (result) delete result.totalSize
    }),
    'list/context': onTasks((tasks, { params }) => {
      if (params.pageSize || params.status || tasks.length === 0) return
      tasks.push({ ...tasks.at(-1), id: 'foreign', contextId: 'foreign' })
    }),
    'list/state': without('list', 'status'),
    'list/pages': without('list', 'pageToken', (value) => value !== 'conformance'),
    'list/order': onTasks((tasks) => {
      const last = tasks.length > 1 ? tasks.at(-1) : undefined
      if (last) last.status.timestamp = new Date(Date.parse(last.status.timestamp) + 3_600_000).toISOString()
    }),
    'list/no-artifacts': onTasks((tasks, { params }) => {
      const artifacts = [{ artifactId: 'a', parts: [{ text: 'a' }] }]
      if (!params.includeArtifacts) for (const task of tasks) task.artifacts = artifacts
    }),
    'list/artifacts': without('list', 'includeArtifacts'),
    'list/page-size': without('list', 'pageSize', (value) => `${value}` === '150'),
    'list/page-token': without('list', 'pageToken', (value) => value === 'conformance'),
    'cancel/running': onTask('cancel', (task) => {
      task.id = 'another'
    }),
    'cancel/terminal': succeed('cancel', (call) => !isUnknownTask(call)),
    'cancel/unknown': succeed('cancel', isUnknownTask),
  }
}

function dataFaults(): Record<string, Fault> {
  const statusMessage = ({ status }: Json) => status.message ?? status.update ?? {}
  return {
    'data/states': {
      ...onTask('get', ({ status }) => {
        status.state = 'DONE'
      }),
      also: ['get/current'],
    },
    'data/roles': onTask('get', (task) => {
      statusMessage(task).role = 'robot'
    }),
    'data/message-members': onTask('get', (task) => {
      delete statusMessage(task).content
      statusMessage(task).parts = []
    }),
    'data/artifact-members': {
      ...onTask('get', (task) => {
        for (const artifact of task.artifacts ?? []) artifact.parts = []
      }),
      also: ['send/latest-state', 'stream/complete'],
    },
    'data/parts': {
      ...onTask('get', (task) => {
        for (const artifact of task.artifacts ?? []) artifact.parts = [{ kind: 'song', type: 'song', song: 'la' }]
      }),
      also: ['send/latest-state', 'stream/complete'],
    },
    'data/timestamps': {
      ...onTask('get', ({ status }) => {
        status.timestamp = 'yesterday'
      }),
      also: ['data/milliseconds'],
    },
    'data/milliseconds': onTask('get', ({ status }) => {
      status.timestamp = status.timestamp.replace(/\.\d+Z$/, 'Z')
    }),
    'data/camel-case': onTask('get', (task) => {
      task.context_id = task.contextId
    }),
    'data/kinds': onTask('get', (task) => delete task.kind),
    'data/context-id': onTask('get', (task) => delete task.contextId),
    'data/history-order': onTask('get', (task) => task.history?.reverse()),
  }
}
