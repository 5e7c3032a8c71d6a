import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { browserCookie, type ServerWithLink } from '../../../support/servers/operator-login.ts'

/** Servers of the running test whose console is opened by their link. */
const servers = new Set<ServerWithLink>()

/** Lets `openConsole` log in to a server. */
export function useLinkOf(server: ServerWithLink): void {
  servers.add(server)
  onTestFinished(() => void servers.delete(server))
}

/** A page of the console. After the test, it must have neither thrown, nor violated its policy, nor called other hosts. */
export async function openConsole(browser: Browser, url: string, options: OpenOptions = {}): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: 800 },
    colorScheme: options.theme ?? 'light',
    reducedMotion: 'reduce',
    locale: 'en-US',
  })
  // A test may have closed a server and started another one.
  const sessions = await Promise.allSettled([...servers].map((server) => browserCookie(server, url)))
  await context.addCookies(sessions.flatMap((session) => (session.status === 'fulfilled' ? [session.value] : [])))
  const page = await context.newPage()
  const problems: string[] = []
  const foreign: string[] = []
  page.on('pageerror', (error) => problems.push(`${error}`))
  page.on('console', (message) => {
    const isPolicy = /content security policy|trusted/i.test(message.text())
    if (isPolicy) problems.push(message.text())
  })
  const { origin } = new URL(url)
  page.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(origin) && !/^(?:data|blob):/.test(address)) foreign.push(address)
  })
  page.setDefaultTimeout(15_000)
  onTestFinished(async () => {
    await context.close()
    expect(problems).toEqual([])
    expect(foreign).toEqual([])
  })
  await page.goto(url)
  return { page, context }
}

export interface OpenOptions {
  readonly width?: number
  readonly theme?: 'light' | 'dark'
}

export interface ConsolePage {
  readonly page: Page
  readonly context: BrowserContext
}

/** Writes a message in the chat and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
let axe: Promise<string> | undefined

/** Serious and critical violations of accessibility rules. */
export async function seriousViolations(page: Page): Promise<readonly string[]> {
  axe ??= readFile(axePath, 'utf8')
  const script = await axe
  // The policy of the page forbids scripts of others, and the debugger is exempt from it.
  await page.evaluate(script)
  return await page.evaluate(async () => {
    const { axe: runner } = globalThis as unknown as { axe: AxeRunner }
    const { violations } = await runner.run(document, { resultTypes: ['violations'] })
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
  })
}

interface AxeRunner {
  run(
    root: Document,
    options: object,
  ): Promise<{
    readonly violations: readonly {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string }[]
    }[]
  }>
}
