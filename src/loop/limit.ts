import { A2AError } from '../protocol/errors.ts'
import type { Brake } from './brake.ts'

/** Aborts when the work is cut; made when it is asked for. */
export class Limit {
  #controller: AbortController | undefined
  #cut: { readonly reason: unknown } | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#cut) this.#controller.abort(this.#cut.reason)
    return this.#controller.signal
  }

  cut(reason: unknown): void {
    this.#cut = { reason }
    this.#controller?.abort(reason)
  }
}

/** Gives a piece of work so much time, also if it does not listen to its signal. What is done at once cannot be cut. */
export function runWithin(timeout: number, brake: Brake, work: (limit: Limit) => unknown): unknown {
  const limit = new Limit()
  const given = work(limit)
  return isThenable(given) ? settleWithin(timeout, brake, limit, given) : given
}

function settleWithin(timeout: number, brake: Brake, limit: Limit, given: PromiseLike<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const cut = (reason: unknown) => {
      limit.cut(reason)
      reject(reason)
    }
    const expire = () => cut(new A2AError('timeout', `it took longer than ${timeout / 1000} seconds.`))
    const timer = Number.isFinite(timeout) ? setTimeout(expire, timeout) : undefined
    const release = brake.onStop(cut)
    const done = () => {
      clearTimeout(timer)
      release()
    }
    given.then(
      (value) => {
        done()
        resolve(value)
      },
      (error) => {
        done()
        reject(error)
      },
    )
  })
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
