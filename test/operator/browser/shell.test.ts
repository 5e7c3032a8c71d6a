import { readdirSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { startHttpServer } from '../../support/servers/http-server.ts'
import { browserCookie } from '../../support/servers/operator-login.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { consoleWithLogin, startConsoleServer } from './support/console-server.ts'
import { openConsole, say, seriousViolations } from './support/open-console.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

describe('logging in', () => {
  it('a deep link asks for credentials and then shows its page', async () => {
    const { url } = await startConsoleServer(await consoleWithLogin())
    const { page } = await openConsole(browser, `${url}/agents/refunds/json?version=0.3`)
    await page.getByLabel('Token or key').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('The credentials were not accepted.').first().waitFor()
    expect(await seriousViolations(page)).toEqual([])
    await page.getByLabel('Token or key').fill('operator-key')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'A2A 0.3' }).waitFor()
    expect(page.url()).toContain('/agents/refunds/json?version=0.3')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token or key').waitFor()
  })

  it('a session that ends keeps the page, and a new login continues it', async () => {
    const { url } = await startConsoleServer(await consoleWithLogin({ sessionLifetime: 4_000 }))
    const { page } = await openConsole(browser, `${url}/chat/sales-assistant`)
    await page.getByLabel('Token or key').fill('operator-key')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Message' }).fill('draft that must stay')
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await page.getByLabel('Token or key').fill('operator-key')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('draft that must stay')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('You said: draft that must stay').first().waitFor()
  })

  it('a person who logs in after another one sees none of their conversations', async () => {
    const { url } = await startConsoleServer(await consoleWithLogin({ sessionLifetime: 3_000 }))
    const { page } = await openConsole(browser, `${url}/chat/sales-assistant`)
    await page.getByLabel('Token or key').fill('operator-key')
    await page.keyboard.press('Enter')
    await say(page, 'a secret of olga')
    await page.getByText('You said: a secret of olga').first().waitFor()
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await page.getByLabel('Token or key').fill('viewer-key')
    await page.keyboard.press('Enter')
    await page.getByText('Talk to Sales assistant').first().waitFor()
    expect(await page.getByText('a secret of olga').count()).toBe(0)
  })

  it('a viewer sees why actions are disabled', async () => {
    const { url } = await startConsoleServer(await consoleWithLogin())
    const { page } = await openConsole(browser, `${url}/chat/sales-assistant`)
    await page.getByLabel('Token or key').fill('viewer-key')
    await page.keyboard.press('Enter')
    const send = page.getByRole('button', { name: 'Send', exact: true })
    await send.waitFor()
    expect(await send.getAttribute('aria-disabled')).toBe('true')
    expect(await send.getAttribute('title')).toContain('viewer')
    await page.getByRole('textbox', { name: 'Message' }).fill('hello')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Your role is viewer').first().waitFor()
    expect(await page.getByText('You said').count()).toBe(0)
  })
})

