import { defined, type JsonObject } from '../base/json.ts'
import { houseJson } from '../dialects/v0.3-house/server.ts'
import { checkConnectOptions } from './check-options.ts'
import type { Client } from './client.ts'
import { connect } from './connect.ts'
import type { ConnectOptions } from './options.ts'
import { callOf } from './send-request.ts'

/** A request as `message/send` of A2A 0.3 has it. */
export interface MessageSendParams {
  readonly message: JsonObject
  readonly configuration?: JsonObject
  readonly metadata?: JsonObject
}

/** A task, message or update in the JSON of A2A 0.3, with its `kind`. */
export interface A2AStreamEvent {
  readonly kind: string
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of the wire, as callers of this interface read it.
  readonly [member: string]: any
}

/** A client whose requests and events are the JSON of A2A 0.3. */
export interface A2AClient {
  streamMessage(params: MessageSendParams): AsyncIterableIterator<A2AStreamEvent>
  sendMessage(params: MessageSendParams): Promise<A2AStreamEvent>
}

/**
 * A client whose requests and events are the JSON of A2A 0.3, whatever version the agent speaks. For code that is
 * written against that JSON; new code uses `connect`.
 *
 * @example
 * const client = new A2AClientImpl('https://agent.example.com', token)
 * for await (const event of client.streamMessage({ message })) console.log(event)
 */
export class A2AClientImpl implements A2AClient {
  readonly #connect: () => Promise<Client>

  constructor(baseUrl: string, token?: string, options: ConnectOptions = {}) {
    checkConnectOptions(options, 'A2AClientImpl')
    const authorize = token === undefined ? undefined : () => ({ headers: { authorization: `Bearer ${token}` } })
    let client: Promise<Client> | undefined
    this.#connect = () => {
      client ??= connect(baseUrl, { ...defined({ authorize }), ...options }).catch((error) => {
        // The next call tries again.
        client = undefined
        throw error
      })
      return client
    }
  }

  async *streamMessage(params: MessageSendParams): AsyncIterableIterator<A2AStreamEvent> {
    const request = houseJson.decodeRequest.streamMessage(params)
    const { service } = await this.#connect()
    for await (const event of service.streamMessage(request, callOf())) {
      for (const wire of houseJson.encodeEvent(event, request)) yield wire as unknown as A2AStreamEvent
    }
  }

  async sendMessage(params: MessageSendParams): Promise<A2AStreamEvent> {
    const request = houseJson.decodeRequest.sendMessage(params)
    const { service } = await this.#connect()
    const outcome = await service.sendMessage(request, callOf())
    return houseJson.encodeResult.sendMessage(outcome, request) as unknown as A2AStreamEvent
  }
}
