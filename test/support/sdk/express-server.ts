import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import { onTestFinished, vi } from 'vitest'

/** Serves an Express app on loopback. It listens before `mount`, because cards contain the port. Closed after the test. */
export async function startExpressServer(mount: (app: Express, origin: string) => void): Promise<string> {
  const app = express()
  // Silences the SDKs, which also log the errors that they return.
  const spies = (['error', 'warn', 'info', 'log'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation(() => {}),
  )
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    for (const spy of spies) spy.mockRestore()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  mount(app, origin)
  return origin
}
