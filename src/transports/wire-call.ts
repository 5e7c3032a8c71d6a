import type { Incoming } from '../http/exchange.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call } from '../protocol/service.ts'
import type { Trace } from '../protocol/trace.ts'
import type { WireOptions } from './options.ts'
import { extensionsOf, idempotencyKeyOf, traceOf } from './service-parameters.ts'

/** A call from the wire. A class, so that what few calls need is made only when it is asked for. */
export class WireCall implements Call {
  readonly principal: Principal
  readonly idempotencyKey: string | undefined
  readonly extensions: readonly string[] | undefined
  readonly activated: Set<string> | undefined
  readonly trace: Trace | undefined
  readonly #incoming: Incoming
  readonly #originOf: WireOptions['originOf']

  constructor(incoming: Incoming, principal: Principal, { originOf }: Pick<WireOptions, 'originOf'>) {
    this.principal = principal
    this.idempotencyKey = idempotencyKeyOf(incoming)
    this.extensions = extensionsOf(incoming)
    this.activated = this.extensions && new Set()
    this.trace = traceOf(incoming)
    this.#incoming = incoming
    this.#originOf = originOf
  }

  get signal(): AbortSignal {
    return this.#incoming.signal
  }

  get origin(): string | undefined {
    return this.#originOf?.(this.#incoming)
  }
}
