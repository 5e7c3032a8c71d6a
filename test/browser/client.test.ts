import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type * as ClientModule from '../../src/entries/client.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { countingAgent } from '../contracts/service/contract.ts'
import { chunks, count, numbers } from '../support/agents/counting-agent.ts'
import { buildInto } from '../support/package/published.ts'
import { launchChromium } from '../support/processes/chromium.ts'
import { startCuttingServer } from '../support/servers/cutting-server.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { anonymousListsAll, createLocalHandler } from '../support/servers/local-handler.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchChromium()
}, 180_000)

afterAll(() => browser?.close())

const types: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.html': 'text/html' }

/** The packages that the published client imports, as an application would resolve them. */
const packages = new URL('.', import.meta.resolve('eventsource-parser'))
const imports = { 'eventsource-parser': '/packages/index.js' }

const html = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">
import * as client from '/client.js'
globalThis.parley = client
</script>`

/** The global of the page. */
declare const parley: typeof ClientModule

/** A page with its own origin, which has loaded the client as it is published. */
async function open(): Promise<{ readonly page: Page; readonly origin: string }> {
  const folder = await temporaryDirectory()
  await buildInto(folder)
  const read = (path: string) =>
    readFile(path.startsWith('/packages/') ? new URL(path.slice('/packages/'.length), packages) : join(folder, path))
  const origin = await startHttpServer(async (request, response) => {
    const path = request.url ?? '/'
    const content = path === '/' ? html : await read(path).catch(() => undefined)
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': types[extname(path)] ?? 'text/html' })
    response.end(content)
  })
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(origin)
  return { page, origin }
}

type Call = { readonly url: string; readonly options?: object }

async function stream(page: Page, call: Call) {
  return await page.evaluate(async ({ url, options }: Call) => {
    const { connect } = parley
    const notices: string[] = []
    const client = await connect(url, { ...options, onNotice: ({ type }) => notices.push(type) })
    const texts: string[] = []
    const generations: number[] = []
    for await (const event of client.stream('count')) {
      if (event.type === 'artifact')
        texts.push(...event.artifact.parts.map((part) => ('text' in part ? part.text : '')))
      if (event.type === 'artifact' || event.type === 'status') generations.push(event.generation)
    }
    return { texts: texts.filter((text) => text !== ''), generations, notices, endpoint: client.explain().endpoint }
  }, call)
}

const cors = (origin: string): Pick<ServeOptions, 'cors'> => ({ cors: origin })
const quick = { resume: { minDelay: 1, maxDelay: 20 }, retry: { minDelay: 1, maxDelay: 20 } }

describe('a page in Chromium', () => {
  it.each(['JSONRPC', 'HTTP+JSON'])(
    'a page sends and streams over %s to an agent of another origin',
    async (binding) => {
      const { page, origin } = await open()
      const { server } = await startTestServer(countingAgent, {
        inputModes: 'unchecked',
        ...cors(origin),
        auth: anonymousListsAll,
      })
      const sent = await page.evaluate(
        async ({ url, options }: Call) => {
          const { connect, data } = parley
          const client = await connect(url, options)
          const hello = await client.send('hello')
          const { task } = await client.send(['count', new File(['a'], 'a.txt'), data({ pages: 2 })])
          const question = await client.conversation().send('ask')
          const ids: string[] = []
          for await (const { id } of client.listTasks()) ids.push(id)
          return { hello: hello.text, count: task?.status.state, ask: question.task?.status.state, listed: ids.length }
        },
        { url: server.url, options: { bindings: [binding] } },
      )
      expect(sent).toEqual({ hello: 'hi', count: 'completed', ask: 'input-required', listed: 2 })
      const streamed = await stream(page, { url: server.url, options: { bindings: [binding] } })
      expect(streamed).toMatchObject({ texts: ['one', 'two', 'three'], endpoint: { binding }, notices: [] })
    },
  )

  it('a resumed stream emits every event once and in order', async () => {
    const { page, origin } = await open()
    const { url, requestLines } = await startCuttingServer(createLocalHandler(count, cors(origin)), [3, 1, 7, 10])
    // A browser may drop the bytes right before a cut, so the send may have to be repeated as well.
    const { texts, generations, notices } = await stream(page, { url, options: { ...quick, peerDeduplicates: true } })
    expect(texts).toEqual(numbers)
    expect(generations).toEqual(Array.from({ length: chunks + 2 }, (_, index) => index + 3))
    expect(notices).not.toContain('best-effort')
    expect(requestLines.filter((request) => request === 'POST /')).toHaveLength(5)
    expect(requestLines).toContain('OPTIONS /')
  })

  it('a stream resumes although nothing more of the page can be loaded after the first event', async () => {
    const { page, origin } = await open()
    const { url } = await startCuttingServer(createLocalHandler(count, cors(origin)), [5, 4])
    await page.exposeFunction('goOffline', async () => {
      await page.route(`${origin}/**`, (route) => route.abort())
    })
    const texts = await page.evaluate(
      async ({ url, options }: Call) => {
        const client = await parley.connect(url, options)
        const texts: string[] = []
        let isOffline = false
        for await (const event of client.stream('count')) {
          if (!isOffline) await (globalThis as unknown as { goOffline(): Promise<void> }).goOffline()
          isOffline = true
          if (event.type === 'artifact')
            texts.push(...event.artifact.parts.map((part) => ('text' in part ? part.text : '')))
        }
        return texts.filter((text) => text !== '')
      },
      { url, options: { ...quick, peerDeduplicates: true } },
    )
    expect(texts).toEqual(numbers)
  })

  it('the client reports that the code for versions before 1.0 could not be loaded', async () => {
    const { page, origin } = await open()
    await page.route(`${origin}/**`, (route) => route.abort())
    const failure = await page.evaluate(async () => {
      const card = { name: 'Old', url: 'http://localhost/', protocolVersion: '0.3.0' }
      return await parley.connect(card).catch(({ code, reason, message }) => ({ code, reason, message }))
    })
    const message = 'The code for A2A versions before 1.0 could not be loaded.'
    expect(failure).toEqual({ code: 'unavailable', reason: 'not-loaded', message })
  })

  it('connect names a misspelled option, and the options that there are', async () => {
    const { page, origin } = await open()
    const failure = page.evaluate(async (url) => {
      const options: object = { timout: 5 }
      return await parley.connect(url, options).catch((error: Error) => error.message)
    }, origin)
    expect(await failure).toMatch(/^connect: timout is not an option\. The options are fetch, .*timeout, /)
  })

  it('the client hints at CORS if an agent does not allow the origin of the page', async () => {
    const { page } = await open()
    const { server } = await startTestServer(countingAgent)
    const failure = await page.evaluate(async (url) => {
      const { connect, A2AError } = parley
      const error = await connect(url, { retry: { tries: 1 } }).catch((thrown: unknown) => thrown)
      return error instanceof A2AError ? { code: error.code, reason: error.reason, hint: error.hint } : `${error}`
    }, server.url)
    expect(failure).toMatchObject({ code: 'unavailable', reason: 'blocked', hint: expect.stringContaining('CORS') })
  })

  it('the client reads an error although nothing more of the page can be loaded', async () => {
    const { page, origin } = await open()
    const { server } = await startTestServer(countingAgent, cors(origin))
    const client = await page.evaluateHandle((url) => parley.connect(url, { retry: { tries: 1 } }), server.url)
    await page.route(`${origin}/**`, (route) => route.abort())
    const failure = await client.evaluate(
      async (connected) =>
        await connected
          .task('none')
          .get()
          .catch(({ name, code }) => ({ name, code })),
    )
    expect(failure).toEqual({ name: 'A2AError', code: 'task-not-found' })
  })

  it('the client reports that a browser has no files', async () => {
    const { page } = await open()
    const message = await page.evaluate(async () => {
      const { connect } = parley
      return await connect('./card.json').catch((error: Error) => error.message)
    })
    expect(message).toBe(
      'The file ./card.json cannot be read: there are no files on this platform; pass its content instead.',
    )
  })
})
