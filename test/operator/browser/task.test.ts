import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { operatorOf } from '../../support/servers/operator-login.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { assistant, createRefunder } from './support/console-agents.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations } from './support/open-console.ts'
import { orders } from './support/orders-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const run = promisify(execFile)
const now = { returnImmediately: true } as const
const agents = { '/': assistant, '/orders': orders }

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000 })
const eventLines = (page: Page) => page.getByRole('list', { name: 'Events' }).getByRole('button')
const openTab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true }).click()

it('every tab of a task shows its part, has an address, and is reached by keyboard', async () => {
  const { server, url } = await startConsoleServer({ push: {} }, agents)
  const { task } = await (await connect(`${server.url}/orders`)).send(`call ${server.url}/`)
  const { page } = await openConsole(browser, `${url}/tasks`)
  await page.getByRole('link', { name: `${task?.id}` }).click()
  await eventually(() => eventLines(page).count()).toBeGreaterThan(4)
  await page.getByRole('heading', { name: `call ${server.url}/`, level: 1 }).waitFor()
  expect(await page.title()).toContain('call http')
  await eventLines(page).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('figure', { name: 'Event 1' }).getByText('"message"').first().waitFor()

  const tabs = ['Timeline', 'Trace', 'Artifacts', 'Messages', 'Steps', 'Webhooks', 'Log', 'Seen as', 'Replay']
  await page.getByRole('tab', { name: 'Timeline' }).focus()
  for (const tab of tabs.slice(1)) {
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: tab, selected: true }).waitFor()
    expect(await seriousViolations(page)).toEqual([])
  }
  expect(page.url()).toMatch(/\/replay$/)

  await openTab(page, 'Messages')
  await page.getByRole('tabpanel').getByText(`call ${server.url}/`).first().waitFor()
  await page.getByText('The warehouse has answered').first().waitFor()
  await openTab(page, 'Trace')
  await page
    .getByRole('list', { name: 'Trace' })
    .getByRole('button', { name: /Sales assistant/ })
    .click()
  await page.getByRole('link', { name: 'Open the called task' }).click()

  // The called task is a page of its own: its artifacts are shown as in the chat.
  await page.getByRole('tab', { name: 'Artifacts' }).click()
  await page.getByRole('img', { name: 'chart.png' }).waitFor()
  await page.getByText('1204000').first().waitFor()

  // The back button leads through the tabs.
  await page.goBack()
  await page.getByRole('tab', { name: 'Trace', selected: true }).waitFor()
  await page.goBack()
  await page.getByRole('tab', { name: 'Trace', selected: true }).waitFor()
  await page.goBack()
  await page.getByRole('tab', { name: 'Messages', selected: true }).waitFor()
})

it('an event, a version and the question of a task have addresses', async () => {
  const { server, url } = await startConsoleServer({}, { ...agents, '/refunds': createRefunder() })
  const client = await connect(server.url)
  const { task } = await client.send('stream 400')
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${task?.id}?event=300`)
  await page.getByRole('figure', { name: 'Event 300' }).waitFor()
  expect(await page.getByRole('figure', { name: 'Event 300' }).textContent()).toContain('"artifact"')
  await page.getByRole('button', { name: /^#301/ }).click()
  await page.getByRole('figure', { name: 'Event 301' }).waitFor()
  expect(page.url()).toMatch(/\?event=301$/)

  await page.goto(`${url}/tasks/sales-assistant/${task?.id}/versions?version=0.2`)
  await page.getByRole('figure', { name: 'The task in 0.2' }).waitFor()
  await page.getByRole('combobox', { name: /^Version/ }).selectOption('0.1')
  await page.getByRole('figure', { name: 'The task in 0.1' }).waitFor()
  await page.goBack()
  await page.getByRole('figure', { name: 'The task in 0.2' }).waitFor()
  await page.getByRole('link', { name: 'Open in Wire' }).click()
  await expect.poll(() => page.getByLabel('Body', { exact: true }).inputValue()).toContain(`${task?.id}`)

  const refund = await (await connect(`${server.url}/refunds`)).send('Refund A-1047', now)
  await page.goto(`${url}/tasks/refunds/${refund.task?.id}`)
  await page.getByRole('link', { name: 'Answer in the inbox' }).click()
  await page.getByLabel('Comment').fill('not this one')
  await page.getByRole('button', { name: 'Decline' }).click()
  await page.getByText('This task does not wait').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
})

it('steps of a turn that a restart interrupted name their attempts', async () => {
  const directory = await temporaryDirectory()
  const first = await startConsoleServer({ directory }, agents)
  const port = Number(new URL(first.server.url).port)
  const { task } = await (await connect(`${first.server.url}/orders`)).send('sleep', now)
  const { page } = await openConsole(browser, `${first.url}/tasks/orders/${task?.id}/steps`)
  await page.getByText('first half').first().waitFor()
  await first.server.close()
  await startConsoleServer({ directory, port }, agents)
  await page.getByText('second half').first().waitFor()
  await page
    .getByText(/Attempt 1, event/)
    .first()
    .waitFor()
  await page
    .getByText(/Attempt 2, event/)
    .first()
    .waitFor()
  await page.getByText('Completed').first().waitFor()
})

it('the timeline grows while the task works, and large events are loaded on request', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const client = await connect(server.url)
  const { task } = await client.send('slow 150', now)
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${task?.id}`)
  await eventually(() => eventLines(page).count()).toBeGreaterThan(3)
  await page.getByText('Completed').first().waitFor()
  await page
    .getByText(/15\d events/)
    .first()
    .waitFor()

  const large = await (await connect(`${server.url}/orders`)).send('large')
  await page.goto(`${url}/tasks/orders/${large.task?.id}`)
  await page.getByRole('button', { name: /A large event/ }).click()
  await page.getByRole('button', { name: /^Load/ }).click()
  await page
    .getByText(/more characters/)
    .first()
    .waitFor()

  await page.goto(`${url}/tasks/orders/none`)
  await page.getByText('This task cannot be shown').first().waitFor()
  await page.getByText('There is no task with this id.').first().waitFor()
})

