import { toHex } from '../base/hash.ts'

/** Whether a text has the form of the ids of our tasks. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{12}-[0-9a-f]{32}$/.test(text)
}

/**
 * Creates the id of a task or a context: the time and 128 random bits. It cannot be guessed, because it is all that
 * protects the task of a caller without credentials. Ids that grow with time are neighbours in the index of a store,
 * which makes creating a task on SQLite a third cheaper. A suffix of hexadecimal digits takes the place of the last random ones.
 */
export function newId(suffix = ''): string {
  const now = Date.now()
  if (now !== prefixTime) {
    prefixTime = now
    prefix = `${now.toString(16).padStart(12, '0')}-`
  }
  if (usedDigits === randomDigits.length) {
    randomDigits = toHex(crypto.getRandomValues(randomBytes))
    usedDigits = 0
  }
  usedDigits += 32
  return prefix + randomDigits.slice(usedDigits - 32, usedDigits - suffix.length) + suffix
}

/** The beginning of the ids of the current millisecond. Numbers take long to convert. */
let prefix = ''

let prefixTime = 0

/** Reading many random bytes at once costs as much as reading few. */
const randomBytes = new Uint8Array(1024)

let randomDigits = ''

let usedDigits = 0
