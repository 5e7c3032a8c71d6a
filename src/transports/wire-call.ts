import type { Incoming } from '../http/exchange.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call } from '../protocol/service.ts'
import { idempotencyKeyOf } from './service-parameters.ts'

/** A call from the wire. A class, so that the signal, which few calls need, is made only when it is asked for. */
export class WireCall implements Call {
  readonly principal: Principal
  readonly idempotencyKey: string | undefined
  readonly #incoming: Incoming

  constructor(incoming: Incoming, principal: Principal) {
    this.principal = principal
    this.idempotencyKey = idempotencyKeyOf(incoming)
    this.#incoming = incoming
  }

  get signal(): AbortSignal {
    return this.#incoming.signal
  }
}
