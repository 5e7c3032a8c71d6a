import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole } from './support/open-console.ts'
import { orders } from './support/orders-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const agents = { '/orders': orders }
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 20_000 })
const elements = (page: Page) => page.evaluate(() => document.querySelectorAll('main *').length)

/** A store with one real task, which `change` multiplies. Its port is used again. */
async function startMultiplied(change: (db: DatabaseSync) => void) {
  const directory = await temporaryDirectory()
  const first = await startConsoleServer({ directory }, agents)
  const { task } = await (await connect(`${first.server.url}/orders`)).send('steps')
  await first.server.close()
  const file = readdirSync(directory, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith('.db'))
  const db = new DatabaseSync(join(directory, `${file}`))
  db.exec('BEGIN')
  change(db)
  db.exec('COMMIT')
  db.close()
  return { ...(await startConsoleServer({ directory }, agents)), taskId: `${task?.id}` }
}

/** Milliseconds from opening an address to the first item of a list. */
async function timeTo(page: Page, address: string, list: string): Promise<number> {
  const start = performance.now()
  await page.goto(address)
  await page.getByRole('list', { name: list }).getByRole('listitem').nth(5).waitFor()
  return performance.now() - start
}

it('a list of 100,000 tasks opens and scrolls with few elements', async () => {
  const { server, url } = await startMultiplied((db) => {
    const columns = (db.prepare('PRAGMA table_info(tasks)').all() as { name: string }[]).map(({ name }) => name)
    const copied = columns.filter((name) => !['key', 'task_id', 'changed'].includes(name)).join(', ')
    db.exec(`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
      INSERT INTO tasks (task_id, changed, ${copied})
      SELECT 'copy-' || n, changed - 60000 - n, ${copied} FROM tasks, numbers WHERE key = 1`)
  })
  const { page } = await openConsole(browser, `${url}/tasks`)
  await page.getByText('More than 10,000 tasks').first().waitFor()
  const list = page.locator('.virtual-list')
  const before = await elements(page)
  const height = await list.evaluate(({ scrollHeight }) => scrollHeight)
  // Ten pages are loaded one after the other, without more elements.
  await eventually(async () => {
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    return (await list.evaluate(({ scrollHeight }) => scrollHeight)) / height
  }).toBeGreaterThan(10)
  expect(await elements(page)).toBeLessThan(before * 2)
  await page
    .getByText(/^copy-1?\d{3}$/)
    .last()
    .waitFor()

  // Searching and following work in all of them.
  await page.getByLabel('Search by task, context or caller').fill('copy-99999')
  await eventually(() => page.getByRole('list', { name: 'Tasks' }).getByRole('listitem').count()).toBe(1)
  await page.getByLabel('Search by task, context or caller').fill('')
  const { task } = await (await connect(`${server.url}/orders`)).send('steps')
  await page.getByText(`${task?.id}`).first().waitFor()
})

it('a task of 200,000 events opens about as fast as a small one, and its end is reached at once', async () => {
  const { server, url, taskId } = await startMultiplied((db) => {
    const insert = db.prepare('INSERT INTO events (task, generation, events, at) VALUES (1, ?, ?, ?)')
    const { last } = db.prepare('SELECT max(generation) AS last FROM events WHERE task = 1').get() as { last: number }
    const chunk = { type: 'artifact', append: true, artifact: { artifactId: 'a1', parts: [{ text: 'word ' }] } }
    const first = { ...chunk, append: false }
    for (let row = 0; row < 4_000; row++) {
      const events = Array.from({ length: 50 }, (_, at) => (row === 0 && at === 0 ? first : chunk))
      insert.run(last + (row + 1) * 50, JSON.stringify(events), Date.now())
    }
    db.exec(`UPDATE tasks SET generation = ${last + 200_000} WHERE key = 1`)
  })
  const small = await (await connect(`${server.url}/orders`)).send('steps')
  const { page } = await openConsole(browser, `${url}/tasks`)
  const smallTime = await timeTo(page, `${url}/tasks/orders/${small.task?.id}`, 'Events')
  const smallSize = await elements(page)
  const largeTime = await timeTo(page, `${url}/tasks/orders/${taskId}`, 'Events')
  expect(largeTime / smallTime).toBeLessThan(15)
  expect((await elements(page)) / smallSize).toBeLessThan(4)

  // All chunks are one row. Each of them can be reached, too.
  await page.getByRole('button', { name: /200,000 chunks of/ }).waitFor()
  await page.getByRole('button', { name: 'Group chunks' }).click()
  const list = page.locator('.virtual-list')
  await page.getByText('#20', { exact: true }).first().waitFor()
  await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
  await page
    .getByText(/^#2000\d\d$/)
    .first()
    .waitFor()
  await page
    .getByRole('button', { name: /Chunk of a1: word/ })
    .last()
    .waitFor()
  // Scrolling through all events keeps a bounded number of them.
  const heap = await list.evaluate(async (element) => {
    for (let step = 0; step < 100; step++) {
      element.scrollTo(0, (element.scrollHeight * step) / 100)
      await new Promise(requestAnimationFrame)
    }
    const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } }
    return memory.usedJSHeapSize
  })
  expect((await elements(page)) / smallSize).toBeLessThan(4)
  expect(heap).toBeLessThan(150_000_000)
})
