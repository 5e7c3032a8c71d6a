import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchChromium } from '../../support/processes/chromium.ts'
import { createTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, say, seriousViolations } from './support/open-console.ts'
import { createDispatcher } from './support/tool-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

async function openChat(agent = 'sales-assistant') {
  const { server, url } = await startConsoleServer()
  return { server, url, ...(await openConsole(browser, `${url}/chat/${agent}`)) }
}

/** The numbers in the artifact that `slow` and `stream` write. */
async function numbersIn(page: Page): Promise<readonly number[]> {
  const text = (await page.locator('.entry-artifact .markdown').last().textContent()) ?? ''
  return [...text.matchAll(/word(\d+)/g)].map(([, number]) => Number(number))
}

/** Everything that the browser has stored about conversations, as JSON. */
function storedConversations(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const [{ name = '' } = {}] = await indexedDB.databases()
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(name)
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
    const all = await new Promise((resolve) => {
      const request = database.transaction('conversations').objectStore('conversations').getAll()
      request.onsuccess = () => resolve(request.result)
    })
    database.close()
    return JSON.stringify(all)
  })
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

it('a message, a task with files, data and Markdown, and a failure appear in the conversation', async () => {
  const { page } = await openChat()
  await page.getByRole('button', { name: 'Sales of the north in the first quarter' }).click()
  await page.getByText('You said: Sales of the north in the first quarter').first().waitFor()
  await say(page, 'report')
  await page.getByText('Completed').first().waitFor()
  await page.getByRole('cell', { name: '1,204,000' }).waitFor()
  expect(await page.getByRole('link', { name: 'the method' }).getAttribute('rel')).toContain('noopener')
  expect(await page.getByRole('img', { name: 'chart.png' }).evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(
    10,
  )
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download chart.png' }).click()
  expect((await download).suggestedFilename()).toBe('chart.png')
  await say(page, 'fail')
  await page.getByText('The warehouse does not answer').first().waitFor()
  await page.getByText('Failed').first().waitFor()
})

it('questions are answered by buttons, forms, text, credentials and decisions', async () => {
  const { page, url } = await openChat()
  await say(page, 'choose')
  await page.getByRole('button', { name: 'south' }).click()
  await page.getByText('You chose south').first().waitFor()
  expect(await page.getByText('Which region?').count()).toBe(1)

  await say(page, 'form')
  await page.getByLabel('name').fill('A')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('Enter at least 2 characters.').first().waitFor()
  await page.getByText('This field is required.').first().waitFor()
  await page.getByLabel('name').fill('Ada')
  await page.getByLabel('copies').fill('3')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('3 copies for Ada').first().waitFor()

  await say(page, 'login')
  await page.getByLabel('Token', { exact: true }).fill('s3cret')
  expect(await page.getByLabel('Token', { exact: true }).getAttribute('type')).toBe('password')
  await page.getByRole('button', { name: 'Send credentials' }).click()
  await page.getByText('Received 6 characters').first().waitFor()
  expect(await page.content()).not.toContain('s3cret')

  await say(page, 'login')
  await page.getByLabel('Type of credentials for github').selectOption('User name and password')
  await page.getByLabel('User name').fill('ada')
  await page.getByLabel('Password').fill('päss')
  await page.getByRole('button', { name: 'Send credentials' }).click()
  const encoded = Buffer.from('ada:päss').toString('base64')
  await page.getByText(`Received ${encoded.length} characters`).first().waitFor()
  expect(await storedConversations(page)).not.toMatch(new RegExp(`s3cret|päss|${encoded}`))

  await page.goto(`${url}/chat/refunds`)
  await say(page, 'Refund order A-1047')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('The order is settled.').first().waitFor()
})

it('the caller runs a tool by the form of its result, as text, as JSON, or reports its failure', async () => {
  const { url } = await startConsoleServer({}, { '/': createDispatcher() })
  const { page } = await openConsole(browser, `${url}/chat/dispatcher`)
  await say(page, 'locate')
  const call = page.getByRole('article', { name: 'Tool call' })
  await call.getByText('route planning').first().waitFor()
  expect(await call.getByRole('definition').allTextContents()).toEqual(['true', 'route planning'])
  await call.getByRole('button', { name: 'Send result' }).click()
  await call.getByText('This field is required.').first().waitFor()
  await call.getByLabel('city').fill('Bern')
  expect(await seriousViolations(page)).toEqual([])
  await call.getByRole('button', { name: 'Send result' }).click()
  await page.getByText('Received text: {"city":"Bern"}').first().waitFor()

  await say(page, 'measure')
  const open = call.last()
  await open.getByLabel('JSON').check()
  await open.getByLabel('Result as JSON').fill('{ "bar": ')
  await open.getByRole('button', { name: 'Send result' }).click()
  await open.getByText('This is not valid JSON').first().waitFor()
  await open.getByLabel('Result as JSON').fill('{ "bar": 2.4 }')
  await open.getByRole('button', { name: 'Send result' }).click()
  await page.getByText('Received text: {"bar":2.4}').first().waitFor()

  await say(page, 'measure')
  await open.getByLabel('Result as text').fill('2.4 bar')
  await open.getByRole('button', { name: 'Send result' }).click()
  await page.getByText('Received text: 2.4 bar').first().waitFor()

  await say(page, 'measure')
  await open.getByLabel('It failed').check()
  await open.getByLabel('What went wrong').fill('the gauge is broken')
  await open.getByRole('button', { name: 'Report the failure' }).click()
  await page.getByText('The tool failed: the gauge is broken').first().waitFor()
  await page.getByText('Received error-text: the gauge is broken').first().waitFor()

  await say(page, 'unlock')
  const secret = open.getByLabel('Result as text')
  expect(await secret.getAttribute('type')).toBe('password')
  await secret.fill('open-sesame')
  await open.getByRole('button', { name: 'Send result' }).click()
  await page.getByText('Sensitive answer sent').first().waitFor()
  expect(await storedConversations(page)).not.toContain('open-sesame')
})

it('the form of a typed skill, JSON and files are sent as such', async () => {
  const { page } = await openChat()
  const kind = page.getByLabel('Kind of message')
  await kind.selectOption({ label: 'Form: Report' })
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('This field is required.').first().waitFor()
  await page.getByRole('radio', { name: 'south' }).check()
  await page.getByLabel('quarter').fill('2')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Report of south, quarter 2').first().waitFor()

  await kind.selectOption('json')
  await page.getByRole('textbox', { name: 'JSON' }).fill('{ "a": ')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('This is not valid JSON').first().waitFor()

  await kind.selectOption('text')
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('one two') })
  await say(page, 'files')
  await page.getByText('a.txt has 7 bytes').first().waitFor()
})

