import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, connect, type Reply } from '../../../src/entries/client.node.ts'
import type { OperatorAnswer, TaskKey } from '../../../src/entries/operator.ts'
import { launchChromium } from '../../support/processes/chromium.ts'
import { operatorOf } from '../../support/servers/operator-login.ts'
import { assistant } from './support/console-agents.ts'
import { startConsoleServer } from './support/console-server.ts'
import { openConsole, seriousViolations } from './support/open-console.ts'
import { createDispatcher } from './support/tool-agent.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const now = { returnImmediately: true } as const
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 15_000 })

/** Waits until the task has ended, and compares what it says or has produced. */
async function expectText(client: Client, { task }: Reply, text: string): Promise<void> {
  const handle = client.task(`${task?.id}`)
  await eventually(async () => (await handle.get()).status.state).toBe('completed')
  expect(JSON.stringify(await handle.get())).toContain(text)
}

it('an operator answers, chooses and approves for the callers of all agents', async () => {
  const { server, url } = await startConsoleServer()
  const assistant = await connect(server.url)
  const refunds = await connect(`${server.url}/refunds`)
  const { page } = await openConsole(browser, `${url}/inbox`)
  await page.getByText('Nothing waits for you').first().waitFor()

  const free = await assistant.send('ask', now)
  const item = page.getByRole('article', { name: 'Question of Sales assistant' })
  await item.getByText('What is your name?').first().waitFor()
  await item.getByText('Request: ask').first().waitFor()
  expect(await seriousViolations(page)).toEqual([])
  await item.getByLabel('Your answer').fill('Ada')
  await item.getByRole('button', { name: 'Answer' }).click()
  await expectText(assistant, free, 'Hello Ada')
  await page.getByText('Nothing waits for you').first().waitFor()
  await eventually(() => page.evaluate(() => document.activeElement?.tagName)).toBe('H1')

  const choice = await assistant.send('choose', now)
  await item.getByRole('button', { name: 'west' }).click()
  await expectText(assistant, choice, 'You chose west')

  const order = await assistant.send('form', now)
  await item.getByLabel('name').fill('Grace')
  await item.getByLabel('copies').fill('2')
  await item.getByRole('button', { name: 'Answer' }).click()
  await expectText(assistant, order, '2 copies for Grace')

  const refund = await refunds.send('Refund A-1047', now)
  const approval = page.getByRole('article', { name: 'Approval of Refunds' })
  await approval
    .getByText(/^4 min \d+ s left$/)
    .first()
    .waitFor()
  await approval.getByLabel('Comment').fill('checked by phone')
  await approval.getByRole('button', { name: 'Approve' }).click()
  await expectText(refunds, refund, 'The order is settled.')
  expect(JSON.stringify(await refunds.task(`${refund.task?.id}`).get())).toContain('checked by phone')
})

it('an operator sends the results of tools, and credentials, which the page forgets', async () => {
  const agents = { '/': assistant, '/dispatch': createDispatcher() }
  const { server, url } = await startConsoleServer({}, agents)
  const sales = await connect(server.url)
  const dispatcher = await connect(`${server.url}/dispatch`)
  const { page } = await openConsole(browser, `${url}/inbox`)

  const located = await dispatcher.send('locate', now)
  const call = page.getByRole('article', { name: 'Tool call of Dispatcher' })
  await call.getByText('route planning').first().waitFor()
  await call.getByLabel('city').fill('Thun')
  await call.getByRole('button', { name: 'Send result' }).click()
  await expectText(dispatcher, located, 'Thun')

  const measured = await dispatcher.send('measure', now)
  await call.getByLabel('It failed').check()
  await call.getByLabel('What went wrong').fill('no pressure')
  expect(await seriousViolations(page)).toEqual([])
  await call.getByRole('button', { name: 'Report the failure' }).click()
  await expectText(dispatcher, measured, 'error-text')

  const login = await sales.send('login', now)
  const request = page.getByRole('article', { name: 'Credentials of Sales assistant' })
  await request.getByRole('link', { name: 'https://example.com/token' }).waitFor()
  const token = request.getByLabel('Token', { exact: true })
  expect([await token.getAttribute('type'), await token.getAttribute('autocomplete')]).toEqual(['password', 'off'])
  await token.fill('t0p-secret')
  await request.getByRole('button', { name: 'Send credentials' }).click()
  await expectText(sales, login, 'Received 10 characters')
  await page.getByText('Nothing waits for you').first().waitFor()
  expect(await page.content()).not.toContain('t0p-secret')
})

