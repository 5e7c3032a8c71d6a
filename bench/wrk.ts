import { spawn, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sendBody } from './calls.ts'
import type { Load } from './load.ts'

/** Whether the load generator wrk is installed (`apt-get install wrk`). */
export const hasWrk = spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error === undefined

export interface WrkOptions {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  /** A request whose message id is replaced by a new one each time. Defaults to a small task in 1.0. */
  readonly body?: string
  readonly version?: string
  /** Additional headers as `name: value`; each request uses one of them, in turn. */
  readonly headers?: readonly string[]
  /** Where its script is written. */
  readonly directory: string
}

/** Sends small tasks with new message ids from one thread of wrk, which uses a tenth of the CPU of a generator in JavaScript. */
export async function loadWithWrk(options: WrkOptions): Promise<Load> {
  const { port, connections, seconds, directory } = options
  const { body = sendBody('Hello', 'SendMessage'), version = '1.0', headers = [] } = options
  const script = join(directory, 'send.lua')
  await writeFile(script, scriptOf(body, version, headers))
  const output = await run(['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, `http://127.0.0.1:${port}/`])
  const requests = Number(/(\d+) requests in/.exec(output)?.[1])
  if (/Non-2xx|Socket errors/.test(output) || !(requests > 0)) throw new Error(`wrk failed: ${output}`)
  return { requests, seconds: requests / Number(/Requests\/sec: *([\d.]+)/.exec(output)?.[1]) }
}

function scriptOf(body: string, version: string, moreHeaders: readonly string[]): string {
  const [before, after] = body.split('m-00000000')
  const lists = (moreHeaders.length > 0 ? moreHeaders : ['']).map((header) => {
    const [name, value] = header.split(/: (.*)/)
    const more = value === undefined ? '' : `, ['${name}'] = '${value}'`
    return `{ ['content-type'] = 'application/json', ['a2a-version'] = '${version}'${more} }`
  })
  return `
    local count = 0
    local run = os.time() .. '-' .. math.floor(os.clock() * 1000000)
    local headers = { ${lists.join(', ')} }
    request = function()
      count = count + 1
      return wrk.format('POST', '/', headers[count % #headers + 1], '${before}m-' .. run .. '-' .. count .. '${after}')
    end`
}

function run(args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  child.once('error', reject)
  child.once('close', () => resolve(output))
  return promise
}
