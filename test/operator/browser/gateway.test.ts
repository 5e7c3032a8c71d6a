import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { connect } from '../../../src/entries/client.node.ts'
import { apiKeyCredentials } from '../../../src/entries/client-auth.ts'
import { startGateway } from '../../gateway/support.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { closedPort } from '../../support/servers/http-server.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { openConsole, seriousViolations, useLinkOf } from './support/open-console.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

async function startFleet() {
  const { server } = await startTestServer(async () => 'done', { profile: { name: 'Prices' } })
  const gone = `http://127.0.0.1:${await closedPort()}`
  const keys = [
    { id: 'ada', hash: await hashApiKey('ada-key') },
    { id: 'eve', hash: await hashApiKey('eve-key') },
  ]
  const gateway = await startGateway({
    agents: { prices: { url: server.url, urls: [gone] }, gone: { url: gone } },
    from: [{ catalog: `${gone}/catalog.json` }],
    auth: { schemes: { key: apiKey({ keys }) } },
    rules: [{ name: 'no eve', principal: 'eve', effect: 'deny' }, { name: 'others' }],
    console: {},
  })
  useLinkOf(gateway)
  const asCaller = (key: string, dialect: 'v1.0' | 'v0.3') =>
    connect(`${gateway.url}/prices`, { auth: [apiKeyCredentials(key)], dialects: [dialect] })
  for (const dialect of ['v1.0', 'v0.3'] as const) await (await asCaller('ada-key', dialect)).send('go')
  await expect((await asCaller('eve-key', 'v1.0')).send('go')).rejects.toMatchObject({ code: 'forbidden' })
  return gateway
}

it('the gateway page shows agents, addresses, versions, traffic and refused calls', async () => {
  const gateway = await startFleet()
  const { page } = await openConsole(browser, `${gateway.url}/console/gateway`)
  await page.getByText('1 of 2 agents are ready').first().waitFor()
  const prices = page.getByRole('article', { name: 'prices' })
  await prices.getByText('Impaired').first().waitFor()
  await prices.getByText('1.0 (2), 0.3 (1)').first().waitFor()
  await prices.getByText('1.0 over JSONRPC').first().waitFor()
  await prices.getByRole('img', { name: /^3 calls in the last hour/ }).waitFor()
  expect(await prices.getByRole('table', { name: 'Addresses of prices' }).getByRole('row').count()).toBe(3)
  await prices.getByText('Callers, operations, errors and losses').click()
  await prices.getByRole('cell', { name: /ada/ }).waitFor()
  await prices.getByText('no eve').first().waitFor()
  await page.getByRole('article', { name: 'gone' }).getByText('Unreachable').first().waitFor()
  const refused = page.getByRole('table', { name: 'The last calls that a rule refused' })
  await refused.getByRole('cell', { name: 'no eve' }).waitFor()
  await page.getByRole('table', { name: 'Catalogs and registries that list agents' }).waitFor()
  expect(await seriousViolations(page)).toEqual([])
})

it.each([
  ['light', 390],
  ['dark', 1024],
] as const)('the gateway page is accessible and fits in %s at %d pixels', async (theme, width) => {
  const gateway = await startFleet()
  const { page } = await openConsole(browser, `${gateway.url}/console/gateway`, { theme, width })
  await page.getByText('Callers, operations, errors and losses').first().click()
  await page.getByRole('table', { name: 'The last calls that a rule refused' }).waitFor()
  expect(await seriousViolations(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
})
