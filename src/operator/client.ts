import { createParser } from 'eventsource-parser'
import { defined, type JsonObject } from '../core/base/json.ts'
import { aFunction, checkOptions, httpUrl, recordOf, text } from '../core/base/options.ts'
import { networkFailureOf, networkFailureTexts } from '../core/http/network-failure.ts'
import { keyHeader, keyScheme } from './access.ts'
import type {
  AgentCards,
  AgentList,
  Answer,
  CallTree,
  CancelResults,
  CancelTasks,
  ErrorBody,
  EventPage,
  EventQuery,
  EventRow,
  Inbox,
  InboxChange,
  InboxQuery,
  Login,
  LoginScheme,
  Rerun,
  SeenAs,
  SeenAsDialect,
  Session,
  TaskChange,
  TaskDetail,
  TaskKey,
  TaskLogLines,
  TaskQuery,
  TaskRows,
  TaskTrace,
} from './contract.ts'
import { operatorApiVersion } from './contract.ts'
import type {
  CheckProgress,
  ComposeRequest,
  ConnectAnswer,
  ConnectRequest,
  DeliveryRows,
  GatewayState,
  MeshState,
  Overview,
  OverviewWindow,
  ReceivedDelivery,
  RecentAgents,
  RegistryRow,
  RegistryRows,
  UsageReport,
  WebhookChanged,
  WebhookKey,
  WebhookReceiver,
  WebhookRows,
  WireExchange,
  WireExchangeRow,
  WireFrame,
  WireLogQuery,
  WireLogRows,
  WireRequest,
} from './contract-tools.ts'

/** Options of `createOperatorClient`. */
export interface OperatorClientOptions {
  /** Address of the console, such as `http://localhost:4000/console`. */
  readonly url: string
  /** Credentials for callers without a session, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /**
   * The file with the key of a server on this machine. It is read on Node, if `url` is a loopback address and the server
   * asks for its key. Defaults to `operator-key` in the folder of `PARLEY_DIRECTORY`, or in `.parley`.
   */
  readonly keyFile?: string
}

/** Reads the key of a server on this machine. Undefined if there is none. */
export type ReadKey = () => string | undefined

/** An answer of the operator API that is not a success, or a request without an answer, whose status is 0. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  readonly code: string
  readonly status: number
  /** For `unauthenticated`: how to log in. */
  readonly schemes: readonly LoginScheme[]

  constructor(status: number, { code, message, schemes = [] }: ErrorBody['error'], options?: ErrorOptions) {
    super(message, options)
    this.status = status
    this.code = code
    this.schemes = schemes
  }
}

/** Calls the operator API of a server: one method per operation. */
export interface OperatorClient extends ReturnType<typeof createOperations> {}

/**
 * Creates a client of the operator API.
 *
 * @example
 * const operator = createOperatorClient({ url: 'http://localhost:4000/console' })
 * const { tasks } = await operator.tasks({ state: 'failed' })
 */
export function createOperatorClient(options: OperatorClientOptions): OperatorClient {
  return createKeyedClient(options, () => undefined)
}

/** Creates a client that sends the key of the server when the server asks for it. */
export function createKeyedClient(options: OperatorClientOptions, readKey: ReadKey): OperatorClient {
  const checks = { url: httpUrl, headers: recordOf(text), fetch: aFunction, keyFile: text }
  checkOptions('createOperatorClient', options, checks, ['url'])
  return createOperations(options, readKey)
}

/** An event of a stream, and the position after it. */
export interface StreamItem<T> {
  readonly id: string | undefined
  readonly value: T
}

/** The error for a request without an answer: why there was none, as `connect` says it, and what to do. */
function unreachable(url: string, cause: unknown): OperatorError {
  const problem = `${url} cannot be reached: ${networkFailureTexts[networkFailureOf(cause)]}.`
  const message = `${problem} Check the address, and that the server runs.`
  return new OperatorError(0, { code: 'unavailable', message }, { cause })
}

