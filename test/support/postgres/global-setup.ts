import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import type { PostgresServer } from './server.ts'
import { startPostgresProcess } from './server-process.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Starts the PostgreSQL server of this test run on the first request, and responds with its URL. */
    readonly postgresStarterUrl: string
  }
}

let server: Promise<PostgresServer> | undefined
const starter = createServer(async (_, response) => {
  try {
    server ??= startPostgresProcess({ fsync: 'off', max_connections: '200' })
    response.end((await server).url)
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})

/** One PostgreSQL server per test run, started on demand. Without fsync: its data need not survive a crash. */
export async function setup({ provide }: TestProject): Promise<void> {
  starter.listen(0, '127.0.0.1')
  await once(starter, 'listening')
  provide('postgresStarterUrl', `http://127.0.0.1:${(starter.address() as AddressInfo).port}`)
}

export async function teardown(): Promise<void> {
  starter.close()
  starter.closeAllConnections()
  const running = await server?.catch(() => undefined)
  await running?.stop()
}