it('a task is canceled while it works', async () => {
  const { page } = await openChat()
  await say(page, 'wait')
  await page.getByText('Waiting for you to cancel').first().waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('Canceled').first().waitFor()
})

it('a page that is reloaded in the middle of a stream shows every chunk once', async () => {
  const { page } = await openChat()
  await say(page, 'slow 150')
  await page.getByText('word20').first().waitFor()
  await page.reload()
  await page.getByText('Wrote 150 words').first().waitFor()
  expect(await numbersIn(page)).toEqual(upTo(150))
  await page.reload()
  await page.getByText('Wrote 150 words').first().waitFor()
  expect(await numbersIn(page)).toEqual(upTo(150))
})

it('a stream continues exactly after the connection was cut, and the page says so meanwhile', async () => {
  const { server } = await startConsoleServer()
  const proxy = await createTcpProxy(() => Number(new URL(server.url).port))
  const { page } = await openConsole(browser, `http://127.0.0.1:${proxy.port}/console/chat/sales-assistant`)
  await say(page, 'slow 200')
  await page.getByText('word20').first().waitFor()
  proxy.cut()
  await page.getByText('Reconnecting…').first().waitFor()
  proxy.heal()
  await page.getByText('Wrote 200 words').first().waitFor()
  expect(await numbersIn(page)).toEqual(upTo(200))
  await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
})

it('an answer of 4,000 chunks keeps the page responsive', async () => {
  const { page } = await openChat()
  await page.evaluate(() => {
    const gaps: number[] = []
    let last = performance.now()
    const measure = (now: number) => {
      gaps.push(now - last)
      last = now
      requestAnimationFrame(measure)
    }
    requestAnimationFrame(measure)
    Object.assign(globalThis, { gaps })
  })
  await say(page, 'stream 4000')
  await page.getByText('Wrote 4000 words').waitFor({ timeout: 40_000 })
  const gaps = await page.evaluate(() => (globalThis as unknown as { gaps: number[] }).gaps.toSorted((a, b) => a - b))
  expect(gaps[Math.floor(gaps.length / 2)]).toBeLessThan(100)
  expect((await numbersIn(page)).length).toBe(4000)
})

it('conversations stay side by side, each with its own address', async () => {
  const { page } = await openChat()
  await say(page, 'first words')
  await page.getByText('You said: first words').first().waitFor()
  await page.getByRole('button', { name: 'New conversation' }).click()
  await say(page, 'second words')
  await page.getByText('You said: second words').first().waitFor()
  await page
    .getByRole('navigation', { name: 'Conversations' })
    .getByRole('link', { name: 'first words', exact: true })
    .click()
  await page.getByText('You said: first words').first().waitFor()
  await page.goBack()
  await page.getByText('You said: second words').first().waitFor()
  await page.reload()
  await page.getByText('You said: second words').first().waitFor()
  await page.getByRole('link', { name: 'Show first words beside' }).click()
  const beside = page.getByRole('region', { name: 'Beside: first words' })
  await beside.getByText('You said: first words').first().waitFor()
  await page.getByText('You said: second words').first().waitFor()
  await beside.getByRole('textbox', { name: 'Message' }).fill('third words')
  await page.keyboard.press('Enter')
  await beside.getByText('You said: third words').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await page.reload()
  await beside.getByText('You said: third words').first().waitFor()
  await page.goBack()
  await beside.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Close second words' }).click()
  await page.getByText('You said: first words').first().waitFor()
})
