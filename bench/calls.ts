import { request } from 'node:http'

/** The JSON-RPC calls of the bench, as any client would send them. */

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }

export function sendBody(text: string, method: 'SendMessage' | 'SendStreamingMessage', configuration?: object): string {
  const message = { messageId: 'm-00000000', role: 'ROLE_USER', parts: [{ text }] }
  return body(method, { message, configuration })
}

export function subscribeBody(taskId: string): string {
  return body('SubscribeToTask', { id: taskId })
}

/** The same send as a caller of 0.3, or of 0.1, writes it. */
export function olderSendBody(version: '0.3' | '0.1', text: string): string {
  if (version === '0.1') {
    return body('tasks/send', { id: 'm-00000000', message: { role: 'user', parts: [{ type: 'text', text }] } })
  }
  const parts = [{ kind: 'text', text }]
  return body('message/send', { message: { kind: 'message', messageId: 'm-00000000', role: 'user', parts } })
}

/** A whole request as it goes over the wire, for those who handle sockets themselves. */
export function postBytes(body: string, ...moreHeaders: readonly string[]): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const length = `content-length: ${Buffer.byteLength(body)}`
  // A header that comes again replaces the one before.
  const named = new Map([...lines, length, ...moreHeaders].map((line) => [line.slice(0, line.indexOf(':')), line]))
  const head = ['POST / HTTP/1.1', 'host: 127.0.0.1', ...named.values()]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

export interface WireTask {
  readonly id: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
}

/** Sends a message and gives the task that came of it. */
export async function sendForTask(port: number, text: string, configuration?: object): Promise<WireTask> {
  const url = `http://127.0.0.1:${port}/`
  const response = await fetch(url, { method: 'POST', headers, body: sendBody(text, 'SendMessage', configuration) })
  const answer = await response.text()
  const { result } = JSON.parse(answer) as { result?: { task?: WireTask } }
  if (!result?.task) throw new Error(`expected a task, got ${answer}`)
  return result.task
}

export interface Stream {
  readonly events: number
  readonly bytes: number
  /** The last event. */
  readonly last: string
  readonly milliseconds: number
}

/** Posts a body and reads the stream of events that answers it. */
export function readStream(port: number, body: string, path = '/'): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const begin = performance.now()
    let events = 0
    let bytes = 0
    let tail = ''
    const call = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false }, (response) => {
      response.setEncoding('latin1')
      response.on('data', (text: string) => {
        bytes += text.length
        // An event ends with an empty line, of which the first half may have come before.
        const from = tail.endsWith('\n') ? 1 : 0
        if (from && text.startsWith('\n')) events++
        for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n', at + 2)) events++
        tail = (tail + text).slice(-2_000)
      })
      response.once('end', () => resolve({ events, bytes, last: tail, milliseconds: performance.now() - begin }))
      response.once('error', reject)
    })
    call.once('error', reject)
    call.end(body)
  })
}

function body(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}
