import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { AgentFunction } from '../../src/core/agent/agent-function.ts'
import { connect } from '../../src/core/client/connect.ts'
import { deferred } from '../support/async.ts'
import { launchChromium } from '../support/processes/chromium.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { anonymousListsAll } from '../support/servers/local-handler.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['use-chat', 'use-agent', 'ag-ui'].map((name) => [name, `test/browser/front-ends/${name}.tsx`] as const)
const assistantUi = 'test/front-ends/assistant-ui.tsx'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

/** The page as an application bundles it, with the entries of this repository. */
async function bundlePage(file: string): Promise<string> {
  const entries = { 'ai-sdk/chat': 'ai-sdk-chat', react: 'react', 'ag-ui': 'ag-ui' }
  const own = Object.entries(entries).map(([path, entry]) => [`parley-a2a/${path}`, `${root}src/entries/${entry}.ts`])
  const react = ['react', 'react-dom'].map((name) => [name, `${root}node_modules/${name}`])
  await using bundle = await rolldown({
    input: `${root}${file}`,
    platform: 'browser',
    resolve: { alias: Object.fromEntries([...own, ...react]) },
    transform: { define: { 'process.env.NODE_ENV': '"production"' }, jsx: 'react-jsx' },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
  return output[0].code
}

/** A browser with the page, and the agent that it talks to. Its tabs share their storage. */
async function start(file: string, run: AgentFunction) {
  const script = await bundlePage(file)
  const origin = await startHttpServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    const html = '<!doctype html><meta charset="utf-8"><body></body><script type="module" src="/page.js"></script>'
    response.end(isScript ? script : html)
  })
  const { server } = await startTestServer(run, { cors: origin, auth: anonymousListsAll })
  const context: BrowserContext = await browser.newContext()
  onTestFinished(() => context.close())
  const problems: string[] = []
  const open = async () => {
    const page = await context.newPage()
    page.on('pageerror', (error) => problems.push(error.message))
    await page.goto(`${origin}/?agent=${encodeURIComponent(server.url)}`)
    return page
  }
  return { open, problems, client: await connect(server.url) }
}

async function send(page: Page, text: string): Promise<void> {
  await page.locator('input, textarea').first().fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

/** Waits until the page shows this text, and nothing else, as what the agent has said. */
async function expectAgent(page: Page, text: string): Promise<void> {
  const shown = async () =>
    (await page.locator('li:not([data-role=user])').allInnerTexts()).join('').replace(/\s+/g, ' ')
  await expect.poll(async () => (await shown()).trim(), { timeout: 30_000 }).toBe(text)
}

describe.each(pages)('a page with %s', (_, file) => {
  it('a reload and a second tab in the middle of a stream show every word once', async () => {
    const [reloaded, opened] = [deferred(), deferred()]
    const { open, problems } = await start(file, async (turn) => {
      const answer = turn.artifact('answer')
      await answer.write('one ')
      await reloaded.promise
      await answer.write('two ')
      await opened.promise
      await answer.write('three')
      return undefined
    })
    const page = await open()
    await send(page, 'count')
    await expectAgent(page, 'one')
    await page.reload()
    await expectAgent(page, 'one')
    reloaded.resolve()
    await expectAgent(page, 'one two')
    const tab = await open()
    await expectAgent(tab, 'one two')
    opened.resolve()
    await expectAgent(page, 'one two three')
    await expectAgent(tab, 'one two three')
    await page.reload()
    await expectAgent(page, 'one two three')
    expect(problems).toEqual([])
  })

  it('questions are answered, also after a reload', async () => {
    const { open, problems } = await start(file, async (turn) => {
      const { city } = await turn.ask('Where to?', { schema: z.object({ city: z.string() }) })
      const { approved } = await turn.ask('Really?', { schema: z.object({ approved: z.boolean() }) })
      return `To ${city}: ${approved}`
    })
    const page = await open()
    await send(page, 'go')
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('To Rome: true').waitFor()
    expect(problems).toEqual([])
  })

  it('the stop button cancels the task, and a failure is a text', async () => {
    const { open, problems, client } = await start(file, async (turn) => {
      if (turn.text === 'fail') return turn.fail('The printer is on fire.')
      await turn.artifact('answer').write('one ')
      return await new Promise((__, reject) => turn.signal.addEventListener('abort', () => reject(turn.signal.reason)))
    })
    const page = await open()
    await send(page, 'work')
    await expectAgent(page, 'one')
    await page.getByRole('button', { name: 'Stop' }).click()
    const states = async () => {
      const all: string[] = []
      for await (const { status } of client.listTasks()) all.push(status.state)
      return all
    }
    await expect.poll(states, { timeout: 30_000 }).toEqual(['canceled'])
    await expect.poll(() => page.locator('output').textContent(), { timeout: 30_000 }).toBe('ready')
    await send(page, 'fail')
    await page.getByText('The printer is on fire.').waitFor()
    expect(problems).toEqual([])
  })
})

it.each(['use-agent.tsx', 'use-chat.tsx', 'ag-ui.tsx'])('the program %s of the guide shows a stream', async (name) => {
  const guide = await readFile(`${root}docs/guides/front-ends.md`, 'utf8')
  const program =
    guide
      .split('```tsx\n')
      .find((block) => block.startsWith(`// ${name}`))
      ?.split('\n```')[0] ?? ''
  const file = `node_modules/.cache/front-ends/${name}`
  await mkdir(dirname(`${root}${file}`), { recursive: true })
  const address = "new URLSearchParams(location.search).get('agent') ?? ''"
  await writeFile(`${root}${file}`, program.replace("'http://localhost:4000'", address))
  const { open, problems } = await start(file, async (turn) => {
    await turn.artifact('answer').write('one ')
    return 'two'
  })
  const page = await open()
  await send(page, 'count')
  await expect.poll(() => page.locator('body').textContent(), { timeout: 30_000 }).toMatch(/count.*one.*two/s)
  expect(problems).toEqual([])
})

it('a thread of assistant-ui streams the agent on the transport for the AI SDK', async () => {
  const middle = deferred()
  const { open, problems } = await start(assistantUi, async (turn) => {
    const answer = turn.artifact('answer')
    await answer.write('one ')
    await middle.promise
    await answer.write('two')
    return undefined
  })
  const page = await open()
  await send(page, 'count')
  await page.getByText('one', { exact: true }).waitFor()
  middle.resolve()
  await page.getByText('one two', { exact: true }).waitFor()
  expect(problems).toEqual([])
})

it('the example starts with one command, and survives a reload', async () => {
  const server = spawn(process.execPath, [`${root}examples/react-chat/server.ts`], {
    env: { ...process.env, PORT: '0' },
  })
  onTestFinished(() => void server.kill('SIGKILL'))
  const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(line.replace('listening on ', ''))
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByLabel('city').fill('Rome')
  await page.getByLabel('days').fill('2')
  await page.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('Day 1').waitFor()
  await page.reload()
  await page.getByText('Have a good time in Rome!').waitFor()
  const plan = [1, 2].map((day) => `Day ${day}: see another part of Rome and rest.`).join(' ')
  expect(await page.locator('li').last().textContent()).toContain(plan)
})
