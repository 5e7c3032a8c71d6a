import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { toListener } from '../../src/node/listener.ts'
import { meshPair } from '../support/mesh/mesh-peers.ts'
import { snippetsOf } from '../support/package/snippets.ts'
import { closedPort, listenOnFreePort } from '../support/servers/http-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { acceptSockets, connectTo } from './mesh/sockets.ts'
import { linkToStranger } from './mesh/strangers.ts'

const [program = '', ...others] = await snippetsOf('mesh.md')

it('the first snippet of the guide runs, and says what the guide says', async () => {
  const file = join(await temporaryDirectory(), 'snippet.ts')
  await writeFile(file, program.replaceAll('8080', String(await closedPort())))
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 })
  expect(stdout).toContain("{ symbol: 'TEA', price: 4.25 }")
})

it.each(['sockets', 'strangers'])('the snippet about %s is code that is tested here', async (name) => {
  expect(others).toHaveLength(2)
  const page = await readFile(new URL('../../docs/mesh.md', import.meta.url), 'utf8')
  const code = await readFile(new URL(`./mesh/${name}.ts`, import.meta.url), 'utf8')
  const shown = code
    .replace('../../../src/mesh/index.ts', 'parley-a2a/mesh')
    .replace('../../../src/node/guard/index.ts', 'parley-a2a/node')
  expect(page).toContain(shown)
})

it('the sockets of the guide carry requests beside those that are posted', async () => {
  const { shop, price } = await meshPair()
  const server = createServer(toListener(price.exchange))
  acceptSockets(server, price)
  const port = await listenOnFreePort(server)
  const link = connectTo(shop, `ws://127.0.0.1:${port}/mesh`)
  onTestFinished(async () => {
    link.close()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  expect(await link.request('get_price')).toEqual({ symbol: 'TEA', price: 4.25 })
  const posted = shop.link({ agentId: 'price-agent', endpoint: `http://127.0.0.1:${port}/mesh` })
  expect(await posted.request('get_price')).toEqual({ symbol: 'TEA', price: 4.25 })
})

it('the guard of the guide keeps a stranger from leading into the own network', async () => {
  const { shop } = await meshPair()
  const link = linkToStranger(shop, 'price-agent', 'http://127.0.0.1:1/mesh')
  await expect(link.request('get_price')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})
