import { BodyTooLarge, type Exchange, type Incoming, type Outgoing } from '../http/exchange.ts'

/** More than any credentials that are looked at. */
const tooLong = 32 * 1024

/**
 * The answer to a request whose headers did not fit, if what did not fit are its credentials: the 401 that they would
 * have got. Undefined if it is not known, as when the request came in small pieces, or if nobody asks for credentials.
 */
export async function answerCutOff(
  exchange: Exchange,
  packet: Uint8Array | undefined,
  secure: boolean,
): Promise<Outgoing | undefined> {
  const incoming = packet && incomingOf(Buffer.from(packet).toString('latin1'), secure)
  if (!incoming) return undefined
  try {
    const outgoing = await exchange(incoming)
    return outgoing.status === 401 ? outgoing : undefined
  } catch {
    return undefined
  }
}

/** Undefined unless it is the beginning of a request that breaks off in its credentials. */
function incomingOf(text: string, secure: boolean): Incoming | undefined {
  const [head = '', ...lines] = text.split('\r\n')
  const [, method = '', target = ''] = /^([A-Z]+) (\/\S*) HTTP\/1\.1$/.exec(head) ?? []
  const fields = new Map(lines.map(fieldOf))
  if (method === '' || !/^authorization:/i.test(lines.at(-1) ?? '')) return undefined
  const [path = '/', query = ''] = target.split('?', 2)
  const scheme = fields.get('authorization')?.split(' ', 1)[0]
  fields.set('authorization', `${scheme} ${'x'.repeat(tooLong)}`)
  return {
    method,
    path,
    query,
    base: '',
    secure,
    header: (name) => fields.get(name),
    bytes: (limit) => Promise.reject(new BodyTooLarge(limit)),
    signal: new AbortController().signal,
    certificate: () => undefined,
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}
