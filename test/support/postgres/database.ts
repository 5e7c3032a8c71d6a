import pg from 'pg'
import { beforeAll, inject } from 'vitest'

/** An empty database of its own on the PostgreSQL of this run. */
export interface Database {
  readonly url: string
  /** Removes it, whoever is still connected. */
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

/** For files whose tests have little time: starts the server before the first of them. */
export function startServerFirst(): void {
  beforeAll(async () => void (await serverUrl()), 60_000)
}

async function serverUrl(): Promise<string> {
  const given = process.env.PARLEY_TEST_POSTGRES
  if (given) return given
  const answer = await fetch(inject('postgresDesk'))
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
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
