import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { argv } from 'node:process'
import type { Page } from 'playwright-core'
import { startDemo } from '../test/operator/browser/support/demo-server.ts'
import { launchChromium } from '../test/support/processes/chromium.ts'

/**
 * Makes a screenshot of every page of the console, in both themes and at two widths, from a server with real tasks. Build
 * the console before.
 *
 *     node scripts/console-screenshots.ts [folder] [page…]
 *     node scripts/console-screenshots.ts readme
 */
const isForReadme = argv[2] === 'readme'
const folder = resolve(isForReadme ? 'docs/images' : (argv[2] ?? 'node_modules/.cache/console-screenshots'))
const only = isForReadme ? ['chat', 'task', 'inbox'] : argv.slice(3)
const themes = ['light', 'dark'] as const
const widths = [1440, 360] as const

await using demo = await startDemo()
const { tasks, url, meshUrl, registryUrl } = demo

interface Shot {
  /** Where the page is: below the console, or at another server. */
  readonly path: string
  /** What happens on it before it is shown. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

/** The pages that only show what the server has, before those that change it. */
const shots: Readonly<Record<string, Shot>> = {
  tasks: { path: 'tasks' },
  'tasks-waiting': { path: 'tasks?state=waiting' },
  'tasks-none': { path: 'tasks?search=nothing' },
  task: { path: `tasks/sales-assistant/${tasks.streamed}` },
  'task-event': { path: `tasks/sales-assistant/${tasks.streamed}?event=4` },
  'task-waiting': { path: `tasks/refunds/${tasks.waiting}` },
  'task-artifacts': { path: `tasks/sales-assistant/${tasks.reported}/artifacts` },
  'task-messages': { path: `tasks/sales-assistant/${tasks.reported}/history` },
  'task-steps': { path: `tasks/orders/${tasks.steps}/steps` },
  'task-trace': { path: `tasks/orders/${tasks.called}/trace` },
  'task-log': { path: `tasks/orders/${tasks.called}/log` },
  'task-versions': { path: `tasks/sales-assistant/${tasks.reported}/versions?version=0.1` },
  'task-replay': {
    path: `tasks/sales-assistant/${tasks.streamed}/replay`,
    prepare: async (page) => {
      await page.getByLabel('Speed').selectOption('64')
      await page.getByRole('button', { name: 'Play' }).click()
      await page.getByRole('button', { name: 'Play' }).waitFor()
    },
  },
  'task-missing': { path: 'tasks/orders/none' },
  inbox: { path: 'inbox' },
  'inbox-one': { path: `inbox/refunds/${tasks.waiting}` },
  overview: { path: 'overview' },
  'overview-day': { path: 'overview?window=day&agent=sales-assistant' },
  agent: { path: 'agents/sales-assistant' },
  json: { path: 'agents/sales-assistant/json?version=0.3' },
  doctor: { path: 'agents/refunds/doctor', prepare: (page) => runCheck(page, 'Run doctor') },
  webhooks: { path: 'webhooks' },
  deliveries: {
    path: 'webhooks?agent=orders',
    prepare: async (page) => {
      await page.getByRole('link', { name: 'Deliveries' }).click()
      await page.getByText('HTTP 503').waitFor()
    },
  },
  mesh: { path: `${meshUrl}/mesh` },
  registry: { path: `${registryUrl}/registry` },
  'not-found': { path: 'registry' },
  chat: {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await say(page, 'report the sales of the first quarter, please')
      await page.getByText('Completed').waitFor()
      await say(page, 'publish it')
      await page.getByRole('button', { name: 'Send it' }).waitFor()
    },
  },
  'chat-empty': { path: 'chat/refunds' },
  'chat-two': {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await say(page, 'report')
      await page.getByText('Completed').waitFor()
      await page.getByRole('button', { name: 'New conversation' }).click()
      await say(page, 'choose')
      await page.getByRole('button', { name: 'south' }).waitFor()
      const beside = page.getByRole('link', { name: 'Show report beside' })
      if (await beside.isVisible()) await beside.click()
    },
  },
  'chat-tool': {
    path: 'chat/dispatcher',
    prepare: async (page) => {
      await say(page, 'locate the technician')
      await page.getByLabel('city').fill('Bern')
    },
  },
  'chat-credentials': {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await say(page, 'login')
      await page.getByLabel('Token', { exact: true }).fill('secret')
    },
  },
  question: {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await say(page, 'form')
      await page.getByLabel('copies').fill('3')
      await page.getByRole('button', { name: 'Answer' }).click()
      await page.getByText('This field is required.').waitFor()
    },
  },
  skill: {
    path: 'chat/sales-assistant',
    prepare: (page) => page.getByLabel('Kind of message').selectOption({ label: 'Form: Report' }),
  },
  wire: {
    path: 'wire/sales-assistant?left=1.0+JSONRPC&right=0.3+JSONRPC',
    prepare: async (page) => {
      await page.getByLabel('Body', { exact: true }).last().waitFor()
      for (const button of await page.getByRole('button', { name: 'Send' }).all()) await button.click()
      await page.getByText('HTTP 200').last().waitFor()
    },
  },
  'wire-stream': {
    path: 'wire/sales-assistant?left=1.0+GRPC+streamMessage&leftText=stream+5',
    prepare: async (page) => {
      await page.getByLabel('Body', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('Wrote 5 words').waitFor()
    },
  },
  offline: {
    path: 'tasks',
    prepare: async (page) => {
      await page.getByRole('list', { name: 'Tasks' }).waitFor()
      await page.context().setOffline(true)
      await page.getByText('Offline').waitFor()
    },
  },
  conformance: { path: 'agents/sales-assistant/conformance', prepare: (page) => runCheck(page, 'Run conformance') },
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).first().fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).first().click()
}

async function runCheck(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).click()
  await page.getByRole('button', { name: 'Run again' }).waitFor({ timeout: 60_000 })
}

await mkdir(folder, { recursive: true })
await using browser = await launchChromium()
for (const [name, shot] of Object.entries(shots)) {
  if (only.length > 0 && !only.includes(name)) continue
  if (isForReadme) await shoot(`console-${name}`, shot, 'light', 1280)
  else await Promise.all(themes.flatMap((theme) => widths.map((width) => shoot(name, shot, theme, width))))
}

async function shoot(name: string, { path, prepare }: Shot, colorScheme: 'light' | 'dark', width: number) {
  const viewport = { width, height: { 1440: 900, 1280: 800 }[width] ?? 740 }
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', locale: 'en-US' })
  await context.addCookies(demo.cookies)
  const page = await context.newPage()
  page.setDefaultTimeout(8_000)
  try {
    await page.goto(path.startsWith('http') ? path : `${url}/${path}`)
    await prepare?.(page)
  } catch (error) {
    console.error(
      `${name} (${colorScheme}, ${width}): ${error instanceof Error ? error.message.split('\n')[0] : error}`,
    )
  }
  await page.locator('main h1').first().waitFor()
  await page.locator('.state-loading').first().waitFor({ state: 'detached' })
  // Charts and lists draw themselves in the next frames.
  await page.waitForTimeout(300)
  const file = isForReadme ? `${name}.png` : `${name}-${colorScheme}-${width}.png`
  await page.screenshot({ path: join(folder, file) })
  await context.close()
}
