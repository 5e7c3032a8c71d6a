import { request } from 'node:http'

/** JSON-RPC requests of the benchmarks. */

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

export function sendBody(text: string, method: 'SendMessage' | 'SendStreamingMessage', configuration?: object): string {
  const message = { messageId: 'm-00000000', role: 'ROLE_USER', parts: [{ text }] }
  return body(method, { message, configuration })
}

export function subscribeBody(taskId: string): string {
  return body('SubscribeToTask', { id: taskId })
}

/** The same request in the 0.3 and 0.1 dialects. */
export function legacySendBody(version: '0.3' | '0.1', text: string): string {
  if (version === '0.1') {
    return body('tasks/send', { id: 'm-00000000', message: { role: 'user', parts: [{ type: 'text', text }] } })
  }
  const parts = [{ kind: 'text', text }]
  return body('message/send', { message: { kind: 'message', messageId: 'm-00000000', role: 'user', parts } })
}

/** A complete HTTP request for benchmarks that write to sockets directly. */
export function postBytes(body: string, ...moreHeaders: readonly string[]): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const length = `content-length: ${Buffer.byteLength(body)}`
  // A repeated header replaces the earlier one.
  const byName = new Map([...lines, length, ...moreHeaders].map((line) => [line.slice(0, line.indexOf(':')), line]))
  const head = ['POST / HTTP/1.1', 'host: 127.0.0.1', ...byName.values()]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

export interface WireTask {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
}

/** Sends a message and returns the resulting task. */
export async function sendForTask(port: number, text: string, configuration?: object): Promise<WireTask> {
  const url = `http://127.0.0.1:${port}/`
  const response = await fetch(url, { method: 'POST', headers, body: sendBody(text, 'SendMessage', configuration) })
  const payload = await response.text()
  const { result } = JSON.parse(payload) as { result?: { task?: WireTask } }
  if (!result?.task) throw new Error(`expected a task, got ${payload}`)
  return result.task
}

export interface Stream {
  readonly events: number
  readonly bytes: number
  /** The last event. */
  readonly last: string
  readonly milliseconds: number
}

/** Sends a request and reads the event stream of its response. */
export function readStream(port: number, body: string, path = '/'): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const start = performance.now()
    let events = 0
    let bytes = 0
    let tail = ''
    const call = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false }, (response) => {
      response.setEncoding('latin1')
      response.on('data', (text: string) => {
        bytes += text.length
        // An empty line ends an event; its first newline may be in the previous chunk.
        if (tail.endsWith('\n') && text.startsWith('\n')) events++
        for (let index = text.indexOf('\n\n'); index >= 0; index = text.indexOf('\n\n', index + 2)) events++
        tail = (tail + text).slice(-2_000)
      })
      response.once('end', () => resolve({ events, bytes, last: tail, milliseconds: performance.now() - start }))
      response.once('error', reject)
    })
    call.once('error', reject)
    call.end(body)
  })
}

function body(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}
