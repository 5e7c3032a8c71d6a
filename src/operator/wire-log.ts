import { BoundedMap } from '../core/base/bounded-map.ts'
import { defined, isObject, type JsonObject } from '../core/base/json.ts'
import { hideQuery, secretHeaders } from '../core/base/secret-names.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { credentialsType } from '../core/protocol/extensions/in-task-credentials.ts'
import type { WireExchange, WireExchangeRow, WireLogQuery, WireSource } from './contract-tools.ts'

/** Exchanges that are kept. The oldest ones make room for new ones. */
const maxExchanges = 500

/** Characters of all exchanges together. */
const maxCharacters = 16 * 2 ** 20

/** Characters of a request, and of an answer with its events. */
const maxBody = 256 * 1024

/** Events of an answer. */
const maxEvents = 2_000

const redacted = '[redacted]'

/** The agent of an exchange. Its id may be assigned later than its first request is sent. */
export interface WireAgent {
  readonly id: () => string
  /** Removes the secrets that the console knows. */
  readonly redact?: ((text: string) => string) | undefined
}

export interface SentRequest {
  readonly agent: WireAgent
  readonly source: WireSource
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An exchange that is going on. */
export interface OpenExchange {
  /** For requests whose body is read later than it begins. */
  body(text: string): void
  answer(status: number, headers: Readonly<Record<string, string>>): void
  /** A piece of the answer, as it arrives. */
  chunk(text: string): void
  /** Ends the exchange, once. */
  end(error?: string): void
}

/** The last requests that this process sent to agents, and what came back. Without credentials, in memory only. */
export interface WireLog {
  begin(request: SentRequest): OpenExchange
  /** A `fetch` whose requests and answers are kept. */
  record(fetch: Fetch, agent: WireAgent, source: WireSource): Fetch
  /** Newest first. */
  rows(query?: WireLogQuery): readonly WireExchangeRow[]
  /** All that is kept of one exchange. */
  exchange(id: number): WireExchange | undefined
  /** Exchanges that match a query, oldest first. */
  exchanges(query?: WireLogQuery): readonly WireExchange[]
  /** How many older exchanges were dropped. */
  dropped(): number
  /** Marks a task whose next message is the answer to a sensitive question: it is not kept. */
  expectSecret(taskId: string): void
  /** Rows that changed after a position, oldest first, and the position after them. Waits until there are some. */
  changes(
    after: number,
    signal: AbortSignal,
  ): Promise<{ readonly rows: readonly WireExchangeRow[]; readonly at: number }>
  /** The position of the last change. */
  position(): number
}

interface Entry {
  exchange: WireExchange
  agent: WireAgent
  /** The position of its last change. */
  change: number
  /** Text of an event that is not complete yet. */
  rest: string
}

export function createWireLog(now: () => number = Date.now): WireLog {
  const entries = new Map<number, Entry>()
  const secretTasks = new BoundedMap<string, true>(1_000)
  let [lastId, dropped, characters, position] = [0, 0, 0, 0]
  let changed = Promise.withResolvers<void>()

  function touch(entry: Entry): void {
    entry.change = ++position
    changed.resolve()
    changed = Promise.withResolvers()
  }

  function count(length: number): void {
    characters += length
    for (const [id, { exchange }] of entries) {
      if (entries.size <= maxExchanges && characters <= maxCharacters) return
      // What goes on is kept, so that its end is seen.
      if (exchange.isOpen && entries.size <= 2 * maxExchanges) continue
      entries.delete(id)
      characters -= lengthOf(exchange)
      dropped++
    }
  }

  function update(entry: Entry, changes: Partial<WireExchange>): void {
    const before = lengthOf(entry.exchange)
    entry.exchange = { ...entry.exchange, ...changes }
    touch(entry)
    if (entries.has(entry.exchange.id)) count(lengthOf(entry.exchange) - before)
  }

  /** Notes the tasks of questions whose answers are secrets. */
  function noteQuestions(text: string): void {
    if (!/"sensitive"\s*:\s*true/.test(text)) return
    for (const [, id = ''] of text.matchAll(/"(?:taskId|task_id|id)"\s*:\s*"([^"]{1,200})"/g)) secretTasks.set(id, true)
  }

  function hideSecrets(text: string, { redact }: WireAgent): string {
    const known = redact?.(text) ?? text
    return known.replace(secretMembers, `$1"${redacted}"`)
  }

  function requestOf(text: string, agent: WireAgent): WireExchange['request']['body'] {
    const [, taskId = ''] = /"(?:taskId|task_id)"\s*:\s*"([^"]{1,200})"/.exec(text) ?? []
    if (secretTasks.has(taskId)) return `${redacted}: the answer to a sensitive question of the task ${taskId}`
    if (text.includes(credentialsType)) return `${redacted}: credentials for the task ${taskId}`
    return hideSecrets(text, agent)
  }

  function headersOf(headers: Readonly<Record<string, string>>, agent: WireAgent): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        secretHeaders.test(name) ? redacted : (agent.redact?.(value) ?? value),
      ]),
    )
  }

  function begin({ agent, source, method, url, headers, body }: SentRequest): OpenExchange {
    const at = now()
    const address = hideQuery(agent.redact?.(url) ?? url)
    const entry: Entry = {
      agent,
      change: 0,
      rest: '',
      exchange: {
        id: ++lastId,
        agent: '',
        source,
        at,
        method,
        url: address,
        isOpen: true,
        sent: 0,
        received: 0,
        events: [],
        request: { headers: headersOf(headers, agent), body: '' },
        ...versionOf(headers),
      },
    }
    entries.set(lastId, entry)
    let received = 0
    let kept = 0
    const setBody = (text: string) => {
      const shown = requestOf(text, agent)
      const { request } = entry.exchange
      update(entry, {
        sent: byteLength(text),
        request: defined({
          headers: request.headers,
          body: shown.slice(0, maxBody),
          isShortened: shown.length > maxBody ? (true as const) : undefined,
        }),
        ...describe(address, method, headers, text),
      })
    }
    setBody(body)

    function keep(text: string): string {
      const room = Math.max(0, maxBody - kept)
      kept += text.length
      return text.slice(0, room)
    }

    return {
      body: setBody,
      answer(status, answerHeaders) {
        const answer = { status, headers: headersOf(answerHeaders, agent), body: '', firstByte: now() - at }
        update(entry, { status, answer })
      },
      chunk(text) {
        noteQuestions(text)
        received += byteLength(text)
        const { answer, events } = entry.exchange
        if (!answer) return
        const isStream = /event-stream/.test(answer.headers['content-type'] ?? '')
        const shown = hideSecrets(isStream ? entry.rest + text : text, agent)
        const isShortened = kept + shown.length > maxBody ? { isShortened: true as const } : {}
        if (!isStream) {
          update(entry, { received, answer: { ...answer, ...isShortened, body: answer.body + keep(shown) } })
          return
        }
        // Events end with a blank line, and chunks can end anywhere.
        const pieces = shown.split(/\r?\n\r?\n/)
        entry.rest = (pieces.pop() ?? '').slice(-maxBody)
        const complete = pieces.filter((piece) => piece.trim() !== '' && !/^:/.test(piece))
        const isFull = events.length + complete.length > maxEvents
        const added = complete
          .slice(0, maxEvents - events.length)
          .map((piece) => ({ at: now() - at, text: keep(piece) }))
        update(entry, {
          received,
          answer: { ...answer, ...isShortened, ...(isFull && { isShortened: true as const }) },
          events: [...events, ...added],
        })
      },
      end(error) {
        if (!entry.exchange.isOpen) return
        const { answer, events } = entry.exchange
        const last = entry.rest.trim() === '' ? [] : [{ at: now() - at, text: keep(entry.rest) }]
        const text = error === undefined ? undefined : (agent.redact?.(error) ?? error)
        update(
          entry,
          defined({ isOpen: false, duration: now() - at, error: text, answer, events: [...events, ...last] }),
        )
        entry.rest = ''
      },
    }
  }

  function record(fetch: Fetch, agent: WireAgent, source: WireSource): Fetch {
    return async (url, init) => {
      const { method = 'GET', body } = init
      const headers = Object.fromEntries(new Headers(init.headers))
      const open = begin({ agent, source, method, url, headers, body: bodyText(body) })
      try {
        const response = await fetch(url, init)
        open.answer(response.status, Object.fromEntries(response.headers))
        return recordBody(response, open)
      } catch (error) {
        open.end(failureText(error))
        throw error
      }
    }
  }

  const named = ({ exchange, agent }: Entry): WireExchange => ({ ...exchange, agent: agent.id() })

  function exchanges({ agent = '', search = '', source }: WireLogQuery = {}): readonly WireExchange[] {
    const wanted = search.toLowerCase()
    return [...entries.values()].map(named).filter((exchange) => {
      if (agent !== '' && exchange.agent !== agent) return false
      if (source !== undefined && exchange.source !== source) return false
      return wanted === '' || textsOf(exchange).some((text) => text.toLowerCase().includes(wanted))
    })
  }

  return {
    begin,
    record,
    exchanges,
    rows: (query) => exchanges(query).map(rowOf).toReversed(),
    exchange(id) {
      const entry = entries.get(id)
      return entry && named(entry)
    },
    dropped: () => dropped,
    expectSecret: (taskId) => secretTasks.set(taskId, true),
    position: () => position,
    async changes(after, signal) {
      const aborted = Promise.withResolvers<void>()
      const stop = () => aborted.resolve()
      signal.addEventListener('abort', stop)
      try {
        while (position <= after && !signal.aborted) await Promise.race([changed.promise, aborted.promise])
      } finally {
        signal.removeEventListener('abort', stop)
      }
      const since = [...entries.values()].filter(({ change }) => change > after)
      return { rows: since.map((entry) => rowOf(named(entry))), at: position }
    },
  }
}