function createOperations({ url, headers = {}, fetch = globalThis.fetch }: OperatorClientOptions, readKey: ReadKey) {
  const base = `${url.replace(/\/+$/, '')}/api/${operatorApiVersion}`

  let keyHeaders: Readonly<Record<string, string>> = {}

  async function request(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    const response = await send(method, path, options)
    if (response.ok) return response
    const error = await errorOf(response)
    // Only a server that asks for its own key gets it. Others would count it as a guess.
    const asksForKey = error.status === 401 && error.schemes.some(({ name }) => name === keyScheme)
    const key = asksForKey && !(keyHeader in keyHeaders) ? readKey() : undefined
    if (key === undefined) throw error
    keyHeaders = { [keyHeader]: key }
    return await request(method, path, options)
  }

  async function send(method: string, path: string, { body, query, signal, last }: CallOptions): Promise<Response> {
    const init: RequestInit = defined({
      method,
      headers: {
        ...keyHeaders,
        ...headers,
        // A web page of another origin cannot send this header without a preflight request, which the server refuses.
        'x-parley-console': '1',
        ...defined({ 'content-type': body === undefined ? undefined : 'application/json', 'last-event-id': last }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    })
    return await fetch(`${base}${path}${queryOf(query)}`, init).catch((error) => {
      throw signal?.aborted ? error : unreachable(base, error)
    })
  }

  async function call<T>(method: string, path: string, options?: CallOptions): Promise<T> {
    const response = await request(method, path, options)
    return (response.status === 204 ? undefined : await response.json()) as T
  }

  /** Events of a stream until it ends. It is not reopened: the caller knows from where to continue. */
  async function* stream<T>(method: string, path: string, options: CallOptions): AsyncGenerator<StreamItem<T>> {
    const response = await request(method, path, options)
    if (response.body) yield* readItems<T>(response.body)
  }

  const taskPath = ({ agent, taskId }: TaskKey) => `/tasks/${segment(agent)}/${segment(taskId)}`
  const webhookPath = (key: WebhookKey) => `/webhooks/${segment(key.agent)}/${segment(key.taskId)}/${segment(key.id)}`

  return {
    session: () => call<Session>('GET', '/session'),
    login: (login: Login) => call<Session>('POST', '/session', { body: login }),
    logout: () => call<void>('DELETE', '/session'),

    agents: () => call<AgentList>('GET', '/agents'),
    cards: (agent: string) => call<AgentCards>('GET', `/agents/${segment(agent)}/cards`),
    doctor: (agent: string, signal?: AbortSignal) =>
      stream<CheckProgress>('POST', `/agents/${segment(agent)}/doctor`, { signal, body: {} }),
    conformance: (agent: string, signal?: AbortSignal) =>
      stream<CheckProgress>('POST', `/agents/${segment(agent)}/conformance`, { signal, body: {} }),

    tasks: (query: TaskQuery = {}) => call<TaskRows>('GET', '/tasks', { query }),
    taskChanges: (query: TaskQuery, signal?: AbortSignal, last?: string) =>
      stream<TaskChange>('GET', '/tasks/changes', { query, signal, last }),
    cancelTasks: (body: CancelTasks) => call<CancelResults>('POST', '/tasks/cancel', { body }),
    task: (key: TaskKey) => call<TaskDetail>('GET', taskPath(key)),
    events: (key: TaskKey, query: EventQuery = {}) => call<EventPage>('GET', `${taskPath(key)}/events`, { query }),
    event: (key: TaskKey, generation: number) => call<EventRow>('GET', `${taskPath(key)}/events/${generation}`),
    /** New events of a task, after a generation. */
    eventChanges: (key: TaskKey, after: number, signal?: AbortSignal) =>
      stream<EventRow>('GET', `${taskPath(key)}/events/changes`, { query: { after }, signal }),
    seenAs: (key: TaskKey, dialect: SeenAsDialect) => call<SeenAs>('GET', `${taskPath(key)}/as/${dialect}`),
    calls: (key: TaskKey) => call<CallTree>('GET', `${taskPath(key)}/calls`),
    trace: (key: TaskKey) => call<TaskTrace>('GET', `${taskPath(key)}/trace`),
    log: (key: TaskKey) => call<TaskLogLines>('GET', `${taskPath(key)}/log`),
    rerun: (key: TaskKey, body: Rerun = {}) => call<TaskKey>('POST', `${taskPath(key)}/rerun`, { body }),
    answer: (key: TaskKey, body: Answer) => call<TaskDetail>('POST', `${taskPath(key)}/answer`, { body }),
    inbox: (query: InboxQuery = {}) => call<Inbox>('GET', '/inbox', { query }),
    /** How many tasks wait for a person, whenever that changes. */
    inboxChanges: (signal?: AbortSignal) => stream<InboxChange>('GET', '/inbox/changes', { signal }),

    usage: (days?: number) => call<UsageReport>('GET', '/usage', { query: { days } }),
    overview: (window: OverviewWindow) => call<Overview>('GET', '/overview', { query: { window } }),

    composeWire: (body: ComposeRequest) => call<WireRequest>('POST', '/wire/compose', { body }),
    sendWire: (body: WireRequest, signal?: AbortSignal) => stream<WireFrame>('POST', '/wire/send', { body, signal }),
    wireLog: (query: WireLogQuery = {}) => call<WireLogRows>('GET', '/wire/log', { query }),
    wireLogChanges: (query: Pick<WireLogQuery, 'agent'>, signal?: AbortSignal, last?: string) =>
      stream<WireExchangeRow>('GET', '/wire/log/changes', { query, signal, last }),
    wireExchange: (id: number) => call<WireExchange>('GET', `/wire/log/${id}`),
    /** The exchanges as an HTTP Archive 1.2. */
    wireHar: (query: WireLogQuery = {}) => call<JsonObject>('GET', '/wire/har', { query }),

    connections: () => call<RecentAgents>('GET', '/connections'),
    connect: (body: ConnectRequest) => call<ConnectAnswer>('POST', '/connections', { body }),
    disconnect: (agent: string) => call<void>('DELETE', `/connections/${segment(agent)}`),

    webhooks: (query: Partial<WebhookKey> & { readonly cursor?: string } = {}) =>
      call<WebhookRows>('GET', '/webhooks', { query }),
    deliveries: (key: WebhookKey) => call<DeliveryRows>('GET', `${webhookPath(key)}/deliveries`),
    pauseWebhook: (key: WebhookKey) => call<WebhookChanged>('POST', `${webhookPath(key)}/pause`),
    resumeWebhook: (key: WebhookKey) => call<WebhookChanged>('POST', `${webhookPath(key)}/resume`),
    redeliver: (key: WebhookKey, generation?: number) =>
      call<WebhookChanged>('POST', `${webhookPath(key)}/redeliver`, { body: { generation } }),
    createReceiver: () => call<WebhookReceiver>('POST', '/receivers'),
    receivedDeliveries: (id: string, signal?: AbortSignal) =>
      stream<ReceivedDelivery>('GET', `/receivers/${segment(id)}/deliveries`, { signal }),

    registryAgents: (query: { readonly search?: string; readonly cursor?: string } = {}) =>
      call<RegistryRows>('GET', '/registry/agents', { query }),
    addToRegistry: (url: string) => call<RegistryRow>('POST', '/registry/agents', { body: { url } }),
    probe: (id: string) => call<RegistryRow>('POST', `/registry/agents/${segment(id)}/probe`),
    mesh: () => call<MeshState>('GET', '/mesh'),
    gateway: () => call<GatewayState>('GET', '/gateway'),
  }
}

interface CallOptions {
  readonly body?: unknown
  readonly query?: object | undefined
  readonly signal?: AbortSignal | undefined
  readonly last?: string | undefined
}

const segment = encodeURIComponent

function queryOf(query: object = {}): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return set.length === 0 ? '' : `?${new URLSearchParams(set.map(([name, value]) => [name, `${value}`]))}`
}

async function errorOf(response: Response): Promise<OperatorError> {
  const { status } = response
  try {
    const { error } = (await response.json()) as ErrorBody
    return new OperatorError(status, error)
  } catch (cause) {
    const message = `The server answered with HTTP ${status} and no reason: is this the address of a console?`
    return new OperatorError(status, { code: 'unreadable', message }, { cause })
  }
}

async function* readItems<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamItem<T>> {
  let items: StreamItem<T>[] = []
  const parser = createParser({
    onEvent: ({ id, data }) => {
      items.push({ id, value: JSON.parse(data) as T })
    },
  })
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      parser.feed(value)
      yield* items
      items = []
    }
  } finally {
    // Canceling a broken stream rejects.
    reader.cancel().catch(() => {})
  }
}
