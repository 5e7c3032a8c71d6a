import type { WireExchange } from 'parley-a2a/operator'
import { quoted } from '../../components/quoted.ts'

const redacted = '[redacted]'

/** The request for curl. A header that was redacted comes from a variable. */
export function curlOf({ method, url, request }: WireExchange): string {
  const headers = Object.entries(request.headers).map(([name, value]) =>
    value === redacted ? `-H "${name}: $${variableOf(name)}"` : `-H ${quoted(`${name}: ${value}`)}`,
  )
  const body = request.body === '' ? [] : [`--data-raw ${quoted(request.body)}`]
  return [`curl -sN -X ${method} ${quoted(url)}`, ...headers, ...body].join(' \\\n  ')
}

function variableOf(header: string): string {
  return header.toUpperCase().replaceAll(/\W/g, '_')
}

interface Sent {
  readonly operation: string
  readonly text?: string | undefined
  readonly taskId?: string | undefined
}

/** The command that sends the same. Undefined for operations without one. */
export function parleyOf(exchange: WireExchange, address: string): string | undefined {
  const { operation, text, taskId } = sentBy(exchange)
  const agent = `-a ${quoted(address)}`
  const task = quoted(taskId ?? '')
  switch (operation) {
    case 'card':
      return `npx parley-a2a card get ${agent}`
    case 'send':
    case 'stream': {
      const stream = operation === 'stream' ? ' --stream' : ''
      const existing = taskId === undefined ? '' : ` --task-id ${task}`
      return text === undefined ? undefined : `npx parley-a2a send ${agent}${stream}${existing} ${quoted(text)}`
    }
    case 'get':
      return `npx parley-a2a task get ${task} ${agent}`
    case 'cancel':
      return `npx parley-a2a task cancel ${task} ${agent}`
    case 'subscribe':
      return `npx parley-a2a task subscribe ${task} ${agent}`
    case 'list':
      return `npx parley-a2a task list ${agent}`
    default:
      return undefined
  }
}

/** The call of the client, or of `fetch` for operations that the client does not have alone. */
export function typescriptOf(exchange: WireExchange, address: string): string {
  const { operation, text, taskId } = sentBy(exchange)
  const task = `agent.task(${JSON.stringify(taskId ?? '')})`
  const calls: Readonly<Record<string, string | undefined>> = {
    send:
      text === undefined || taskId !== undefined
        ? undefined
        : `console.log((await agent.send(${JSON.stringify(text)})).text)`,
    stream:
      text === undefined || taskId !== undefined
        ? undefined
        : `for await (const event of agent.stream(${JSON.stringify(text)})) console.log(event)`,
    get: `console.log(await ${task}.get())`,
    cancel: `console.log(await ${task}.cancel())`,
    card: 'console.log(agent.card)',
  }
  const call = calls[operation]
  if (call === undefined) return fetchOf(exchange)
  return [
    "import { connect } from 'parley-a2a/client'",
    '',
    `const agent = await connect(${JSON.stringify(address)})`,
    call,
  ].join('\n')
}

function fetchOf({ method, url, request }: WireExchange): string {
  const headers = Object.entries(request.headers).map(([name, value]) => {
    const text = value === redacted ? `process.env.${variableOf(name)} ?? ''` : JSON.stringify(value)
    return `    ${JSON.stringify(name)}: ${text},`
  })
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: ${JSON.stringify(method)},`,
    ...(headers.length > 0 ? ['  headers: {', ...headers, '  },'] : []),
    ...(request.body === '' ? [] : [`  body: ${JSON.stringify(request.body)},`]),
    '})',
    'console.log(response.status, await response.text())',
  ].join('\n')
}

const operations: readonly (readonly [RegExp, string])[] = [
  [/^Agent card$/, 'card'],
  [/^(SendStreamingMessage|message\/stream|tasks\/sendSubscribe)$|message:stream$/, 'stream'],
  [/^(SendMessage|message\/send|tasks\/send)$|message:send$/, 'send'],
  [/^(ListTasks|tasks\/list)$|^GET .*\/tasks$/, 'list'],
  [/^(CancelTask|tasks\/cancel)$|:cancel$/, 'cancel'],
  [/^(SubscribeToTask|tasks\/resubscribe)$|:subscribe$/, 'subscribe'],
  [/^(GetTask|tasks\/get)$|^GET .*\/tasks\/[^/]+$/, 'get'],
]

/** What the request does, as far as its body or its path says it. */
function sentBy({ operation = '', url, request }: WireExchange): Sent {
  const name = operations.find(([pattern]) => pattern.test(operation))?.[1] ?? ''
  const body = readJson(request.body)
  const params = objectOf(objectOf(body).params ?? body)
  const message = objectOf(params.message)
  const parts = Array.isArray(message.parts) ? message.parts.map(objectOf) : []
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
  const [, inPath] = /\/tasks\/([^/:?]+)/.exec(url) ?? []
  const id = message.taskId ?? params.id ?? params.taskId ?? (inPath && decodeURIComponent(inPath))
  return {
    operation: name,
    text: texts.length === parts.length && texts.length > 0 ? texts.join('\n') : undefined,
    taskId: typeof id === 'string' && id !== '' ? id : undefined,
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
