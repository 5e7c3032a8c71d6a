import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { operatorOf } from '../../support/servers/operator-login.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { assistant } from './support/console-agents.ts'
import { consoleWithLogin, startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations } from './support/open-console.ts'
import { hostileName, orders } from './support/orders-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const now = { returnImmediately: true } as const
const agents = { '/': assistant, '/orders': orders }

const lines = (page: Page) => page.getByRole('list', { name: 'Tasks' }).getByRole('listitem')
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000 })
const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

it('the list shows tasks of all agents, follows them, and its filters are in the address', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const sales = await connect(server.url)
  const packing = await connect(`${server.url}/orders`)
  await sales.send('fail')
  await sales.send('choose', now)
  const steps = await packing.send('steps')
  const { page } = await openConsole(browser, `${url}/tasks`)
  await eventually(() => lines(page).count()).toBe(3)
  await page.getByText('The warehouse does not answer').first().waitFor()
  await page.getByText('The order is packed').first().waitFor()
  await page.getByText('3 tasks').first().waitFor()
  // A task is named by its request, and its last status stands beside it.
  expect(
    await lines(page)
      .getByRole('link', { name: /^choose ?Which region\?/ })
      .count(),
  ).toBe(1)
  expect(await seriousViolations(page)).toEqual([])

  // A new task comes first, and changes where it is.
  const waiting = await packing.send('wait', now)
  await eventually(() => lines(page).first().textContent()).toContain(`${waiting.task?.id}`)
  await packing.task(`${waiting.task?.id}`).cancel()
  await eventually(() => lines(page).first().textContent()).toContain('Canceled')

  await page.getByRole('button', { name: 'Failed' }).click()
  await eventually(() => lines(page).count()).toBe(1)
  expect(new URL(page.url()).search).toBe('?state=failing')
  await page.getByRole('button', { name: 'Waiting' }).click()
  await page.getByText('Which region?').first().waitFor()
  await page.getByRole('button', { name: 'Stuck' }).click()
  await page.getByText('No task matches').first().waitFor()
  await page.goBack()
  await page.getByText('Which region?').first().waitFor()
  await page.getByRole('button', { name: 'All' }).click()
  await page.getByLabel('Agent', { exact: true }).selectOption('orders')
  await eventually(() => lines(page).count()).toBe(2)
  await page.getByLabel('Search by task, context or caller').fill(`${steps.task?.id}`)
  await eventually(() => lines(page).count()).toBe(1)
  await eventually(() => new URL(page.url()).searchParams.get('search')).toBe(steps.task?.id)

  // The filters survive a visit to the task, and a reload.
  await lines(page).getByRole('link').click()
  await page.getByRole('tab', { name: 'Timeline' }).waitFor()
  await page.goBack()
  await eventually(() => lines(page).count()).toBe(1)
  await page.reload()
  await eventually(() => lines(page).count()).toBe(1)
  expect(await page.getByLabel('Search by task, context or caller').inputValue()).toBe(steps.task?.id)
})

it('the list does not move under its reader, and is found again where it was', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const client = await connect(`${server.url}/orders`)
  await Promise.all(Array.from({ length: 150 }, () => client.send('steps')))
  const { page } = await openConsole(browser, `${url}/overview`)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Tasks' }).click()
  await page.getByText('150 tasks').first().waitFor()
  const list = page.locator('.virtual-list')
  const position = () => list.evaluate(({ scrollTop }) => scrollTop)
  // The second page is loaded.
  await eventually(async () => {
    await list.evaluate((element) => element.scrollTo(0, 6_000))
    return await position()
  }).toBe(6_000)
  const first = () => lines(page).first().getByRole('link').textContent()
  const seen = await first()
  await client.send('steps a')
  await client.send('steps b')
  const more = page.getByRole('button', { name: '2 new' })
  await more.waitFor()
  expect(await first()).toBe(seen)

  await lines(page).nth(10).getByRole('link').click()
  await page.getByRole('tab', { name: 'Timeline' }).waitFor()
  await client.send('steps c')
  await page.goBack()
  // The click may have scrolled its line into sight.
  await eventually(position).toBeGreaterThan(5_500)
  await page.getByRole('button', { name: '3 new' }).click()
  await eventually(() => lines(page).first().textContent()).toContain('steps c')
  expect(await position()).toBe(0)
})

it('the page of agents shows how they are, and leads to their tasks', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  await (await connect(server.url)).send('fail')
  const { page } = await openConsole(browser, `${url}/tasks`)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Agents' }).click()
  const sales = page.getByRole('article', { name: 'Sales assistant' })
  await sales.getByText('Up', { exact: true }).first().waitFor()
  await sales.getByText('A2A 1.0, 0.3, 0.2, 0.1').first().waitFor()
  await page.getByRole('article', { name: 'Orders' }).getByText('none', { exact: true }).first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await sales.locator('dd').nth(1).getByRole('link', { name: '1', exact: true }).click()
  await eventually(() => lines(page).count()).toBe(1)
  await page.getByText('The warehouse does not answer').first().waitFor()
  await page.goBack()
  await sales.getByRole('link', { name: 'Sales assistant' }).click()
  await page.getByRole('heading', { name: 'Sales assistant', level: 1 }).waitFor()
})

