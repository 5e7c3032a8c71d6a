/** A `Uint8Array<ArrayBuffer>`. Before TypeScript 5.7, `Uint8Array` has no type parameter. */
export type Bytes = ReturnType<Uint8Array['slice']>

/** Encodes bytes as padded standard base64 (RFC 4648 §4) without `Buffer`. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  const step = 0x8000 // an argument count that every engine accepts
  for (let at = 0; at < bytes.length; at += step) {
    // Spreading would iterate, which takes five times as long.
    binary += String.fromCharCode.apply(null, bytes.subarray(at, at + step) as unknown as number[])
  }
  return btoa(binary)
}

/** Decodes standard base64, padded or not; returns undefined if the text is not base64. */
export function fromBase64(text: string): Bytes | undefined {
  try {
    const binary = atob(text)
    const bytes = new Uint8Array(binary.length)
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
    return bytes
  } catch {
    return undefined
  }
}

/** Encodes bytes as base64url without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Decodes base64url; returns undefined if the text is not base64url. */
export function fromBase64Url(text: string): Bytes | undefined {
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}