it('the inbox is filtered, and what other people answer disappears', async () => {
  const { server, url } = await startConsoleServer()
  const assistant = await connect(server.url)
  await assistant.send('ask', now)
  await assistant.send('login', now)
  await (await connect(`${server.url}/refunds`)).send('Refund A-1047', now)
  const { page } = await openConsole(browser, `${url}/inbox`)
  const items = page.getByRole('article')
  await eventually(() => items.count()).toBe(3)
  await page.getByLabel('Kind').selectOption('Approval')
  await page.getByRole('article', { name: 'Approval of Refunds' }).waitFor()
  await eventually(() => items.count()).toBe(1)
  expect(new URL(page.url()).search).toBe('?kind=approval')
  await page.getByLabel('Agent').selectOption('Sales assistant')
  await page.getByText('Nothing that waits matches').first().waitFor()
  await page.getByLabel('Kind').selectOption('Everything')
  await eventually(() => items.count()).toBe(2)
  await page.getByLabel('Search by request, task or caller').fill('LOGIN')
  await page.getByRole('article', { name: 'Credentials of Sales assistant' }).waitFor()
  await eventually(() => items.count()).toBe(1)

  await page.goto(`${url}/inbox`)
  const answer = page.getByRole('article', { name: 'Question of Sales assistant' }).getByLabel('Your answer')
  await answer.fill('half a sen')
  const operator = operatorOf(server)
  const { items: waiting } = await operator.inbox({ kind: 'approval' })
  await operator.answer(waiting[0] as TaskKey, { ...waiting[0]?.waiting, decision: 'decline' } as OperatorAnswer)
  await eventually(() => items.count()).toBe(2)
  // What a person has typed stays.
  expect(await answer.inputValue()).toBe('half a sen')
  await expect(operator.inbox({ kind: 'poem' as 'input' })).rejects.toThrow('expected one of input')
})

it('the title and a notification say that an agent needs a person', async () => {
  const { server, url } = await startConsoleServer()
  const { page, context } = await openConsole(browser, `${url}/agents/refunds`)
  await context.grantPermissions(['notifications'])
  // A browser without a window shows no notifications and is never hidden: what the page does is recorded.
  await page.addInitScript(() => {
    const shown: string[] = []
    class Recorded {
      static readonly permission = 'granted'
      static requestPermission = async () => 'granted'
      onclick: (() => void) | undefined
      constructor(title: string, { body }: { readonly body: string }) {
        shown.push(`${title}: ${body}`)
        setTimeout(() => this.onclick?.(), 100)
      }
      close() {}
    }
    Object.assign(globalThis, { Notification: Recorded, shown })
    Object.defineProperty(document, 'hidden', { get: () => true })
  })
  await page.reload()
  await page.getByRole('heading', { name: 'Refunds', level: 1 }).waitFor()
  const second = await context.newPage()
  await second.goto(`${url}/overview`)
  await second.getByRole('heading', { name: 'Overview' }).waitFor()
  await (await connect(server.url)).send('ask', now)
  await page.getByRole('article', { name: 'Question of Sales assistant' }).waitFor()
  expect(await page.evaluate('shown')).toEqual(['Sales assistant needs you: ask'])
  await eventually(() => page.title()).toContain('(1) ')
  // Another page of the same browser follows without a connection of its own.
  await eventually(() => second.title()).toContain('(1) ')
})

it('the navigation counts what waits', async () => {
  const { server, url } = await startConsoleServer()
  const assistant = await connect(server.url)
  await assistant.send('ask', now)
  await assistant.send('choose', now)
  const { page } = await openConsole(browser, `${url}/agents/refunds`)
  await page.getByRole('link', { name: 'Inbox 2 waiting' }).waitFor()
})

it('a slow network shows that the page is loading, and an error can be tried again', async () => {
  const { url } = await startConsoleServer()
  const { page } = await openConsole(browser, `${url}/chat`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  const arrived = Promise.withResolvers<void>()
  let answers = 0
  await page.route('**/api/v1/inbox', async (route) => {
    await arrived.promise
    if (answers++ === 0)
      await route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'internal error' } } })
    else await route.continue()
  })
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Inbox' }).click()
  await page.getByText('Loading the inbox…').first().waitFor()
  arrived.resolve()
  await page.getByText('internal error').first().waitFor()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('Nothing waits for you').first().waitFor()
})
