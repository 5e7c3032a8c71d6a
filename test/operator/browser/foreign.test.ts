import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchChromium } from '../../support/processes/chromium.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { startSdkServer } from '../../support/sdk/sdk-server.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, say, seriousViolations } from './support/open-console.ts'

const { start } = shareCli()

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

/** The address that `parley console` prints. It is valid once. */
async function startRelay(args: readonly string[]): Promise<string> {
  const relay = start(['console', ...args, '-o', 'json'])
  const [, address = ''] = await relay.until(/"url":"([^"]+)"/)
  return address
}

it('an agent of the official SDK is shown with its own card, tasks and wire', async () => {
  const url = await startSdkServer()
  const { page } = await openConsole(browser, await startRelay([url]))
  const console = new URL('/console', page.url()).href
  await say(page, 'count')
  await page.getByText('Counted').first().waitFor()

  await page.goto(`${console}/agents/ada`)
  const interfaces = page.getByRole('table')
  await interfaces.getByText(`${url}/rest`).first().waitFor()
  expect(await interfaces.getByRole('row').count()).toBe(5)
  await page.getByText('Unknown: a card does not say').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])

  await page.goto(`${console}/tasks`)
  await page.getByText('1 tasks').first().waitFor()
  await page.getByRole('link', { name: /count/ }).first().click()
  await page.getByText('Another server has this task').first().waitFor()
  expect(await page.getByRole('tab', { name: 'Steps' }).count()).toBe(0)

  await page.goto(`${console}/wire/ada`)
  const panel = page.getByRole('region', { name: 'First request' })
  const body = panel.getByLabel('Body', { exact: true })
  await expect.poll(() => body.inputValue(), { timeout: 15_000 }).toContain('"SendMessage"')
  expect(await panel.getByLabel('Address').inputValue()).toBe(`${url}/rpc`)
  expect(await panel.getByLabel('Version').locator('option').allTextContents()).toEqual(['A2A 1.0', 'A2A 0.3'])
  await panel.getByLabel('Operation').selectOption('listPushConfigs')
  await panel.getByLabel('Task id').fill('none')
  await expect.poll(() => body.inputValue()).toContain('"none"')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('HTTP 200').first().waitFor()
  await panel.getByText('History').click()
  await panel.getByRole('button', { name: /ListTaskPushNotificationConfigs/ }).waitFor()

  await page.getByRole('tab', { name: 'Log' }).click()
  const rows = page.getByRole('list', { name: 'Requests' })
  await rows.getByText('SendStreamingMessage').click()
  const exchange = page.getByRole('article')
  await exchange.getByText('TASK_STATE_COMPLETED').first().waitFor()
  await exchange.getByText('Headers').last().click()
  await exchange.getByText('x-powered-by: Express').first().waitFor()
  for (const name of ['curl', 'parley', 'TypeScript'])
    await exchange.getByRole('button', { name, exact: true }).waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await page.getByLabel('Search').fill('nowhere to be found')
  await page.getByText('No request matches these filters.').first().waitFor()
  await page.getByLabel('Search').fill('ListTaskPush')
  await rows.getByText('ListTaskPushNotificationConfigs').first().waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export HAR' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('parley.har')
})

it('the first page connects to an agent, and a refused call asks for its credentials', async () => {
  const url = await startSdkServer({
    card: () => ({
      securitySchemes: { main: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { main: { list: [] } } }],
      skills: [{ id: 'count', name: 'Count', description: 'Counts to three' }],
    }),
    guard(request, response, next) {
      if (request.headers.authorization === 'Bearer token-0123456789') next()
      else response.status(401).set('www-authenticate', 'Bearer').json({ error: 'no token' })
    },
  })
  const { page } = await openConsole(browser, await startRelay([]))
  await page.getByRole('heading', { name: 'Connect to an agent' }).waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await page.getByLabel('Address of the agent').fill('http://127.0.0.1:9')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Address of the agent').fill(url)
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('The card breaks the schema of its version').first().waitFor()
  await page.getByText('skills[0].tags: is missing').first().waitFor()

  await page.getByRole('link', { name: 'Chat' }).click()
  await say(page, 'hello')
  const dialog = page.getByRole('dialog', { name: 'Ada needs credentials' })
  expect(await dialog.getByRole('combobox', { name: 'Credentials' }).inputValue()).toBe('bearer')
  expect(await seriousViolations(page)).toEqual([])
  await dialog.getByLabel('Token').fill('token-0123456789')
  await dialog.getByRole('button', { name: 'Connect' }).click()
  await dialog.waitFor({ state: 'detached' })
  await say(page, 'hello')
  await page.getByText('hi', { exact: true }).first().waitFor()
  const stored = await page.evaluate(async () => {
    const names = (await indexedDB.databases()).map(({ name }) => name)
    return JSON.stringify([names, { ...localStorage }, { ...sessionStorage }])
  })
  expect(stored).not.toContain('token-0123456789')

  await page.getByRole('link', { name: 'Connect' }).click()
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByRole('heading', { name: 'Recent' }).waitFor()
  await page.getByRole('button', { name: `Ada ${url}` }).click()
  expect(await page.getByLabel('Address of the agent').inputValue()).toBe(url)
})

it('the console of a server connects to no other agents', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/connect`)
  await page.getByText('There is no such page').first().waitFor()
  expect(await page.getByRole('link', { name: 'Connect' }).count()).toBe(0)
})
