import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import type { PostgresServer } from './server.ts'
import { startPostgresProcess } from './server-process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a test asks for the address of the PostgreSQL of this run. */
    readonly postgresDesk: string
  }
}

let server: Promise<PostgresServer> | undefined
const desk = createServer(async (_, response) => {
  try {
    server ??= startPostgresProcess({ fsync: 'off', max_connections: '200' })
    response.end((await server).url)
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})

/** One PostgreSQL for a whole run, started when the first test asks for it. Nothing of it has to survive a crash. */
export async function setup({ provide }: TestProject): Promise<void> {
  desk.listen(0, '127.0.0.1')
  await once(desk, 'listening')
  provide('postgresDesk', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)
}

export async function teardown(): Promise<void> {
  desk.close()
  desk.closeAllConnections()
  const running = await server?.catch(() => undefined)
  await running?.stop()
}
