import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { PeerCertificate } from '../http/exchange.ts'

/** The certificate that a caller showed on its connection, if it is encrypted and it did. */
export function certificateOf(socket: Socket | TLSSocket | undefined): PeerCertificate | undefined {
  // HTTP/2 has a stand-in for the socket, which knows its members but not that they are `in` it.
  if (!socket || !isTls(socket)) return undefined
  const shown = socket.getPeerCertificate()
  // Without one there is an empty object.
  if (!shown?.raw) return undefined
  return {
    isTrusted: socket.authorized,
    subject: distinguishedName(shown.subject as Readonly<Record<string, string | string[]>>),
    names: alternativeNames(shown.subjectaltname ?? ''),
    fingerprint: shown.fingerprint256.replaceAll(':', '').toLowerCase(),
    expires: Date.parse(shown.valid_to),
  }
}

function isTls(socket: Socket | TLSSocket): socket is TLSSocket {
  return (socket as TLSSocket).encrypted === true
}

/** In the order of the certificate, with what has a meaning in such a name escaped (RFC 4514 §2.4). */
function distinguishedName(subject: Readonly<Record<string, string | string[]>> = {}): string {
  const attributes = Object.entries(subject).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}=${value.replace(/[\\",+;<>=]|^[ #]| $/g, '\\$&')}`),
  )
  return attributes.join(',')
}

/** `DNS:a, URI:spiffe://b/c`. Values that could be mistaken for more than one are quoted as in JSON. */
function alternativeNames(text: string): Record<string, readonly string[]> {
  const names: Record<string, string[]> = {}
  const entry = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y
  for (let match = entry.exec(text); match; match = entry.exec(text)) {
    const [, kind = '', value = ''] = match
    names[kind] ??= []
    names[kind].push(value.startsWith('"') ? (JSON.parse(value) as string) : value)
    if (entry.lastIndex >= text.length) return names
  }
  // What cannot be read to its end is not believed at all.
  return text === '' ? names : {}
}
