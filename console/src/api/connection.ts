import { signal } from '@preact/signals'
import { consoleUrl } from '../router/links.ts'

export type Connection = 'online' | 'reconnecting' | 'offline'

/** Whether the server of the console can be reached. */
export const connection = signal<Connection>('online')

/** Counts how often the server was reachable again. Pages read their data anew when it changes. */
export const reconnections = signal(0)

/** Called when the server rejects a request because the session is over. */
let onUnauthenticated: () => void = () => {}

export function whenUnauthenticated(action: () => void): void {
  onUnauthenticated = action
}

/** The `fetch` of everything that the console requests: it notices lost connections and expired sessions. */
export async function watchedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  // Proves to the server that the request comes from this page: see `OperatorClient`.
  headers.set('x-parley-console', '1')
  try {
    const response = await fetch(url, { ...init, headers, credentials: 'same-origin' })
    if (isFromProxy(response)) startProbing()
    else connection.value = 'online'
    if (response.status === 401) onUnauthenticated()
    return response
  } catch (error) {
    if (!init.signal?.aborted) startProbing()
    throw error
  }
}

const unreachableStatuses: ReadonlySet<number> = new Set([502, 503, 504])

/** Whether a proxy answers because the server behind it is away. The server itself explains its errors as JSON. */
function isFromProxy({ status, headers }: Response): boolean {
  return unreachableStatuses.has(status) && !/json/.test(headers.get('content-type') ?? '')
}

let isProbing = false

/** Requests the session until the server answers. */
async function startProbing(): Promise<void> {
  if (isProbing) return
  isProbing = true
  for (let delay = 500; ; delay = Math.min(delay * 1.6, 8_000)) {
    connection.value = navigator.onLine ? 'reconnecting' : 'offline'
    await pause(delay)
    if (await isReachable()) break
  }
  isProbing = false
  connection.value = 'online'
  reconnections.value++
}

async function isReachable(): Promise<boolean> {
  try {
    const headers = { 'x-parley-console': '1' }
    const response = await fetch(new URL('api/v1/session', consoleUrl), { headers, signal: AbortSignal.timeout(5_000) })
    if (response.status === 401) onUnauthenticated()
    return !isFromProxy(response)
  } catch {
    return false
  }
}

/** Waits, but not beyond the moment at which the browser is online again. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, milliseconds)
    addEventListener('online', finish)
    function finish() {
      clearTimeout(timer)
      removeEventListener('online', finish)
      resolve()
    }
  })
}

addEventListener('offline', () => startProbing())
