import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { startHttpServer } from '../../support/servers/http-server.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { assistant } from './support/console-agents.ts'
import { consoleWithLogin, startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations } from './support/open-console.ts'
import { orders } from './support/orders-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const now = { returnImmediately: true } as const
const agents = { '/': assistant, '/orders': orders }
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000 })

it('the built-in receiver shows a delivery, and webhooks are paused and resumed', async () => {
  const { server, url } = await startConsoleServer({ push: { loopback: 'allow' } }, agents)
  const client = await connect(server.url)
  const { page } = await openConsole(browser, `${url}/webhooks`)
  await page.getByText('No webhooks').first().waitFor()
  await page.getByRole('button', { name: 'Create a receiver' }).click()
  const receiver = page.getByRole('region', { name: 'Receiver' })
  const opened = async () => {
    await receiver.getByText('Waiting for the first delivery…').first().waitFor()
    return await receiver.locator('code').allTextContents()
  }
  const [address = '', token = ''] = await opened()
  const { task } = await client.send('wait', now)
  await client.task(`${task?.id}`).push.create({ url: address, token })
  await page.reload()
  await page.getByText(address).first().waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Active', { exact: true }).first().waitFor()

  await page.getByRole('button', { name: 'Create a receiver' }).click()
  const [second = '', secret = ''] = await opened()
  await client.task(`${task?.id}`).push.create({ url: second, token: secret })
  await client.task(`${task?.id}`).cancel()
  await receiver.getByText('Its token is right.').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
})

it('a delivery that was given up is shown with its answer, and sent again', async () => {
  let status = 500
  const bodies: string[] = []
  const target = await startHttpServer(async (request, response) => {
    for await (const chunk of request) bodies.push(`${chunk}`)
    response.writeHead(status).end()
  })
  const push = { loopback: 'allow', retry: { attempts: 1 } } as const
  const { server, url } = await startConsoleServer({ push }, agents)
  const client = await connect(server.url)
  const { task } = await client.send('wait', now)
  const hostile = `${target}/<b>%E2%80%AE${'w'.repeat(1_000)}?secret=hidden`
  await client.task(`${task?.id}`).push.create({ url: hostile })
  await client.task(`${task?.id}`).cancel()
  const { page } = await openConsole(browser, `${url}/webhooks`, { width: 360, theme: 'dark' })
  await eventually(async () => {
    await page.reload()
    const redeliver = page.getByRole('button', { name: /Redeliver \d+ failed/ })
    return await redeliver.waitFor({ timeout: 3_000 }).then(
      () => true,
      () => false,
    )
  }).toBe(true)
  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByText('HTTP 500').first().waitFor()
  expect(new URL(page.url()).searchParams.get('open')).toContain(task?.id)
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
  expect(await seriousViolations(page)).toEqual([])

  status = 204
  const before = bodies.length
  await page.getByRole('button', { name: 'Redeliver', exact: true }).first().click()
  await eventually(() => bodies.length).toBeGreaterThan(before)
})

it('a viewer cannot act on webhooks', async () => {
  const options = await consoleWithLogin()
  const { url } = await startConsoleServer({ ...options, push: { loopback: 'allow' } }, agents)
  const { page } = await openConsole(browser, `${url}/webhooks`)
  await page.getByLabel('Token or key').fill('viewer-key')
  await page.keyboard.press('Enter')
  const create = page.getByRole('button', { name: 'Create a receiver' })
  await create.waitFor()
  expect(await create.getAttribute('aria-disabled')).toBe('true')
})

it.each([
  ['light', 1440],
  ['dark', 360],
] as const)('the overview counts tasks, and its figures survive a restart, %s, %d pixels', async (theme, width) => {
  const directory = await temporaryDirectory()
  const first = await startConsoleServer({ directory }, agents)
  const port = Number(new URL(first.server.url).port)
  const client = await connect(first.server.url)
  for (let count = 0; count < 3; count++) await client.send('report')
  await client.send('fail')
  const { page } = await openConsole(browser, `${first.url}/overview`, { theme, width })
  const tile = (label: string) => page.locator('.tile', { hasText: label }).locator('.tile-value')
  const check = async () => {
    await eventually(() => tile('Completed').textContent()).toBe('3')
    expect(await tile('Failed').textContent()).toBe('1')
    await page.getByRole('row', { name: /^Sales assistant 4 3 1 0 0/ }).waitFor()
    expect(await page.locator('.chart canvas').count()).toBe(3)
  }
  await check()
  await page.getByText('As a table').first().click()
  expect(await seriousViolations(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
  await first.server.close()
  await startConsoleServer({ directory, port }, agents)
  await page.reload()
  await check()
  await page.getByRole('button', { name: 'Last day' }).click()
  await check()
  expect(new URL(page.url()).searchParams.get('window')).toBe('day')
  await tile('Failed').getByRole('link').click()
  await page.getByText('The warehouse does not answer').first().waitFor()
})
