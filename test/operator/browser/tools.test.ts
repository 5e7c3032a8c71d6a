import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Scheme } from '../../../src/entries/auth.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { consoleWithLogin, startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations } from './support/open-console.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

it('a request is composed, edited and sent, and its raw answer is shown', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/wire/sales-assistant`)
  const panel = page.getByRole('region', { name: 'First request' })
  const body = panel.getByLabel('Body', { exact: true })
  await expect.poll(() => body.inputValue(), { timeout: 15_000 }).toContain('"SendMessage"')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('HTTP 200').first().waitFor()
  await panel.getByText('You said: Hello Parley').first().waitFor()

  await body.fill('{ "jsonrpc": ')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('-32700').first().waitFor()
  await panel.getByRole('button', { name: 'Undo edits' }).click()
  await expect.poll(() => body.inputValue(), { timeout: 15_000 }).toContain('"SendMessage"')

  await panel.getByLabel('Operation').selectOption('streamMessage')
  await panel.getByLabel('Text').fill('stream 3')
  await expect.poll(() => body.inputValue()).toContain('stream 3')
  await panel.getByRole('button', { name: 'Send' }).click()
  await panel.getByText('Wrote 3 words').first().waitFor()
  expect(await panel.getByRole('list', { name: 'Events' }).getByRole('listitem').count()).toBeGreaterThan(3)
  expect(await seriousViolations(page)).toEqual([])

  await page.reload()
  await expect.poll(() => body.inputValue()).toContain('stream 3')
  await page.goBack()
  await expect.poll(() => panel.getByLabel('Operation').inputValue()).toBe('sendMessage')
})

it('two versions are compared side by side, by an address that can be shared', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/wire/sales-assistant?left=1.0+REST`)
  await page.getByLabel('Compare two').check()
  const first = page.getByRole('region', { name: 'First request' })
  const second = page.getByRole('region', { name: 'Second request' })
  await expect
    .poll(() => second.getByLabel('Body', { exact: true }).inputValue(), { timeout: 15_000 })
    .toContain('"message/send"')
  for (const panel of [first, second]) {
    await panel.getByRole('button', { name: 'Send' }).click()
    await panel.getByText('You said: Hello Parley').first().waitFor()
  }
  await page.reload()
  await second.waitFor()
  expect(await first.getByLabel('Binding').inputValue()).toBe('REST')
  expect(await second.getByLabel('Version').inputValue()).toBe('0.3')
})

it('the conformance suite reports every check, with its evidence', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/agents/sales-assistant/conformance`)
  await page.getByRole('button', { name: 'Run conformance' }).click()
  await page.getByRole('button', { name: 'Run again' }).waitFor({ timeout: 50_000 })
  await page
    .getByText(/^Passed: \d+/)
    .first()
    .waitFor()
  expect(await page.locator('.finding').count()).toBeGreaterThan(20)
  await page.getByRole('button', { name: 'Copy report as JSON' }).waitFor()
  await page.locator('.finding summary').first().click()
  // Hundreds of alike lines take long to check.
  await page.getByLabel('Only problems').check()
  expect(await seriousViolations(page)).toEqual([])
})

it('the doctor shows each probe and each finding while it runs', async () => {
  const gate = Promise.withResolvers<void>()
  const { url } = await startConsoleServer({
    // The interfaces of 1.0 answer at once, and those of earlier versions when the gate opens.
    auth: { anonymous: true, schemes: { token: slowScheme(gate.promise) } },
    console: { auth: 'none' },
  })
  const { page } = await openConsole(browser, `${url}/agents/sales-assistant/doctor`)
  await page.getByRole('button', { name: 'Run doctor' }).click()
  await page.getByText('JSONRPC 1.0 works.').first().waitFor()
  await page
    .getByText(/^Probing JSONRPC 0\.3… 3 of \d+ probes so far$/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  gate.resolve()
  await page.getByRole('button', { name: 'Run again' }).waitFor({ timeout: 50_000 })
  await page
    .getByText(/^(\d+) of \1 probes made$/)
    .first()
    .waitFor()
  await page.getByText('JSONRPC 0.3 works.').first().waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await seriousViolations(page)).toEqual([])
})

function slowScheme(opened: Promise<void>): Scheme {
  return {
    card: { type: 'http', scheme: 'bearer' },
    challenge: () => 'Bearer',
    async authenticate({ header }) {
      if (/^0\./.test(header('a2a-version') ?? '0.3')) await opened
      return undefined
    },
  }
}

it('viewers cannot send raw requests', async () => {
  const { url } = await startConsoleServer(await consoleWithLogin())
  const { page } = await openConsole(browser, `${url}/wire/sales-assistant`)
  await page.getByLabel('Token or key').fill('viewer-key')
  await page.keyboard.press('Enter')
  const send = page.getByRole('button', { name: 'Send' })
  await send.waitFor()
  expect(await send.getAttribute('aria-disabled')).toBe('true')
})