it('the timeline groups chunks, filters, turns around and is exported', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const client = await connect(server.url)
  const { task } = await client.send('stream 400')
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${task?.id}`)
  await page.getByRole('button', { name: /40\d chunks of numbers.md: word1 word2/ }).click()
  await page
    .getByRole('figure', { name: /^Chunks / })
    .getByText('word400')
    .waitFor()
  expect(await eventLines(page).count()).toBeLessThan(8)
  expect(await seriousViolations(page)).toEqual([])

  await page.getByRole('button', { name: 'Newest first' }).click()
  await eventually(() => eventLines(page).first().textContent()).toContain('Wrote 400 words')
  await page.getByLabel('Type of event').selectOption({ label: 'States' })
  await eventually(() => eventLines(page).count()).toBeLessThan(5)
  await page.getByLabel('Type of event').selectOption({ label: 'All events' })
  await page.getByLabel('Search in events').fill('WORD399')
  await eventually(() => eventLines(page).count()).toBe(1)
  expect(new URL(page.url()).searchParams.get('text')).toBe('WORD399')
  await page.getByLabel('Search in events').fill('no such word')
  await page.getByText('No event matches').first().waitFor()
  await page.getByLabel('Search in events').fill('')
  await page.getByRole('button', { name: 'Group chunks' }).click()
  await eventually(() => eventLines(page).count()).toBeGreaterThan(12)
  await eventually(() => eventLines(page).first().textContent()).toContain('Wrote 400 words')

  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export JSON' }).click()
  const file = await (await downloading).path()
  const events = JSON.parse(await readFile(file, 'utf8')) as { generation: number }[]
  expect(events.map(({ generation }) => generation)).toEqual(events.map((_, index) => index + 1))
  expect(events.length).toBeGreaterThan(400)
})

it('a timeline of the newest events does not move under its reader', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const { task } = await (await connect(server.url)).send('slow 200', now)
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${task?.id}?chunks=all&order=newest`)
  await eventually(() => eventLines(page).count()).toBeGreaterThan(20)
  const list = page.locator('.virtual-list')
  await list.evaluate((element) => element.scrollTo(0, 200))
  const more = page.getByRole('button', { name: /^[\d,]+ new$/ })
  await more.waitFor()
  const seen = await eventLines(page).first().textContent()
  await eventually(() => more.textContent()).not.toBe('1 new')
  expect(await eventLines(page).first().textContent()).toBe(seen)
  await page.getByText('Completed').first().waitFor()
  await more.click()
  await eventually(() => eventLines(page).first().textContent()).toContain('Wrote 200 words')
  await eventually(() => more.count()).toBe(0)
})

it('a failed task shows its error and stack, and is run again, also edited', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const failed = await (await connect(server.url)).send('throw').catch(() => undefined)
  expect(failed?.task?.status.state ?? 'failed').toBe('failed')
  const [row] = (await operatorOf(server).tasks()).tasks
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${row?.taskId}`)
  await page.getByText('The task failed.').first().waitFor()
  await page
    .getByRole('figure', { name: 'Error', exact: true })
    .getByText(/console-agents\.ts/)
    .waitFor()
  expect(await seriousViolations(page)).toEqual([])

  await page.getByRole('button', { name: 'Run again', exact: true }).click()
  await page.getByRole('link', { name: /^Run again of / }).waitFor()
  expect(page.url()).not.toContain(`${row?.taskId}`)
  await page.getByRole('button', { name: 'Edit and run again' }).click()
  expect(await seriousViolations(page)).toEqual([])
  await page.getByLabel('Message').fill('report')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('heading', { name: 'report', level: 1 }).waitFor()
  await page.getByText('Completed').first().waitFor()
})

it('a conversation is shown over its tasks', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const client = await connect(server.url)
  const { task } = await client.send('report')
  for (let count = 0; count < 11; count++) await client.send(`stream ${count + 2}`, { contextId: `${task?.contextId}` })
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${task?.id}`)
  await page.getByRole('link', { name: 'Conversation' }).click()
  await page.getByRole('heading', { name: 'report', level: 1 }).waitFor()
  await page.getByText('12 tasks').first().waitFor()
  await page.getByText('Wrote 12 words').first().waitFor()
  expect(await page.getByRole('region').count()).toBe(10)
  await page.getByRole('button', { name: 'Show 2 earlier' }).click()
  await page.getByText('Revenue grew by').first().waitFor()
  await eventually(() => page.getByRole('region').count()).toBe(12)
  expect(await seriousViolations(page)).toEqual([])
})

