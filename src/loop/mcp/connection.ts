import type { Client, FetchLike, Transport } from '@modelcontextprotocol/client'
import { defined } from '../../core/base/json.ts'
import { importOptional } from '../../core/protocol/lazy-import.ts'
import { isClient, type McpAddress, type McpToolsOptions } from './options.ts'

const newline = 10

const carriageReturn = 13

const dependency = ['mcpTools()', '@modelcontextprotocol/client'] as const

/** Milliseconds after a failed attempt before the next one: a loop lists its tools before every step. */
const retryDelay = 1_000

/** A connection to an MCP server, opened on first use and reopened after it is lost. */
export interface Connection {
  open(): Promise<Client>
  /** Discards a client whose connection is lost. */
  drop(client: Client): Promise<void>
  close(): Promise<void>
}

export function createConnection(address: McpAddress, settings: Settings, onListChanged: () => void): Connection {
  return isClient(address) ? wrapClient(address, onListChanged) : createOwnConnection(address, settings, onListChanged)
}

/** Loaded on first use: an optional dependency. */
export async function loadMcp(): Promise<typeof import('@modelcontextprotocol/client')> {
  return await importOptional(() => import('@modelcontextprotocol/client'), ...dependency)
}

type Settings = Pick<McpToolsOptions, 'negotiation'> & { readonly connectTimeout: number; readonly maxMessage: number }

/** The user connects and closes this client. */
function wrapClient(client: Client, onListChanged: () => void): Connection {
  let isSubscribed = false
  return {
    async open() {
      if (!client.transport) throw new Error('the MCP client passed to mcpTools() is not connected.')
      if (!isSubscribed) await subscribe(client, onListChanged)
      isSubscribed = true
      return client
    },
    async drop() {},
    async close() {},
  }
}

/** Replaces a handler that the user may have set for this notification. */
async function subscribe(client: Client, onListChanged: () => void): Promise<void> {
  if (!client.getServerCapabilities()?.tools?.listChanged) return
  client.setNotificationHandler('notifications/tools/list_changed', onListChanged)
  if (client.getProtocolEra() === 'modern' && !client.autoOpenedSubscription) {
    await client.listen({ toolsListChanged: true })
  }
}

function createOwnConnection(address: Remote, settings: Settings, onListChanged: () => void): Connection {
  let opening: Promise<Client> | undefined
  let failure: { readonly at: number; readonly error: unknown } | undefined
  let isClosed = false

  async function connect(): Promise<Client> {
    const { Client } = await loadMcp()
    const { connectTimeout, negotiation = 'url' in address ? 'auto' : 'legacy' } = settings
    const client = new Client(
      { name: 'parley', version: '1.0.0' },
      {
        versionNegotiation: { mode: negotiation },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onListChanged } },
      },
    )
    client.onclose = () => forget(client)
    // Each call reports its own errors.
    client.onerror = () => {}
    await client.connect(await createTransport(address, settings), { timeout: connectTimeout })
    if (isClosed) await client.close()
    return client
  }

  const attempts = new WeakMap<Client, Promise<Client>>()

  function forget(client: Client): void {
    if (attempts.get(client) === opening) opening = undefined
    onListChanged()
  }

  return {
    async open() {
      if (isClosed) throw new Error('the tools of this MCP server are closed.')
      if (failure && Date.now() - failure.at < retryDelay) throw failure.error
      const current = opening ?? connect()
      opening = current
      try {
        const client = await current
        attempts.set(client, current)
        failure = undefined
        return client
      } catch (error) {
        if (opening === current) opening = undefined
        failure = { at: Date.now(), error }
        throw error
      }
    },
    async drop(client) {
      forget(client)
      await client.close().catch(() => {})
    },
    async close() {
      isClosed = true
      const client = await opening?.catch(() => undefined)
      await client?.close()
    },
  }
}

type Remote = Exclude<McpAddress, Client>

async function createTransport(address: Remote, { maxMessage }: Settings): Promise<Transport> {
  if ('url' in address) {
    const { StreamableHTTPClientTransport } = await loadMcp()
    const { url, headers, authProvider, fetch = globalThis.fetch } = address
    return new StreamableHTTPClientTransport(new URL(url), {
      fetch: limitedFetch(fetch, maxMessage),
      ...defined({ requestInit: headers && { headers }, authProvider }),
    })
  }
  const { StdioClientTransport } = await loadStdio()
  const { args = [], stderr = 'ignore', ...server } = address
  return new StdioClientTransport({ ...server, args: [...args], stderr, maxBufferSize: maxMessage })
}

/** Limits the size of responses; in event streams, the size of each event. */
function limitedFetch(fetch: FetchLike, maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { body, headers, status, statusText } = response
    if (!body) return response
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return new Response(body.pipeThrough(limitBytes(maxBytes, isStream)), { headers, status, statusText })
  }
}

function limitBytes(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      // An empty line ends an event; the rest of the chunk belongs to the next one.
      const end = isStream ? lastEmptyLine(chunk) : -1
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end
      if (bytes > maxBytes) controller.error(new Error(`the MCP server sent more than ${maxBytes} bytes at once`))
      else controller.enqueue(chunk)
    },
  })
}

function lastEmptyLine(chunk: Uint8Array): number {
  for (let index = chunk.length - 1; index > 0; index--) {
    if (chunk[index] !== newline) continue
    const isAfterReturn = chunk[index - 1] === carriageReturn && chunk[index - 2] === newline
    if (chunk[index - 1] === newline || isAfterReturn) return index
  }
  return -1
}

async function loadStdio(): Promise<typeof import('@modelcontextprotocol/client/stdio')> {
  return await importOptional(() => import('@modelcontextprotocol/client/stdio'), ...dependency)
}
