import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.node.ts'
import { agent } from '../../../src/entries/index.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { operatorOf } from '../../support/servers/operator-login.ts'
import { assistant, createRefunder } from './support/console-agents.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations } from './support/open-console.ts'
import { createResearcher } from './support/research-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const rows = (page: Page) => page.getByRole('list', { name: 'Trace', exact: true }).getByRole('button')

async function startResearch() {
  const { server, url } = await startConsoleServer({}, { '/': assistant })
  server.add(createResearcher(server.url), { mount: '/research' })
  const reply = await (await connect(`${server.url}/research`)).send('What about chairs?')
  return { url, taskId: `${reply.task?.id}` }
}

it('the trace of a task is a waterfall whose rows open to arguments and results', async () => {
  const { url, taskId } = await startResearch()
  const { page } = await openConsole(browser, `${url}/tasks/research/${taskId}/trace`)
  await rows(page).nth(7).waitFor()
  const texts = await rows(page).allTextContents()
  expect(texts.map((text) => /^(Turn|Model|Tool|Agent)/.exec(text)?.[0])).toEqual([
    ...['Turn', 'Model', 'Tool', 'Tool', 'Model', 'Tool', 'Agent', 'Model'],
  ])
  expect(texts.filter((text) => text.includes('Failed'))).toEqual([expect.stringContaining('convert')])
  await page.getByText('tool-failed: The rate service answered 503.').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])

  await rows(page).filter({ hasText: 'search' }).click()
  await page.getByRole('figure', { name: 'Arguments' }).getByText('"chairs"').first().waitFor()
  await page.getByRole('figure', { name: 'Result' }).getByText('"Report 3"').first().waitFor()
  await rows(page).filter({ hasText: 'Sales assistant' }).click()
  await page.getByRole('link', { name: 'Open the called task' }).click()
  await page.getByRole('tab', { name: 'Trace', selected: true }).waitFor()
  await page.getByRole('figure', { name: 'Result' }).waitFor({ state: 'detached' })
  await rows(page).filter({ hasText: 'Turn 1' }).click()
  await page.getByRole('figure', { name: 'Message' }).getByText('report').first().waitFor()
})

it('a trace fits a narrow screen and the dark theme', async () => {
  const { url, taskId } = await startResearch()
  const { page } = await openConsole(browser, `${url}/tasks/research/${taskId}/trace`, { width: 390, theme: 'dark' })
  await rows(page).filter({ hasText: 'search' }).click()
  await page.getByRole('figure', { name: 'Result' }).waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  expect(await seriousViolations(page)).toEqual([])
})

it('the trace of a task that waits grows when it is answered', async () => {
  const { server, url } = await startConsoleServer({}, { '/refunds': createRefunder() })
  const client = await connect(`${server.url}/refunds`)
  const { task } = await client.send('Refund A-1047')
  const { page } = await openConsole(browser, `${url}/tasks/refunds/${task?.id}/trace`)
  await rows(page).filter({ hasText: 'Question' }).filter({ hasText: 'Waiting' }).waitFor()
  await page.getByRole('link', { name: 'Answer in the inbox' }).click()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.goBack()
  await rows(page).filter({ hasText: 'refund' }).filter({ hasText: 'Completed' }).first().waitFor()
  await rows(page).filter({ hasText: 'Question' }).filter({ hasText: 'Completed' }).waitFor()
})

it('the usage page sums tokens and cost by day, agent, caller and model', async () => {
  const counting = agent({ name: 'Counter' }, async (turn) => {
    await turn.usage({ model: 'small', inputTokens: 1_200, outputTokens: 34, cost: 250_000 })
    return 'done'
  })
  const { server, url } = await startConsoleServer({}, { '/': counting })
  await (await connect(server.url)).send('go')
  await expect.poll(async () => (await operatorOf(server).usage()).rows.length, { timeout: 15_000 }).toBe(1)
  const { page } = await openConsole(browser, `${url}/usage`)
  await page.getByRole('rowheader', { name: new Date().toISOString().slice(0, 7) }).waitFor()
  await page.getByRole('cell', { name: '1,200' }).waitFor()
  await page.getByRole('cell', { name: '0.25' }).waitFor()
  await page.getByLabel('Group by').selectOption('caller')
  await page.getByRole('rowheader', { name: 'anonymous' }).waitFor()
  expect(page.url()).toContain('by=caller')
  expect(await seriousViolations(page)).toEqual([])
})
