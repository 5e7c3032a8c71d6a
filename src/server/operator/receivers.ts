import { toBase64Url } from '../../base/base64.ts'
import { isEqual } from '../../base/hash.ts'
import { BodyTooLarge, type Incoming, type Outgoing } from '../../http/exchange.ts'
import { decodeUtf8 } from '../../http/json.ts'
import type { ReceivedDelivery, WebhookReceiver } from './contract-tools.ts'
import { jsonAnswer, notFound } from './failures.ts'
import { type Route, streamAnswer } from './routes.ts'

const lifetime = 60 * 60 * 1000

/** Receivers of a process, and deliveries that each keeps. */
const maxReceivers = 50
const maxDeliveries = 100

/** In bytes. */
const bodyLimit = 256 * 1024

/** Headers that are shown. Credentials and tokens are not among them. */
const shownHeaders = ['content-type', 'content-digest', 'user-agent', 'a2a-version', 'traceparent', 'signature-input']

/** Addresses to which webhooks of this process can be sent, to try them. They and their deliveries are in memory. */
export interface Receivers {
  readonly routes: readonly Route[]
  /** Answers a request to the address of a receiver. */
  receive(incoming: Incoming): Promise<Outgoing>
}

export function createReceivers(addressOf: (incoming: Incoming) => string, now: () => number = Date.now): Receivers {
  const receivers = new Map<string, Entry>()

  function open(incoming: Incoming): WebhookReceiver {
    for (const [id, { expires }] of receivers) {
      if (expires <= now() || receivers.size >= maxReceivers) receivers.delete(id)
    }
    const [id, token] = [randomText(), randomText()]
    const expires = now() + lifetime
    receivers.set(id, { token, expires, deliveries: [], count: 0, wake: new Set() })
    return { id, url: `${addressOf(incoming)}/${id}`, token, expires }
  }

  function find(id: string): Entry | undefined {
    const entry = receivers.get(id)
    return entry && entry.expires > now() ? entry : undefined
  }

  async function* follow(entry: Entry, signal: AbortSignal) {
    for (let seen = 0; !signal.aborted; ) {
      const missing = Math.min(entry.count - seen, entry.deliveries.length)
      for (const value of entry.deliveries.slice(entry.deliveries.length - missing)) yield { value }
      seen = entry.count
      if (signal.aborted || entry.expires <= now()) return
      await new Promise<void>((resolve) => {
        const wake = () => {
          entry.wake.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        entry.wake.add(wake)
        signal.addEventListener('abort', wake)
        if (signal.aborted || entry.count > seen) wake()
      })
    }
  }

  async function keep(entry: Entry, incoming: Incoming): Promise<Outgoing> {
    const body = decodeUtf8(await incoming.bytes(bodyLimit))
    const headers = Object.fromEntries(
      shownHeaders.flatMap((name) => {
        const value = incoming.header(name)
        return value === undefined ? [] : [[name, value]]
      }),
    )
    const token = incoming.header('x-a2a-notification-token')
    const verdict =
      token === undefined
        ? 'It has no token.'
        : matches(token, entry.token)
          ? 'Its token is right.'
          : 'Its token is wrong.'
    entry.count++
    entry.deliveries.push({ number: entry.count, at: now(), headers, body, verdict })
    if (entry.deliveries.length > maxDeliveries) entry.deliveries.shift()
    for (const wake of [...entry.wake]) wake()
    return { status: 204, headers: {} }
  }

  return {
    routes: [
      {
        method: 'POST',
        path: '/receivers',
        role: 'operator',
        handle: async ({ incoming }) => jsonAnswer(open(incoming)),
      },
      {
        method: 'GET',
        path: '/receivers/:id/deliveries',
        role: 'viewer',
        async handle(call, id: string) {
          const entry = find(id)
          if (!entry) throw notFound('There is no such receiver on this process, or it has expired.')
          return streamAnswer(call, follow(entry, call.incoming.signal))
        },
      },
    ],
    async receive(incoming) {
      const entry = find(incoming.path.split('/').at(-1) ?? '')
      if (!entry) return jsonAnswer({ error: 'There is no such receiver.' }, 404)
      const challenge = new URLSearchParams(incoming.query).get('validationToken')
      // The agent proves that the receiver wants deliveries; no page shows the text.
      if (incoming.method === 'GET' && challenge !== null && /^[\w-]{1,200}$/.test(challenge)) {
        return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: challenge }
      }
      if (incoming.method !== 'POST') return jsonAnswer({ error: 'Deliveries are sent by POST.' }, 405)
      try {
        return await keep(entry, incoming)
      } catch (error) {
        if (error instanceof BodyTooLarge) return jsonAnswer({ error: error.message }, 413)
        return jsonAnswer({ error: 'The body is not text in UTF-8.' }, 400)
      }
    },
  }
}

interface Entry {
  readonly token: string
  readonly expires: number
  readonly deliveries: ReceivedDelivery[]
  /** How many deliveries have arrived. */
  count: number
  readonly wake: Set<() => void>
}

function randomText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(24)))
}

function matches(one: string, other: string): boolean {
  const encoder = new TextEncoder()
  const [first, second] = [encoder.encode(one), encoder.encode(other)]
  return first.length === second.length && isEqual(first, second)
}
