import pg from 'pg'
import { beforeAll, inject } from 'vitest'

/** A new, empty database on the PostgreSQL server of this test run. */
export interface Database {
  readonly url: string
  /** Drops the database, also with open connections. */
  drop(): Promise<void>
}

export async function createDatabase(): Promise<Database> {
  const server = await serverUrl()
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await asAdministrator(server, `CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => asAdministrator(server, `DROP DATABASE ${name} WITH (FORCE)`) }
}

/** Starts the server before the first test of a file, for tests with short timeouts. */
export function startServerFirst(): void {
  beforeAll(async () => void (await serverUrl()), 60_000)
}

async function serverUrl(): Promise<string> {
  const configured = process.env.PARLEY_TEST_POSTGRES
  if (configured) return configured
  const response = await fetch(inject('postgresStarterUrl'))
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return text
}

async function asAdministrator(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