it('a point of a chart leads to the tasks behind it', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  await (await connect(server.url)).send('report')
  const { page } = await openConsole(browser, `${url}/overview`)
  await page.getByText('Duration, 95 %').first().waitFor()
  const chart = page.getByRole('figure', { name: 'Tasks' })
  const plot = chart.locator('.u-over')
  const { width, height } = (await plot.boundingBox()) ?? { width: 0, height: 0 }
  await plot.click({ position: { x: width - 2, y: height / 2 } })
  await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
  const { searchParams } = new URL(page.url())
  expect(Number(searchParams.get('until')) - Number(searchParams.get('since'))).toBe(60_000)
  await page.goBack()
  await chart.getByText('As a table').click()
  const started = chart.getByRole('row').filter({ has: page.getByRole('cell', { name: '1', exact: true }) })
  await started.first().getByRole('link').click()
  await eventually(() => lines(page).count()).toBe(1)
})

it('selected tasks are canceled together, by keyboard alone', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  const client = await connect(`${server.url}/orders`)
  await Promise.all(Array.from({ length: 5 }, () => client.send('steps')))
  for (let count = 0; count < 2; count++) await client.send('wait', now)
  const { page } = await openConsole(browser, `${url}/tasks`)
  await page.getByText('7 tasks').first().waitFor()
  await page.getByRole('button', { name: 'Active' }).click()
  await eventually(() => lines(page).count()).toBe(2)

  await lines(page).first().getByRole('checkbox').focus()
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('A')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  const cancel = page.getByRole('button', { name: 'Cancel 2 selected' })
  await cancel.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Cancel 2 tasks?' })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await lines(page).count()).toBe(2)
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel 2 selected')
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Cancel 2 tasks' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('No task matches').first().waitFor()
  await page.getByLabel('State').selectOption({ label: 'Canceled' })
  await eventually(() => lines(page).count()).toBe(2)

  for (let count = 0; count < 3; count++) await client.send('wait', now)
  await page.getByRole('button', { name: 'All' }).click()
  await page.getByRole('button', { name: 'Select 3 open' }).click()
  expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(3)
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await page.getByRole('button', { name: 'Select 3 open' }).click()
  await page.getByRole('button', { name: 'Cancel 3 selected' }).click()
  await page.getByRole('button', { name: 'Cancel 3 tasks' }).click()
  await eventually(() => page.getByText('Canceled').count()).toBeGreaterThan(5)
  expect(await page.getByRole('button', { name: /selected|open/ }).count()).toBe(0)
})

it('the list recovers when the server restarts, and shows what happened meanwhile', async () => {
  const directory = await temporaryDirectory()
  const { server, url } = await startConsoleServer({ directory }, agents)
  const port = Number(new URL(server.url).port)
  await (await connect(`${server.url}/orders`)).send('steps')
  const { page } = await openConsole(browser, `${url}/tasks`)
  await eventually(() => lines(page).count()).toBe(1)
  await server.close()
  await page
    .getByText(/Reconnecting/i)
    .first()
    .waitFor()
  expect(await lines(page).count()).toBe(1)
  const next = await startConsoleServer({ directory, port }, agents)
  const client = await connect(`${next.server.url}/orders`)
  await client.send('steps')
  await eventually(() => lines(page).count()).toBe(2)
  await client.send('steps')
  await eventually(() => lines(page).count()).toBe(3)
})

it('a list that cannot be read says why, and is read again', async () => {
  const { server, url } = await startConsoleServer({}, agents)
  await (await connect(`${server.url}/orders`)).send('steps')
  const { page } = await openConsole(browser, `${url}/overview`)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const body = JSON.stringify({ error: { code: 'internal', message: 'The store is broken.' } })
  await page.route('**/api/v1/tasks?*', (route) => route.fulfill({ status: 500, body }))
  await page.getByRole('link', { name: 'Tasks' }).click()
  await page.getByText('The store is broken.').first().waitFor()
  await page.unroute('**/api/v1/tasks?*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await eventually(() => lines(page).count()).toBe(1)
})

it('a viewer sees the tasks, and why they cannot be canceled', async () => {
  const { server, url } = await startConsoleServer(await consoleWithLogin(), agents)
  await (await connect(`${server.url}/orders`)).send('wait', now)
  const { page } = await openConsole(browser, `${url}/tasks`)
  await page.getByLabel('Token or key').fill('viewer-key')
  await page.keyboard.press('Enter')
  await lines(page).first().getByRole('checkbox').check()
  const cancel = page.getByRole('button', { name: 'Cancel 1 selected' })
  expect(await cancel.getAttribute('aria-disabled')).toBe('true')
  expect(await cancel.getAttribute('title')).toContain('viewer')
})

it.each(['light', 'dark'] as const)(
  'hostile content neither runs nor breaks the list at 360 pixels, %s',
  async (theme) => {
    const { server, url } = await startConsoleServer({}, agents)
    await (await connect(`${server.url}/orders`)).send('hostile')
    const { tasks } = await operatorOf(server).tasks()
    expect(tasks[0]?.summary).toBe([...hostileName].slice(0, 200).join(''))
    const { page } = await openConsole(browser, `${url}/tasks?search=${tasks[0]?.taskId}`, { width: 360, theme })
    await eventually(() => lines(page).count()).toBe(1)
    expect(await page.evaluate('window.attacked')).toBeUndefined()
    expect(await widthOf(page)).toBeLessThanOrEqual(0)
    expect(await seriousViolations(page)).toEqual([])
  },
)
