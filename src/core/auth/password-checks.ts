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

/** Milliseconds between two checks of short keys of a network that has to wait, and how long one may be delayed. */
const spacing = 100
const longestDelay = 5_000

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
  /**
   * Runs a check that computes no hash, such as one of a key. A right key is accepted also if others of its network have
   * failed too often; only wrong ones are `rate-limited` then. `isGuessable`: such checks are delayed then, and throw if
   * too many wait.
   */
  runAtOnce(network: string | undefined, isGuessable: boolean, check: () => Promise<boolean>): Promise<boolean>
}

export function createPasswordChecks(now: () => number = Date.now): PasswordChecks {
  const failures = new BoundedMap<string, Failures>(maxNetworks, now)
  const pending = new Map<string, number>()

  /** When the next short key of a network may be checked. */
  const nextChecks = new BoundedMap<string, number>(maxNetworks, now)

  function waitOf(network: string): number {
    return Math.ceil(((failures.get(network)?.blockedUntil ?? 0) - now()) / 1000)
  }

  function requirePatience(network: string): void {
    const wait = waitOf(network)
    if (wait > 0) throw tooManyGuesses(wait)
  }

  async function delayCheck(network: string): Promise<void> {
    const at = Math.max(now(), nextChecks.get(network) ?? 0)
    const delay = at - now()
    if (delay > longestDelay) throw tooManyGuesses(Math.ceil(delay / 1000))
    nextChecks.set(network, at + spacing, at + spacing)
    await new Promise((resolve) => setTimeout(resolve, delay))
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
    async runAtOnce(network, isGuessable, check) {
      if (network === undefined) return await check()
      const isBlocked = waitOf(network) > 0
      if (isBlocked && isGuessable) await delayCheck(network)
      if (await check()) return true
      countFailure(network)
      if (isBlocked) requirePatience(network)
      return false
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
