import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import { onTestFinished, vi } from 'vitest'

/** An Express app on a port of this machine, gone after the test. Cards must know the port, so it comes first. */
export async function startExpressServer(mount: (app: Express, origin: string) => void): Promise<string> {
  const app = express()
  // The SDKs tell there what they tell our client, too.
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
