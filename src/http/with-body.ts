import { BodyTooLarge, type Incoming } from './exchange.ts'

/** The same request, whose body is being read already: it may be asked for again, within any limit. */
export function withBody(incoming: Incoming, body: Promise<Uint8Array>): Incoming {
  // Who asks hears of a failure; it is no one's fault if nobody does.
  body.catch(() => {})
  return {
    method: incoming.method,
    path: incoming.path,
    query: incoming.query,
    base: incoming.base,
    secure: incoming.secure,
    certificate: () => incoming.certificate(),
    header: incoming.header,
    async bytes(limit) {
      const bytes = await body
      if (bytes.length > limit) throw new BodyTooLarge(limit)
      return bytes
    },
    get signal() {
      return incoming.signal
    },
  }
}
