import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { serve } from '../../../src/serve/serve.ts'
import { silentLogger } from '../../support/logger.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { hostileText } from './support/console-agents.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, say, useLinkOf } from './support/open-console.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

/** No script of an agent ran, none of its elements exists, and the page is as wide as the window. */
async function expectUnharmed(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    attacked: (globalThis as unknown as { attacked?: unknown }).attacked,
    elements: document.querySelectorAll(
      'main :is(script, iframe, object, embed, form[action], style, base, meta, [onerror], [onload], [style*=fixed])',
    ).length,
    links: [...document.querySelectorAll<HTMLAnchorElement>('main .markdown a')].map((link) => link.protocol),
    images: [...document.images].map(({ src }) => new URL(src).protocol),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }))
  expect(found).toMatchObject({ attacked: undefined, elements: 0, overflow: 0 })
  expect(found.links.filter((protocol) => !/^(?:https?|mailto):$/.test(protocol))).toEqual([])
  expect(found.images.filter((protocol) => !/^(?:http|data|blob):$/.test(protocol))).toEqual([])
}

it.each([1280, 360])('messages, data and file names of a hostile agent stay text at %i pixels', async (width) => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/chat/sales-assistant`, { width })
  await say(page, hostileText)
  await page.getByText('You said: <script>').first().waitFor()
  await say(page, 'hostile')
  await page.getByText('Completed').first().waitFor()
  // Whatever the agent could load or run has done so.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  await page.waitForFunction(() => [...document.images].every(({ complete }) => complete))
  await expectUnharmed(page)
  expect(await page.getByText('track (http://tracker.example/pixel.png)').count()).toBeGreaterThan(0)
  const names = await page.locator('.entry-artifact header').allTextContents()
  expect(names.join()).not.toContain('\u202e')
  const download = page.waitForEvent('download')
  await page
    .getByRole('link', { name: /Download/ })
    .last()
    .click()
  expect((await download).suggestedFilename()).not.toMatch(/[\\/\u202e<>]/)
})

it('a hostile card stays text on every page that shows it', async () => {
  const text = hostileText.slice(0, 1_500)
  const hostile = agent(
    {
      name: text.slice(0, 200),
      description: text,
      skills: [{ id: 'a', name: text.slice(0, 200), description: text, tags: [text.slice(0, 100)] }],
    },
    () => 'hi',
  )
  const directory = await temporaryDirectory()
  const server = await serve(hostile, { port: 0, signals: false, logger: silentLogger, directory })
  onTestFinished(() => server.close())
  useLinkOf(server)
  const { page } = await openConsole(browser, `${server.url}/console/`)
  await page.getByRole('link', { name: 'Agent' }).click()
  await page.getByRole('heading', { name: 'Skills' }).waitFor()
  await expectUnharmed(page)
  await page.getByRole('tab', { name: 'JSON' }).click()
  await page.getByText('"skills"').first().waitFor()
  await expectUnharmed(page)
})

it('10 MB of JSON are shown step by step', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/chat/sales-assistant`)
  await say(page, 'big')
  await page.getByText('Completed').first().waitFor()
  await page.getByRole('button', { name: 'Show more' }).click()
  const shown = await page.getByRole('figure', { name: 'Data' }).locator('pre').textContent()
  expect(shown?.length).toBeGreaterThan(200_000)
  expect(shown?.length).toBeLessThan(250_000)
})
