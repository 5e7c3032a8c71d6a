/**
 * SHA-256 (FIPS 180-4) without waiting. WebCrypto hashes in another thread: for something as short as a token that
 * costs four times the CPU time, and every request a turn of the event loop. Nothing secret depends on its timing.
 */
export function sha256(text: string): Uint8Array {
  const bytes = padded(text)
  const view = new DataView(bytes.buffer)
  const hash = new Int32Array(start)
  for (let at = 0; at < bytes.length; at += 64) {
    for (let n = 0; n < 16; n++) words[n] = view.getInt32(at + n * 4)
    compress(hash)
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (let n = 0; n < 8; n++) digest.setInt32(n * 4, hash[n] ?? 0)
  return new Uint8Array(digest.buffer)
}

const encoder = new TextEncoder()

/** §5.1.1: a bit, zeros, and the length in bits, to a multiple of 64 bytes. */
function padded(text: string): Uint8Array<ArrayBuffer> {
  const encoded = encoder.encode(text)
  const bytes = new Uint8Array((((encoded.length + 8) >> 6) + 1) << 6)
  bytes.set(encoded)
  bytes[encoded.length] = 0x80
  const view = new DataView(bytes.buffer)
  view.setUint32(bytes.length - 8, encoded.length / 2 ** 29)
  view.setUint32(bytes.length - 4, encoded.length << 3)
  return bytes
}

/** The first 64 prime numbers, of whose roots the constants are the fractions (§4.2.2, §5.3.3). */
const primes: number[] = []
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0
const start = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)))

/** Used again for every block: nothing waits in between. */
const words = new Int32Array(64)

/** §6.2.2. */
function compress(hash: Int32Array): void {
  for (let n = 16; n < 64; n++) {
    const x = words[n - 15] ?? 0
    const y = words[n - 2] ?? 0
    const small0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const small1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    words[n] = ((words[n - 16] ?? 0) + small0 + (words[n - 7] ?? 0) + small1) | 0
  }
  let a = hash[0] ?? 0
  let b = hash[1] ?? 0
  let c = hash[2] ?? 0
  let d = hash[3] ?? 0
  let e = hash[4] ?? 0
  let f = hash[5] ?? 0
  let g = hash[6] ?? 0
  let h = hash[7] ?? 0
  for (let n = 0; n < 64; n++) {
    const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const first = (h + big1 + ((e & f) ^ (~e & g)) + (constants[n] ?? 0) + (words[n] ?? 0)) | 0
    const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  add(hash, 0, a)
  add(hash, 1, b)
  add(hash, 2, c)
  add(hash, 3, d)
  add(hash, 4, e)
  add(hash, 5, f)
  add(hash, 6, g)
  add(hash, 7, h)
}

function add(hash: Int32Array, at: number, word: number): void {
  hash[at] = ((hash[at] ?? 0) + word) | 0
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += hex[byte]
  return text
}

/** Undefined if it is not hexadecimal. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[\da-f]{2})+$/i.test(text)) return undefined
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

/** Takes the same time wherever they differ. Of different lengths are only things that are no secret. */
export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false
  let difference = 0
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at] ?? 0)
  return difference === 0
}
