import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnFreePort } from './http-server.ts'

/** A proxy in front of a port whose connections can be interrupted. */
export interface TcpProxy {
  readonly port: number
  /** Resets all connections and rejects new ones. */
  cut(): void
  /** Keeps the connections open but forwards nothing. */
  freeze(): void
  heal(): void
}

/** `target` is called for each connection and may return a different port each time. */
export async function createTcpProxy(target: () => number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let state: 'open' | 'cut' | 'frozen' = 'open'

  const server = createServer({ pauseOnConnect: true }, (inbound) => {
    inbound.on('error', () => {})
    if (state === 'cut') {
      inbound.resetAndDestroy()
      return
    }
    const outbound = connect(target(), '127.0.0.1')
    const pair = [inbound, outbound] as const
    pairs.add(pair)
    outbound.on('error', () => inbound.resetAndDestroy())
    for (const [from, to] of [pair, [outbound, inbound] as const]) {
      from.setNoDelay(true)
      from.on('data', (chunk) => void (to.writable && to.write(chunk)))
      from.on('end', () => to.end())
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    if (state === 'frozen') outbound.pause()
    else inbound.resume()
  })

  function destroyAll() {
    for (const [inbound, outbound] of pairs) {
      inbound.resetAndDestroy()
      outbound.resetAndDestroy()
    }
  }
  onTestFinished(() => {
    destroyAll()
    server.close()
  })

  return {
    port: await listenOnFreePort(server),
    cut() {
      state = 'cut'
      destroyAll()
    },
    freeze() {
      state = 'frozen'
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    heal() {
      state = 'open'
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
  }
}
