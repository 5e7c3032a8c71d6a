import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { configuredKeys, createMeshPeer, generateSigningKey } from '../../../src/entries/mesh.ts'
import { startRegistryServer } from '../../registry/registry-fixtures.ts'
import { silentLogger } from '../../support/logger.ts'
import { meshCard } from '../../support/mesh/mesh-peers.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { assistant } from './support/console-agents.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations, useLinkOf } from './support/open-console.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

it('the wire page sends gRPC messages and shows each message of a stream', async () => {
  const { url } = await startConsoleServer({ grpc: true }, assistant)
  const { page } = await openConsole(browser, `${url}/wire/sales-assistant?left=1.0+GRPC`)
  const panel = page.getByRole('region', { name: 'First request' })
  const body = panel.getByLabel('Body', { exact: true })
  await expect.poll(() => body.inputValue()).toContain('Hello Parley')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('gRPC OK').first().waitFor()
  await panel.getByText('You said: Hello Parley').first().waitFor()

  await body.fill('{ "unknown": 1 }')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('The body is not the JSON of a lf.a2a.v1.SendMessageRequest').first().waitFor()

  await panel.getByLabel('Operation').selectOption('streamMessage')
  await panel.getByLabel('Text').fill('stream 3')
  await expect.poll(() => body.inputValue()).toContain('stream 3')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('Wrote 3 words').first().waitFor()
  expect(await panel.getByRole('list', { name: 'Events' }).getByRole('listitem').count()).toBeGreaterThan(3)
})

it('the mesh page shows peers and envelopes', async () => {
  const [key, shopKey] = await Promise.all([generateSigningKey(), generateSigningKey()])
  const mesh = { key, keys: await configuredKeys({ 'shop-agent': shopKey.jwk }) }
  const { server, url } = await startConsoleServer({ mesh }, assistant)
  const { page } = await openConsole(browser, `${url}/mesh`)
  await page.getByText('No peers yet').first().waitFor()
  const shop = createMeshPeer({
    ...{ card: meshCard('shop-agent'), key: shopKey, logger: silentLogger },
    keys: await configuredKeys({ 'sales-assistant': key.jwk }),
  })
  await shop.link({ agentId: 'sales-assistant', endpoint: `${server.url}/mesh` }).handshake()
  await page.reload()
  await page.getByRole('heading', { name: 'shop-agent' }).waitFor()
  await page.getByText('established').first().waitFor()
  await page.getByRole('cell', { name: 'handshake_ack' }).waitFor()
  expect(await seriousViolations(page)).toEqual([])
})

it('the console of a registry opens on its agents, which can be added, searched and probed', async () => {
  const { server } = await startConsoleServer({}, assistant)
  const registry = await startRegistryServer()
  useLinkOf(registry)
  const { page } = await openConsole(browser, `${registry.url}/console/`)
  await page.getByText('No agents yet').first().waitFor()
  expect(page.url()).toBe(`${registry.url}/console/registry`)
  expect(await page.getByRole('navigation').getByRole('link', { name: 'Chat' }).count()).toBe(0)
  await page.getByLabel('Address of an agent').fill(server.url)
  await page.getByRole('button', { name: 'Add' }).click()
  const agent = page.getByRole('listitem').filter({ hasText: server.url })
  await agent.getByText('Up', { exact: true }).first().waitFor()
  await agent.getByRole('button', { name: 'Probe now' }).click()
  await agent.getByRole('list', { name: '1 of the last 1 probes succeeded' }).waitFor()
  await page.getByLabel('Search agents').fill('nothing like it')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('No agent matches').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
})
