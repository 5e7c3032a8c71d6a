import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv } from 'node:process'
import type { Page } from 'playwright-core'
import { connect } from '../src/entries/client.node.ts'
import { createOperatorClient } from '../src/entries/operator.ts'
import { serve } from '../src/serve.ts'
import { assistant, createRefunder } from '../test/support/console/console-agents.ts'
import { silentLogger } from '../test/support/logger.ts'
import { launchChromium } from '../test/support/processes/chromium.ts'

/**
 * Makes a screenshot of every page of the console, in both themes and at two widths, from a server with real tasks. Build
 * the console before.
 *
 *     node scripts/console-screenshots.ts [folder] [page…]
 */
const folder = resolve(argv[2] ?? 'node_modules/.cache/console-screenshots')
const only = argv.slice(3)
const themes = ['light', 'dark'] as const
const widths = [1440, 360] as const

/** The pages: where each is, and what happens on it before it is shown. */
const pages: Readonly<Record<string, { readonly path: string; readonly prepare?: (page: Page) => Promise<void> }>> = {
  chat: {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await say(page, 'report the sales of the first quarter, please')
      await page.getByText('Completed').waitFor()
      await say(page, 'publish it')
      await page.getByRole('button', { name: 'Send it' }).waitFor()
    },
  },
  question: {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await say(page, 'form')
      await page.getByLabel('copies').fill('3')
    },
  },
  skill: {
    path: 'chat/sales-assistant',
    prepare: async (page) => {
      await page.getByLabel('Kind of message').selectOption({ label: 'Form: Report' })
    },
  },
  tasks: { path: 'tasks' },
  task: { path: 'tasks/sales-assistant/{task}' },
  inbox: { path: 'inbox' },
  overview: { path: 'overview' },
  agent: { path: 'agents/sales-assistant' },
  json: { path: 'agents/sales-assistant/json' },
  conformance: {
    path: 'agents/sales-assistant/conformance',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Run conformance' }).click()
      await page.getByRole('button', { name: 'Run again' }).waitFor({ timeout: 60_000 })
    },
  },
  wire: {
    path: 'wire/sales-assistant?left=1.0+JSONRPC&right=0.3+JSONRPC',
    prepare: async (page) => {
      await page.getByLabel('Body', { exact: true }).last().waitFor()
      for (const button of await page.getByRole('button', { name: 'Send' }).all()) await button.click()
      await page.getByText('HTTP 200').last().waitFor()
    },
  },
  webhooks: { path: 'webhooks' },
  registry: { path: 'registry' },
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

const directory = await mkdtemp(join(tmpdir(), 'parley-'))
const agents = { '/': assistant, '/refunds': createRefunder() }
const server = await serve(agents, {
  port: 0,
  signals: false,
  logger: silentLogger,
  directory,
  drainDeadline: 0,
  push: { loopback: 'allow' },
})
const browser = await launchChromium()
try {
  const task = await createTasks()
  await mkdir(folder, { recursive: true })
  for (const [name, { path, prepare }] of Object.entries(pages)) {
    if (only.length > 0 && !only.includes(name)) continue
    for (const theme of themes) {
      for (const width of widths) await shoot(name, path.replace('{task}', task), theme, width, prepare)
    }
  }
} finally {
  await browser.close()
  await server.close()
  await rm(directory, { recursive: true, force: true })
}

async function shoot(
  name: string,
  path: string,
  theme: 'light' | 'dark',
  width: number,
  prepare: ((page: Page) => Promise<void>) | undefined,
): Promise<void> {
  const height = width > 800 ? 900 : 740
  const context = await browser.newContext({
    ...{ viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce', locale: 'en-US' },
  })
  const page = await context.newPage()
  page.setDefaultTimeout(8_000)
  try {
    await page.goto(`${server.url}/console/${path}`)
    await prepare?.(page)
  } catch (error) {
    console.error(`${name} (${theme}, ${width}): ${error instanceof Error ? error.message.split('\n')[0] : error}`)
  }
  await page.waitForTimeout(700)
  await page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) })
  await context.close()
}

/** Tasks in every state, so that lists and charts have content. Returns the id of one with many events. */
async function createTasks(): Promise<string> {
  const client = await connect(server.url)
  const refunds = await connect(`${server.url}/refunds`)
  const options = { returnImmediately: true } as const
  for (let round = 0; round < 6; round++) {
    for (const text of ['report', 'stream 40', 'fail', 'slow 30']) await client.send(text, options)
  }
  await client.send('choose', options)
  await client.send('form', options)
  await client.send('wait', options)
  await refunds.send('Refund order A-1047', options)
  const { task } = await client.send('stream 60')
  const operator = createOperatorClient({ url: `${server.url}/console` })
  const { url, token } = await operator.createReceiver()
  const watched = await client.send('wait', options)
  await client.task(`${watched.task?.id}`).push.create({ url, token })
  await client.task(`${watched.task?.id}`).cancel()
  return task?.id ?? ''
}