/** Members of JSON whose texts are credentials, in requests and answers of every version. */
const secretMembers =
  /("(?:token|credentials|password|secret|client_?secret|api_?key|access_?token|refresh_?token|id_?token|code_verifier)"\s*:\s*)"(?:[^"\\]|\\.)*"/gi

function rowOf({ request: _, answer: __, events, ...row }: WireExchange): WireExchangeRow {
  return { ...row, eventCount: events.length }
}

function textsOf({
  method,
  url,
  operation = '',
  status,
  version = '',
  request,
  answer,
  events,
  error = '',
}: WireExchange) {
  const texts = [method, url, operation, `${status ?? ''}`, version, request.body, answer?.body ?? '', error]
  return [...texts, ...events.map(({ text }) => text)]
}

function lengthOf({ request, answer, events }: WireExchange): number {
  return request.body.length + (answer?.body.length ?? 0) + events.reduce((sum, { text }) => sum + text.length, 0)
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}

function bodyText(body: RequestInit['body']): string {
  if (typeof body === 'string') return body
  if (body instanceof URLSearchParams) return `${body}`
  if (body instanceof Uint8Array) return `(${body.byteLength} bytes)`
  return body === undefined || body === null ? '' : '(a body that is not text)'
}

/** The version that a request names. */
function versionOf(headers: Readonly<Record<string, string>>): { readonly version?: string } {
  const [, version] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'a2a-version') ?? []
  return defined({ version })
}

