import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import { agent } from '../../../src/entries/index.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { assistant, createRefunder } from './support/console-agents.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, say, seriousViolations } from './support/open-console.ts'
import { createResearcher } from './support/research-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

async function openResearch(options: { readonly showsTools: boolean; readonly width?: number }) {
  const { server, url } = await startConsoleServer({}, { '/': assistant })
  server.add(createResearcher(server.url, options.showsTools), { mount: '/research' })
  const { width = 1280 } = options
  return await openConsole(browser, `${url}/chat/research`, { width, theme: width < 500 ? 'dark' : 'light' })
}

it('tool calls and called agents are cards with arguments, result, state and time', async () => {
  const { page } = await openResearch({ showsTools: true })
  await say(page, 'What about chairs?')
  await page.getByText('The price is').first().waitFor()
  const cards = page.locator('.work-card')
  await expect.poll(() => cards.count(), { timeout: 15_000 }).toBe(4)
  await cards.nth(0).locator('summary').click()
  await cards.nth(0).getByRole('definition').filter({ hasText: 'chairs' }).waitFor()
  await cards.nth(0).getByRole('figure', { name: 'Result' }).getByText('"Report 3"').first().waitFor()
  expect(await cards.nth(0).locator('summary').textContent()).toMatch(/search.*Completed.*\d+ m?s/)
  expect(await cards.nth(1).locator('summary').textContent()).toContain('Failed')
  expect(await cards.nth(3).locator('summary').textContent()).toMatch(/AgentSales assistant.*Completed/)
  expect(await seriousViolations(page)).toEqual([])
  await cards.nth(3).locator('summary').click()
  await cards.nth(3).getByRole('link', { name: 'Open the called task' }).click()
  await page.getByRole('heading', { name: /report/ }).waitFor()
})

it('the card of a tool whose agent tells nothing about it is completed by the trace of the task', async () => {
  const { page } = await openResearch({ showsTools: false, width: 390 })
  await say(page, 'What about chairs?')
  await page.getByText('The price is').first().waitFor()
  const card = page.locator('.work-card').first()
  await card.locator('summary').click()
  await card.getByRole('figure', { name: 'Result' }).getByText('"Report 3"').first().waitFor()
  await card.getByText('Completed').first().waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  expect(await seriousViolations(page)).toEqual([])
})

it('an approval shows the arguments as a table, and its deadline', async () => {
  const { url } = await startConsoleServer({}, { '/refunds': createRefunder() })
  const { page } = await openConsole(browser, `${url}/chat/refunds`)
  await say(page, 'Refund A-1047')
  const card = page.getByRole('article', { name: 'Approval' })
  await card.getByRole('term').filter({ hasText: 'amount' }).waitFor()
  await card.getByRole('definition').filter({ hasText: '129.5' }).waitFor()
  await card
    .getByText(/min \d+ s left|5 min left/)
    .first()
    .waitFor()
  await page.getByRole('link', { name: 'Open task' }).waitFor()
  await card.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('The order is settled.').first().waitFor()
  await card.getByText('Approved').first().waitFor()
})

it('an answered form stays a form after a reload, and entries have a time, a copy and a raw view', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/chat/sales-assistant`)
  await say(page, 'form')
  await page.getByLabel('name').fill('Ada')
  await page.getByLabel('copies').fill('3')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('Completed').first().waitFor()
  await page.reload()
  const form = page.getByRole('group', { name: 'What was answered' })
  expect(await form.getByLabel('copies').inputValue()).toBe('3')
  expect(await form.getByLabel('copies').isDisabled()).toBe(true)
  const message = page.getByRole('article', { name: 'You' }).first()
  await message.locator('time').waitFor()
  await message.getByRole('button', { name: 'Raw' }).click()
  await message.getByRole('figure', { name: 'Raw parts' }).getByText('"form"').first().waitFor()
  await page
    .getByText(/^took \d/)
    .first()
    .waitFor()
})

it('an artifact with JSON is downloaded', async () => {
  const data = agent({ name: 'Data' }, async (turn) => {
    await turn.data({ price: 7 })
    await turn.status('completed')
  })
  const { url } = await startConsoleServer({}, { '/': data })
  const { page } = await openConsole(browser, `${url}/chat/data`)
  await say(page, 'go')
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  expect((await download).suggestedFilename()).toMatch(/\.json$/)
})

it('a file that the agent does not accept is refused before it is sent', async () => {
  const { url } = await startConsoleServer({}, { '/': agent({ name: 'Echo' }, ({ text }) => text) })
  const { page } = await openConsole(browser, `${url}/chat/echo`)
  const picker = page.locator('input[type=file]')
  await picker.waitFor({ state: 'attached' })
  await expect
    .poll(
      async () => {
        await picker.setInputFiles({ name: 'chart.png', mimeType: 'image/png', buffer: Buffer.from('x') })
        return await page.getByText(/does not accept chart.png \(image\/png\)/).count()
      },
      { timeout: 15_000 },
    )
    .toBe(1)
  expect(await page.getByRole('list', { name: 'Files' }).count()).toBe(0)
})

it('a message that could not be sent is edited and sent again', async () => {
  let isBroken = true
  const flaky = agent({ name: 'Flaky' }, ({ text }) => {
    if (isBroken) throw new A2AError('invalid-params', `No ${text}`)
    return `Received ${text}`
  })
  const { url } = await startConsoleServer({}, { '/': flaky })
  const { page } = await openConsole(browser, `${url}/chat/flaky`)
  await say(page, 'chairs')
  await page.getByText('No chairs').first().waitFor()
  isBroken = false
  await page.getByRole('button', { name: 'Edit' }).click()
  const field = page.getByRole('textbox', { name: 'Message' })
  expect(await field.inputValue()).toBe('chairs')
  const isFocused = () => field.evaluate((element) => element === document.activeElement)
  await expect.poll(isFocused, { timeout: 15_000 }).toBe(true)
  await field.fill('tables')
  await field.press('Enter')
  await page.getByText('Received tables').first().waitFor()
  expect(await page.getByText('No chairs').count()).toBe(0)
})
