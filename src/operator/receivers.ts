import { toBase64Url } from '../core/base/base64.ts'
import { sha256, toHex } from '../core/base/hash.ts'
import { defined } from '../core/base/json.ts'
import type { OperatorState } from '../core/base/operator-state.ts'
import { BodyTooLarge, type Incoming, type Outgoing } from '../core/http/exchange.ts'
import { decodeUtf8 } from '../core/http/json.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { ReceivedDelivery, WebhookReceiver } from './contract-tools.ts'
import { jsonAnswer, notFound } from './failures.ts'
import { type Route, streamAnswer } from './routes.ts'

const lifetime = 60 * 60 * 1000

/** Deliveries that a receiver keeps. */
const maxDeliveries = 100

/** In bytes. */
const bodyLimit = 256 * 1024

/** Characters of a body that are kept. */
const maxBody = 64 * 1024

/** Milliseconds between two looks for deliveries that arrive at other replicas. */
const watchInterval = 1_000

/** Headers that are shown. Credentials and tokens are not among them. */
const shownHeaders = ['content-type', 'content-digest', 'user-agent', 'a2a-version', 'traceparent', 'signature-input']

export interface ReceiversOptions {
  /** Where receivers and their deliveries are. Replicas that share it share the receivers. */
  readonly state: () => OperatorState
  /** The address below which receivers are, as agents reach it. */
  readonly addressOf: (incoming: Incoming) => string
}

/** Addresses to which webhooks can be sent, to try them. */
export interface Receivers {
  readonly routes: readonly Route[]
  /** Answers a request to the address of a receiver. */
  receive(incoming: Incoming): Promise<Outgoing>
}

export function createReceivers({ state, addressOf }: ReceiversOptions): Receivers {
  const wakeups = createDeliveryWakeups()

  async function open(incoming: Incoming): Promise<WebhookReceiver> {
    const [id, token] = [randomText(), randomText()]
    const expires = Date.now() + lifetime
    // A reader of the store cannot learn the token.
    const stored: StoredReceiver = { token: toHex(sha256(token)), expires }
    await state().values.set(storedName(id), JSON.stringify(stored), expires)
    return { id, url: `${addressOf(incoming)}/${id}`, token, expires }
  }

  async function find(id: string): Promise<StoredReceiver | undefined> {
    const text = /^[\w-]{32}$/.test(id) ? await state().values.get(storedName(id)) : undefined
    return text === undefined ? undefined : (JSON.parse(text) as StoredReceiver)
  }

  async function* follow(id: string, { expires }: StoredReceiver, signal: AbortSignal) {
    for (let seen = 0; !signal.aborted && Date.now() < expires; ) {
      const query = { lists: [id], after: seen, limit: maxDeliveries }
      for (const { number, at, value } of await state().records.read('delivery', query)) {
        yield { value: { ...(JSON.parse(value) as StoredDelivery), number, at } satisfies ReceivedDelivery }
        seen = number
      }
      await wakeups.wait(id, signal)
    }
  }

  async function keep(id: string, receiver: StoredReceiver, incoming: Incoming): Promise<Outgoing> {
    const delivery = await readDelivery(incoming, receiver)
    const { records } = state()
    await records.append('delivery', [{ list: id, at: Date.now(), value: JSON.stringify(delivery) }], maxDeliveries)
    wakeups.wake(id)
    return { status: 204, headers: {} }
  }

  const routes: readonly Route[] = [
    {
      method: 'POST',
      path: '/receivers',
      role: 'operator',
      handle: async ({ incoming }) => jsonAnswer(await open(incoming)),
    },
    {
      method: 'GET',
      path: '/receivers/:id/deliveries',
      role: 'viewer',
      async handle(call, id: string) {
        const receiver = await find(id)
        if (!receiver) throw notFound('There is no such receiver, or it has expired.')
        return streamAnswer(call, follow(id, receiver, call.incoming.signal))
      },
    },
  ]

  return {
    routes,
    async receive(incoming) {
      const id = incoming.path.split('/').at(-1) ?? ''
      try {
        const receiver = await find(id)
        if (!receiver) return jsonAnswer({ error: 'There is no such receiver.' }, 404)
        return answerChallenge(incoming) ?? (await keep(id, receiver, incoming))
      } catch (error) {
        if (error instanceof BodyTooLarge) return jsonAnswer({ error: error.message }, 413)
        if (error instanceof A2AError) return jsonAnswer({ error: 'The delivery cannot be stored now.' }, 503)
        return jsonAnswer({ error: 'The body is not text in UTF-8.' }, 400)
      }
    },
  }
}

/** Wakes readers when a delivery arrives at this process, and after a while, because it may arrive at another one. */
function createDeliveryWakeups() {
  const waiting = new Map<string, Set<() => void>>()
  return {
    wake(id: string): void {
      for (const wake of [...(waiting.get(id) ?? [])]) wake()
    },
    wait: (id: string, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const readers = waiting.get(id) ?? new Set()
        waiting.set(id, readers)
        const wake = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', wake)
          readers.delete(wake)
          if (readers.size === 0) waiting.delete(id)
          resolve()
        }
        const timer = setTimeout(wake, watchInterval)
        readers.add(wake)
        signal.addEventListener('abort', wake)
        if (signal.aborted) wake()
      }),
  }
}

/** Answers requests that are not deliveries. */
function answerChallenge({ method, query }: Incoming): Outgoing | undefined {
  const challenge = new URLSearchParams(query).get('validationToken')
  // The agent proves that the receiver wants deliveries; no page shows the text.
  if (method === 'GET' && challenge !== null && /^[\w-]{1,200}$/.test(challenge)) {
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: challenge }
  }
  return method === 'POST' ? undefined : jsonAnswer({ error: 'Deliveries are sent by POST.' }, 405)
}

async function readDelivery(incoming: Incoming, receiver: StoredReceiver): Promise<StoredDelivery> {
  const body = decodeUtf8(await incoming.bytes(bodyLimit))
  const headers = Object.fromEntries(
    shownHeaders.flatMap((name) => {
      const value = incoming.header(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const verdict = verdictOf(incoming.header('x-a2a-notification-token'), receiver)
  return defined({
    headers,
    verdict,
    body: body.slice(0, maxBody),
    isShortened: body.length > maxBody ? true : undefined,
  })
}

interface StoredReceiver {
  /** Hash of the token. */
  readonly token: string
  readonly expires: number
}

type StoredDelivery = Omit<ReceivedDelivery, 'number' | 'at'>

function storedName(id: string): string {
  return `receiver ${id}`
}

function verdictOf(token: string | undefined, receiver: StoredReceiver): string {
  if (token === undefined) return 'It has no token.'
  return toHex(sha256(token)) === receiver.token ? 'Its token is right.' : 'Its token is wrong.'
}

function randomText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(24)))
}