/** What a request calls, as far as it says so: the method of JSON-RPC and gRPC, or the path of REST. */
function describe(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Pick<WireExchange, 'binding' | 'operation'> & { readonly version?: string } {
  const path = URL.canParse(url) ? new URL(url).pathname : url
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''
  if (/^application\/grpc/.test(type)) return { binding: 'GRPC', operation: path.split('/').at(-1) ?? path }
  if (/\/\.well-known\/agent[^/]*\.json$/.test(path)) return { operation: 'Agent card' }
  const rpc = methodOf(body)
  if (rpc !== undefined) {
    // Requests before 1.0 have no header with a version, but methods of their own.
    return {
      binding: 'JSONRPC',
      operation: rpc,
      ...(/^[a-z]+\//.test(rpc) && versionOf(headers).version === undefined && { version: '0.x' }),
    }
  }
  return { binding: 'REST', operation: `${method} ${path}` }
}

function methodOf(body: string): string | undefined {
  if (!body.includes('"jsonrpc"')) return undefined
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) && typeof value.method === 'string' ? value.method.slice(0, 100) : undefined
  } catch {
    return undefined
  }
}

/** Passes the body on, and keeps it as it arrives. */
function recordBody(response: Response, open: OpenExchange): Response {
  const type = response.headers.get('content-type') ?? ''
  if (!response.body) {
    open.end()
    return response
  }
  // The answers of gRPC have trailers, which a copy would lose.
  if (/^application\/grpc/.test(type)) {
    open.end()
    return response
  }
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          open.end()
          controller.close()
          return
        }
        open.chunk(decoder.decode(value, { stream: true }))
        controller.enqueue(value)
      } catch (error) {
        open.end(failureText(error))
        controller.error(error)
      }
    },
    async cancel(reason) {
      // Clients stop when they have what they need, such as the last event of a task.
      open.end()
      await reader.cancel(reason)
    },
  })
  const { status, statusText, headers, url, redirected } = response
  const hasBody = status !== 204 && status !== 205 && status !== 304
  const copy = new Response(hasBody ? body : null, { status, statusText, headers })
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } })
}

/** The innermost cause says most, such as `certificate has expired`. */
function failureText(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: `${error}`, cause: undefined }
  return cause instanceof Error ? failureText(cause) : message
}

/** Exchanges as an HTTP Archive 1.2, which browsers and other tools open. */
export function toHar(exchanges: readonly WireExchange[], version: string): JsonObject {
  return {
    log: {
      version: '1.2',
      creator: { name: 'Parley', version },
      entries: exchanges.map(harEntry),
    },
  }
}

function harEntry({
  at,
  method,
  url,
  request,
  answer,
  events,
  duration = 0,
  error,
  agent,
  operation,
}: WireExchange): JsonObject {
  const pairs = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([name, value]) => ({ name, value }))
  const query = URL.canParse(url) ? [...new URL(url).searchParams] : []
  const text = answer === undefined ? '' : answer.body + events.map((event) => `${event.text}\n\n`).join('')
  const wait = answer?.firstByte ?? duration
  const common = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1 }
  return {
    startedDateTime: new Date(at).toISOString(),
    time: duration,
    request: {
      ...common,
      method,
      url,
      headers: pairs(request.headers),
      queryString: query.map(([name, value]) => ({ name, value })),
      bodySize: byteLength(request.body),
      ...(request.body !== '' && {
        postData: { mimeType: request.headers['content-type'] ?? '', text: request.body },
      }),
    },
    response: {
      ...common,
      status: answer?.status ?? 0,
      statusText: '',
      headers: pairs(answer?.headers ?? {}),
      redirectURL: answer?.headers.location ?? '',
      bodySize: byteLength(text),
      content: { size: byteLength(text), mimeType: answer?.headers['content-type'] ?? '', text },
    },
    cache: {},
    timings: { send: 0, wait, receive: Math.max(0, duration - wait) },
    comment: [agent, operation, error].filter((part) => part).join(': '),
  }
}
