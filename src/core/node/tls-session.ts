import { connect } from 'node:tls'

const timeout = 15_000

/** What a TLS handshake shows of a host. */
interface TlsSession {
  readonly validTo: string
  readonly protocol: string
}

/**
 * Opens a TLS session and closes it. Undefined if there is none. Nothing is sent over the connection, so certificates and
 * versions that no client should trust are accepted, to be found.
 */
export function inspectTls(host: string, port: number, signal: AbortSignal): Promise<TlsSession | undefined> {
  return new Promise((resolve) => {
    const isName = !/^[\d.]+$|:/.test(host)
    const socket = connect({
      host,
      port,
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
      servername: isName ? host : '',
    })
    const end = (session?: TlsSession) => {
      signal.removeEventListener('abort', abort)
      socket.destroy()
      resolve(session)
    }
    const abort = () => end()
    signal.addEventListener('abort', abort)
    socket.setTimeout(timeout, () => end())
    socket.once('error', () => end())
    socket.once('secureConnect', () => {
      const { valid_to: validTo } = socket.getPeerCertificate()
      end(validTo ? { validTo, protocol: socket.getProtocol() ?? '' } : undefined)
    })
  })
}
