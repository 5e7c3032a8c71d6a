/** Bytes as standard base64, without a `Buffer`, so that it runs wherever `fetch` is. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  const step = 0x8000 // as many arguments as every engine takes in one call
  for (let at = 0; at < bytes.length; at += step) binary += String.fromCharCode(...bytes.subarray(at, at + step))
  return btoa(binary)
}
