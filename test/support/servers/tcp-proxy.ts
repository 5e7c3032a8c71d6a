import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnFreePort } from './http-server.ts'

/** A way to a port, through which nothing may get for a while. */
export interface TcpProxy {
  readonly port: number
  /** Breaks all connections and takes no new ones. */
  cut(): void
  /** Keeps the connections and lets nothing through. */
  freeze(): void
  heal(): void
}

/** To one port, or for each connection to another. */
export async function createTcpProxy(target: () => number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let state: 'open' | 'cut' | 'frozen' = 'open'

  const server = createServer({ pauseOnConnect: true }, (near) => {
    near.on('error', () => {})
    if (state === 'cut') {
      near.resetAndDestroy()
      return
    }
    const far = connect(target(), '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    far.on('error', () => near.resetAndDestroy())
    for (const [from, to] of [pair, [far, near] as const]) {
      from.setNoDelay(true)
      from.on('data', (chunk) => void (to.writable && to.write(chunk)))
      from.on('end', () => to.end())
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    if (state === 'frozen') far.pause()
    else near.resume()
  })

  function destroyAll() {
    for (const [near, far] of pairs) {
      near.resetAndDestroy()
      far.resetAndDestroy()
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
