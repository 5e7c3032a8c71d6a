/**
 * The signature of ECDSA as two numbers of 32 bytes, from the form in which most libraries outside the web write it:
 * a DER sequence of two integers. Only its canonical spelling is read.
 */
export function fromDer(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der.length > 72) return undefined
  const first = integerAt(der, 2)
  const second = first && integerAt(der, first.end)
  if (!second || second.end !== der.length) return undefined
  const raw = new Uint8Array(64)
  raw.set(first.digits, 32 - first.digits.length)
  raw.set(second.digits, 64 - second.digits.length)
  return raw
}

function integerAt(der: Uint8Array, at: number): { readonly digits: Uint8Array; readonly end: number } | undefined {
  const length = der[at + 1] ?? 0
  const end = at + 2 + length
  if (der[at] !== 0x02 || length === 0 || end > der.length) return undefined
  const [first = 0, next = 0] = der.subarray(at + 2, end)
  // Negative, or with a zero that nobody needs.
  if (first > 0x7f || (first === 0 && length > 1 && next < 0x80)) return undefined
  const digits = der.subarray(first === 0 && length > 1 ? at + 3 : at + 2, end)
  return digits.length > 32 ? undefined : { digits, end }
}