describe('the shell', () => {
  it.each(['light', 'dark'] as const)(
    'every page is accessible, without a scroll bar at 360 pixels (%s)',
    async (theme) => {
      const { url } = await startConsoleServer()
      const { page } = await openConsole(browser, `${url}/chat/sales-assistant`, { theme, width: 360 })
      await say(page, 'report')
      await page.getByText('Completed').first().waitFor()
      await say(page, 'form')
      await page.getByLabel('copies').waitFor()
      const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
      await page.getByRole('button', { name: 'Menu' }).click()
      const titles = await links.allTextContents()
      expect(titles.length).toBeGreaterThan(3)
      for (const width of [360, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        for (const [index, title] of titles.entries()) {
          const menu = page.getByRole('button', { name: 'Menu' })
          if (width === 360 && (await menu.getAttribute('aria-expanded')) === 'false') await menu.click()
          await links.nth(index).click()
          await expect.poll(() => page.locator('.shell-menu').getAttribute('aria-expanded')).toBe('false')
          await page.locator('main :is(h1, h2)').first().waitFor()
          await page.locator('.state-loading').waitFor({ state: 'detached' })
          // A page that is being replaced may be seen half done.
          await expect.poll(() => seriousViolations(page), { message: title, timeout: 10_000 }).toEqual([])
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          expect(overflow, title).toBeLessThanOrEqual(0)
        }
      }
    },
  )

  it('the keyboard alone reaches the content, the navigation and the composer', async () => {
    const { url } = await startConsoleServer()
    const { page } = await openConsole(browser, `${url}/agents/refunds`)
    await page.getByRole('heading', { name: 'Refunds', exact: true }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')
    await page.getByRole('tab', { name: 'Card' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('"supportedInterfaces"').first().waitFor()
    expect(page.url()).toContain('/agents/refunds/json')
    await page.goBack()
    await page.getByRole('heading', { name: 'Skills' }).waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chat' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1')
    await page.getByRole('textbox', { name: 'Message' }).focus()
    await page.keyboard.type('hi')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Decline' }).waitFor()
  })

  it('an unknown address, an unknown agent and the theme switch work', async () => {
    const { url } = await startConsoleServer()
    const { page } = await openConsole(browser, `${url}/nothing/here`)
    await page.getByText('There is no such page').first().waitFor()
    await page.getByRole('link', { name: 'Start page', exact: true }).click()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    const light = await background()
    await page.getByLabel('Theme').selectOption('dark')
    await expect.poll(background).not.toBe(light)
    await page.reload()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await expect.poll(background).not.toBe(light)
    // A page that this server does not have.
    await page.goto(`${url}/registry`)
    await page.getByText('There is no such page').first().waitFor()
    await page.goto(`${url}/agents/none`)
    await page.getByText('There is no such agent').first().waitFor()
  })

  it('deep links, chat and pages work behind a proxy that adds a prefix', async () => {
    let target = ''
    const origin = await startHttpServer(async (incoming, outgoing) => {
      const path = incoming.url?.replace(/^\/ops/, '') ?? ''
      const { host: _, connection: __, ...headers } = incoming.headers
      const body = incoming.method === 'POST' ? await text(incoming) : undefined
      const response = await fetch(`${target}${path}`, {
        ...(body !== undefined && { body }),
        method: `${incoming.method}`,
        headers: { ...(headers as Record<string, string>), 'accept-encoding': 'identity', origin: target },
      })
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      try {
        for await (const chunk of response.body ?? []) outgoing.write(chunk)
        outgoing.end()
      } catch {
        outgoing.destroy() // the server has closed a stream
      }
    })
    const { server } = await startConsoleServer({ publicUrl: `${origin}/ops` })
    target = `http://127.0.0.1:${server.port}`
    const { page } = await openConsole(browser, `${origin}/ops/console/agents/sales-assistant/json`)
    await page.getByText('"supportedInterfaces"').first().waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chat' }).click()
    await say(page, 'hello')
    await page.getByText('You said: hello').first().waitFor()
    expect(page.url()).toContain('/ops/console/chat/sales-assistant/')
  })

  it('the console waits for a server that restarts, and then continues', async () => {
    const directory = await temporaryDirectory()
    const first = await startConsoleServer({ directory })
    const port = Number(new URL(first.server.url).port)
    const { page } = await openConsole(browser, `${first.url}/chat/sales-assistant`)
    await say(page, 'ask')
    await page.getByLabel('Your answer').waitFor()
    await first.server.close()
    await page.getByLabel('Your answer').fill('Ada')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByText('Reconnecting…').first().waitFor()
    await startConsoleServer({ directory, port })
    await page.getByText('Reconnecting…').waitFor({ state: 'detached' })
  })
})

it('the first load is at most 120 kB, compressed', async () => {
  const { server, url } = await startConsoleServer()
  const files = new Set<string>()
  const context = await browser.newContext()
  await context.addCookies([await browserCookie(server)])
  const page = await context.newPage()
  page.on('response', (response) => files.add(new URL(response.url()).pathname))
  await page.goto(`${url}/`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await context.close()
  const folder = fileURLToPath(new URL('../../../dist/console/assets/', import.meta.url))
  const loaded = readdirSync(folder).filter((name) => files.has(`/console/assets/${name}`))
  const bytes = loaded.reduce((sum, name) => sum + gzipSync(readFileSync(folder + name)).length, 0)
  expect(loaded.length).toBeGreaterThan(2)
  expect(bytes).toBeLessThan(120_000)
})

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000 })

it('keys search, move in lists, go anywhere and explain themselves', async () => {
  const { server, url } = await startConsoleServer()
  const client = await connect(server.url)
  await client.send('fail').catch(() => {})
  await client.send('report')
  await client.send('stream 3')
  const { page } = await openConsole(browser, `${url}/tasks`)
  const list = page.getByRole('list', { name: 'Tasks' }).getByRole('listitem')
  await eventually(() => list.count()).toBe(3)
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
  await page.keyboard.press('j')
  await eventually(focused).toContain('stream 3')
  await page.keyboard.press('j')
  await eventually(focused).toContain('report')
  await page.keyboard.press('k')
  await eventually(focused).toContain('stream 3')
  await page.keyboard.press('/')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search')
  // In a field, keys are letters.
  await page.keyboard.type('j?')
  expect(await page.getByRole('searchbox', { name: /^Search/ }).inputValue()).toBe('j?')
  await page.getByRole('searchbox', { name: /^Search/ }).fill('')

  await page.keyboard.press('Control+k')
  const palette = page.getByRole('combobox', { name: 'Page, agent or task' })
  await palette.waitFor()
  await page.getByRole('option', { name: /report/ }).waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await page.keyboard.type('chat with ref')
  await page.getByRole('option', { name: /Chat with Refunds/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/chat\/refunds/)
  await page.keyboard.press('Control+k')
  await palette.fill('repor')
  const option = page.getByRole('option', { name: /^report/ })
  await option.waitFor()
  await option.click()
  await page.getByRole('heading', { name: 'report', level: 1 }).waitFor()

  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard' })
  await help.getByText('Next item of the list').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await help.getByLabel('Single keys act').uncheck()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  await page.keyboard.press('Control+k')
  await palette.waitFor()
  expect(await help.count()).toBe(0)
})
