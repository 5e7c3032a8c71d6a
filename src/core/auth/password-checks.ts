import { BoundedMap } from '../base/bounded-map.ts'
import { A2AError } from '../protocol/errors.ts'

/**
 * Maximum number of concurrent password hashes. They run on Node's four worker threads, which also resolve host names and
 * verify tokens, and they must leave a core to the event loop.
 */
const maxRunning = Math.min(2, Math.max(1, Math.floor((globalThis.navigator?.hardwareConcurrency ?? 2) / 2)))

/** Checks that wait, in all and for one network. Further ones are rejected at once. */
const maxWaiting = 16
const maxPerNetwork = 4

/** Failures of a network after which it has to wait. */
const freeFailures = 5

/** The first and the longest wait, in milliseconds. It doubles with every further failure. */
const firstWait = 1_000
const longestWait = 60_000

/** Milliseconds after which failures are forgotten. */
const forgetAfter = 15 * 60_000

/** Networks whose failures are remembered. */
const maxNetworks = 10_000

/** Runs the password checks of one scheme. */
export interface PasswordChecks {
  /**
   * Runs a check, at once or after others. Throws `rate-limited` if the network has failed too often, and `unavailable` if
   * too many checks wait. A trusted caller has had a correct password before: it comes first, and does not wait for others
   * of its network to stop guessing.
   */
  run(network: string | undefined, isTrusted: boolean, check: () => Promise<boolean>): Promise<boolean>
  /** The same for a check that computes no hash: it waits for no other. */
  runAtOnce(network: string | undefined, check: () => Promise<boolean>): Promise<boolean>
}

export function createPasswordChecks(now: () => number = Date.now): PasswordChecks {
  const failures = new BoundedMap<string, Failures>(maxNetworks, now)
  const pending = new Map<string, number>()

  function requirePatience(network: string): void {
    const wait = (failures.get(network)?.blockedUntil ?? 0) - now()
    if (wait > 0) throw tooManyGuesses(Math.ceil(wait / 1000))
  }

  function requirePlace(network: string): void {
    if ((pending.get(network) ?? 0) >= maxPerNetwork) throw tooManyGuesses(1)
  }

  function countFailure(network: string): void {
    const count = (failures.get(network)?.count ?? 0) + 1
    const wait = Math.min(longestWait, firstWait * 2 ** (count - freeFailures))
    failures.set(network, { count, blockedUntil: count < freeFailures ? 0 : now() + wait }, now() + forgetAfter)
  }

  function release(network: string): void {
    const left = (pending.get(network) ?? 1) - 1
    if (left === 0) pending.delete(network)
    else pending.set(network, left)
  }

  return {
    async run(network, isTrusted, check) {
      if (network === undefined) return await inTurn(check, isTrusted)
      if (!isTrusted) {
        requirePatience(network)
        requirePlace(network)
      }
      pending.set(network, (pending.get(network) ?? 0) + 1)
      try {
        const isCorrect = await inTurn(check, isTrusted)
        if (!isCorrect) countFailure(network)
        return isCorrect
      } finally {
        release(network)
      }
    },
    async runAtOnce(network, check) {
      if (network !== undefined) requirePatience(network)
      const isCorrect = await check()
      if (!isCorrect && network !== undefined) countFailure(network)
      return isCorrect
    },
  }
}

interface Failures {
  readonly count: number
  /** In milliseconds since 1970. */
  readonly blockedUntil: number
}

/** All schemes of the process share these: the threads and the cores are the same. */
let running = 0
const waiting: (() => void)[] = []

async function inTurn<T>(work: () => Promise<T>, isTrusted: boolean): Promise<T> {
  if (running >= maxRunning) {
    if (waiting.length >= (isTrusted ? 2 * maxWaiting : maxWaiting)) {
      throw new A2AError('unavailable', 'Too many passwords are being checked.', { retryAfter: 1 })
    }
    await new Promise<void>((resolve) => (isTrusted ? waiting.unshift(resolve) : waiting.push(resolve)))
  } else running++
  try {
    return await work()
  } finally {
    // The next one takes over the place.
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

function tooManyGuesses(retryAfter: number): A2AError {
  const text = 'Too many wrong passwords came from this address. Wait, then try again.'
  return new A2AError('rate-limited', text, { retryAfter })
}
