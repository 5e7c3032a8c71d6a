/** What of a request a signature is made of (RFC 9421 §2). */
export interface SignedMessage {
  readonly method: string
  /** As the receiver is known to others, with the query. */
  readonly url: string
  header(name: string): string | undefined
}

/** The text that is signed. Undefined if something that is covered is not there, or is not known. */
export function signatureBase(
  message: SignedMessage,
  components: readonly string[],
  parameters: string,
): string | undefined {
  const lines: string[] = []
  for (const name of components) {
    const value = componentOf(message, name)
    if (value === undefined) return undefined
    lines.push(`"${name}": ${value}`)
  }
  return [...lines, `"@signature-params": ${parameters}`].join('\n')
}

function componentOf({ method, url, header }: SignedMessage, name: string): string | undefined {
  if (!name.startsWith('@')) return header(name)?.trim()
  const { protocol, host, pathname, search } = new URL(url)
  switch (name) {
    case '@method':
      return method
    case '@target-uri':
      return url
    case '@authority':
      return host
    case '@scheme':
      return protocol.slice(0, -1)
    case '@path':
      return pathname
    case '@query':
      return search === '' ? '?' : search
    default:
      return undefined
  }
}
