import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { PostgresServer } from './server.ts'

const host = fileURLToPath(new URL('./server-process-main.ts', import.meta.url))

/** Starts a PostgreSQL that does not outlive this process, however that ends. */
export async function startPostgresProcess(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const child = spawn(process.execPath, [host, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (text) => {
    complaints += text
  })
  const exited = once(child, 'exit')
  const url = await Promise.race([once(createInterface(child.stdout), 'line').then(String), exited.then(() => '')])
  if (!url) throw new Error(`PostgreSQL did not start: ${complaints}`)
  return {
    url,
    async stop() {
      child.stdin.end()
      await exited
    },
  }
}