it('a task is seen in every version with what is lost, and replayed to its end', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const { task } = await (await connect(server.url)).send('report')
  const { page } = await openConsole(browser, `${url}/tasks/sales-assistant/${task?.id}/versions`)
  await page.getByText('This version expresses the whole task.').first().waitFor()
  for (const version of ['0.3', '0.3-house', '0.2', '0.1']) {
    await page.getByRole('combobox', { name: /^Version/ }).selectOption(version)
    await page.getByRole('figure', { name: `The task in ${version}` }).waitFor()
  }
  await page.getByText('Readers of this version do not get:').first().waitFor()
  await openTab(page, 'Replay')
  await page.getByLabel('Speed').selectOption('64')
  await page.getByRole('button', { name: 'Play' }).click()
  const events = Number(await page.getByRole('progressbar').getAttribute('max'))
  await page.getByText(`${events} of ${events}`, { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Play' }).waitFor()
  await page.locator('.replay').getByText('Completed', { exact: true }).first().waitFor()
})

it('the copied commands read the task and send its message again', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const { task } = await (await connect(`${server.url}/orders`)).send("steps 'quoted' $(touch x) `y`")
  const { page, context } = await openConsole(browser, `${url}/tasks/orders/${task?.id}`)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('Copy as…').click()
  const copied = async (group: string, name: string) => {
    await page.getByRole('group', { name: group }).getByRole('button', { name }).click()
    await page.getByRole('group', { name: group }).getByText('Copied').last().waitFor()
    return await page.evaluate(() => navigator.clipboard.readText())
  }
  const shell = async (command: string) => (await run('sh', ['-c', command])).stdout
  const local = (command: string) =>
    command.replace(/^npx parley-a2a/, `'${process.execPath}' '${import.meta.dirname}/../../../src/cli/main.ts'`)

  const read = await copied('Read this task', 'curl')
  expect(JSON.parse(await shell(read))).toMatchObject({ result: { id: task?.id } })
  expect(await shell(local(await copied('Read this task', 'parley')))).toContain('The order is packed')
  const sent = JSON.parse(await shell(await copied('Send its message again', 'curl'))) as SentAnswer
  expect(sent.result.task.history[0]?.parts).toEqual([{ text: "steps 'quoted' $(touch x) `y`" }])
  expect(await shell(local(await copied('Send its message again', 'parley')))).toContain('The order is packed')
  // A project that has installed the package.
  const project = await temporaryDirectory()
  await mkdir(`${project}/node_modules`)
  await symlink(`${import.meta.dirname}/../../..`, `${project}/node_modules/parley-a2a`)
  const script = async (group: string) => {
    await writeFile(`${project}/copied.mts`, await copied(group, 'TypeScript'))
    return (await run(process.execPath, ['copied.mts'], { cwd: project })).stdout
  }
  expect(await script('Read this task')).toContain(`${task?.id}`)
  expect(await script('Send its message again')).toContain('The order is packed')
})

interface SentAnswer {
  readonly result: { readonly task: { readonly history: readonly { readonly parts: readonly unknown[] }[] } }
}

it.each([360, 1440])('hostile names neither run nor break any tab at %d pixels', async (width) => {
  const { server, url } = await startConsoleServer({}, agents)
  const { task } = await (await connect(`${server.url}/orders`)).send('hostile')
  const theme = width === 360 ? 'dark' : 'light'
  const { page } = await openConsole(browser, `${url}/tasks/orders/${task?.id}`, { width, theme })
  await eventually(() => eventLines(page).count()).toBeGreaterThan(3)
  await page
    .getByRole('button', { name: /A large event/ })
    .first()
    .click()
  for (const tab of ['Timeline', 'Artifacts', 'Messages', 'Steps', 'Log', 'Seen as', 'Replay']) {
    await openTab(page, tab)
    const box = await page.getByRole('tab', { name: tab, selected: true }).boundingBox()
    expect((box?.x ?? width) + (box?.width ?? 0)).toBeLessThanOrEqual(width)
    await page.getByText('Loading…').waitFor({ state: 'hidden' })
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    expect(await page.evaluate('window.attacked')).toBeUndefined()
    expect(await page.locator('img[onerror]').count()).toBe(0)
    // The rules see 100,000 characters in each tab: once is enough.
    if (width === 360) expect(await seriousViolations(page)).toEqual([])
  }
})
