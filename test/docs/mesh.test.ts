import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { toListener } from '../../src/core/node/listener.ts'
import { meshPair } from '../support/mesh/mesh-peers.ts'
import { readAsSnippet, snippetsOf } from '../support/package/snippets.ts'
import { closedPort, listenOnFreePort } from '../support/servers/http-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { acceptSockets, connectTo } from './mesh/sockets.ts'
import { linkToUntrusted } from './mesh/untrusted-endpoints.ts'

const [program = '', ...others] = await snippetsOf('guides/mesh.md')

it('the first snippet of the guide prints the documented result', async () => {
  const file = join(await temporaryDirectory(), 'snippet.ts')
  await writeFile(file, program.replaceAll('8080', String(await closedPort())))
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 })
  expect(stdout).toContain("{ symbol: 'TEA', price: 4.25 }")
})

it.each(['sockets', 'untrusted-endpoints'])('the guide shows %s.ts, which these tests run', async (name) => {
  expect(others).toHaveLength(2)
  const page = await readFile(new URL('../../docs/guides/mesh.md', import.meta.url), 'utf8')
  expect(page).toContain(await readAsSnippet(new URL(`./mesh/${name}.ts`, import.meta.url)))
})

it('the server of the guide accepts requests over WebSocket and by POST', async () => {
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
  const postLink = shop.link({ agentId: 'price-agent', endpoint: `http://127.0.0.1:${port}/mesh` })
  expect(await postLink.request('get_price')).toEqual({ symbol: 'TEA', price: 4.25 })
})

it('the guarded fetch of the guide refuses private addresses', async () => {
  const { shop } = await meshPair()
  const link = linkToUntrusted(shop, 'price-agent', 'http://127.0.0.1:1/mesh')
  await expect(link.request('get_price')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})
