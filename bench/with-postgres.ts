import { startPostgresProcess } from '../test/support/postgres/server-process.ts'
import { unpin } from './server-process.ts'

/** Starts a PostgreSQL server with its defaults and these settings, passes its URL, and stops it afterwards. */
export async function withPostgres<T>(
  work: (url: string) => Promise<T>,
  settings?: Readonly<Record<string, string>>,
): Promise<T> {
  using _ = unpin()
  const server = await startPostgresProcess(settings)
  try {
    return await work(server.url)
  } finally {
    await server.stop()
  }
}
