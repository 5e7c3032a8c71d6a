import type { Client, FetchLike, Transport } from '@modelcontextprotocol/client'
import { importOptional } from '../../protocol/lazy-import.ts'
import { isClient, type McpAddress, type McpToolsOptions } from './options.ts'

const newline = 10

const missing = ['mcpTools()', '@modelcontextprotocol/client'] as const

/** Milliseconds after a failure within which nobody tries again: a loop asks for tools before every step. */
const pause = 1_000

/** A way to an MCP server that is opened when it is needed, and again when it broke. */
export interface Connection {
  open(): Promise<Client>
  /** What was opened is of no more use. */
  drop(client: Client): Promise<void>
  close(): Promise<void>
}

export function createConnection(address: McpAddress, settings: Settings, onListChanged: () => void): Connection {
  return isClient(address) ? connectionOf(address, onListChanged) : connectionTo(address, settings, onListChanged)
}

/** Loaded for those who use it: who has no tools of MCP needs nothing of it. */
export async function loadMcp(): Promise<typeof import('@modelcontextprotocol/client')> {
  return await importOptional(() => import('@modelcontextprotocol/client'), ...missing)
}

type Settings = Pick<McpToolsOptions, 'negotiation'> & { readonly connectTimeout: number; readonly maxMessage: number }

/** It is its owner's to open and to close. */
function connectionOf(client: Client, onListChanged: () => void): Connection {
  let isFollowed = false
  return {
    async open() {
      if (!client.transport) throw new Error('the client of MCP that was handed in is not connected.')
      if (!isFollowed) await follow(client, onListChanged)
      isFollowed = true
      return client
    },
    async drop() {},
    async close() {},
  }
}

/** Takes the place of a handler that its owner may have set for this notification. */
async function follow(client: Client, onListChanged: () => void): Promise<void> {
  if (!client.getServerCapabilities()?.tools?.listChanged) return
  client.setNotificationHandler('notifications/tools/list_changed', onListChanged)
  if (client.getProtocolEra() === 'modern' && !client.autoOpenedSubscription) {
    await client.listen({ toolsListChanged: true })
  }
}

function connectionTo(address: Remote, settings: Settings, onListChanged: () => void): Connection {
  let opening: Promise<Client> | undefined
  let failed: { readonly at: number; readonly error: unknown } | undefined
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
    // What goes wrong with a call is told by the call.
    client.onerror = () => {}
    await client.connect(await transportTo(address, settings), { timeout: connectTimeout })
    if (isClosed) await client.close()
    return client
  }

  const opened = new WeakMap<Client, Promise<Client>>()

  function forget(client: Client): void {
    if (opened.get(client) === opening) opening = undefined
    onListChanged()
  }

  return {
    async open() {
      if (isClosed) throw new Error('the tools of this MCP server were closed.')
      if (failed && Date.now() - failed.at < pause) throw failed.error
      const current = opening ?? connect()
      opening = current
      try {
        const client = await current
        opened.set(client, current)
        failed = undefined
        return client
      } catch (error) {
        if (opening === current) opening = undefined
        failed = { at: Date.now(), error }
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

async function transportTo(address: Remote, { maxMessage }: Settings): Promise<Transport> {
  if ('url' in address) {
    const { StreamableHTTPClientTransport } = await loadMcp()
    const { url, headers, authProvider, fetch = globalThis.fetch } = address
    return new StreamableHTTPClientTransport(new URL(url), {
      fetch: limitedFetch(fetch, maxMessage),
      ...(headers && { requestInit: { headers } }),
      ...(authProvider && { authProvider }),
    })
  }
  const { StdioClientTransport } = await loadStdio()
  const { args = [], stderr = 'ignore', ...server } = address
  return new StdioClientTransport({ ...server, args: [...args], stderr, maxBufferSize: maxMessage })
}

/** A `fetch` whose answers break off beyond so many bytes; of streams of events, each event may have as many. */
function limitedFetch(fetch: FetchLike, maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { body, headers, status, statusText } = response
    if (!body) return response
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return new Response(body.pipeThrough(limit(maxBytes, isStream)), { headers, status, statusText })
  }
}

function limit(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      // An event ends with an empty line. What follows the last one in this chunk belongs to the next.
      const end = isStream ? lastEmptyLine(chunk) : -1
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end
      if (bytes > maxBytes) controller.error(new Error(`the MCP server sent more than ${maxBytes} bytes at once`))
      else controller.enqueue(chunk)
    },
  })
}

function lastEmptyLine(chunk: Uint8Array): number {
  for (let at = chunk.length - 1; at > 0; at--) {
    if (chunk[at] === newline && (chunk[at - 1] === newline || (chunk[at - 1] === 13 && chunk[at - 2] === newline))) {
      return at
    }
  }
  return -1
}

async function loadStdio(): Promise<typeof import('@modelcontextprotocol/client/stdio')> {
  return await importOptional(() => import('@modelcontextprotocol/client/stdio'), ...missing)
}
