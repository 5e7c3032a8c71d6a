import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { agent, createHandler } from 'parley-a2a'
import { toListener } from 'parley-a2a/node'

/**
 * An agent and a web page that calls it: node examples/browser/server.ts, then open the printed address. The page imports the client
 * as a browser module; an application with a bundler imports `parley-a2a/client` instead.
 */

const counter = agent({ name: 'Counter' }, async (turn) => {
  const numbers = turn.artifact('numbers')
  for (let number = 1; number <= 10; number++) {
    await numbers.write(`${number} `)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return `Counted for ${turn.text}.`
})
const handler = createHandler(counter, { auth: 'none', mount: '/agent' })
const answer = toListener(handler.exchange)

const types: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript' }

createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname === '/agent' || pathname.startsWith('/agent/')) return answer(request, response)
  const file = fileFor(pathname)
  if (!file) return response.writeHead(404).end()
  const extension = file.pathname.split('.').at(-1) ?? ''
  response.writeHead(200, { 'content-type': types[extension] ?? 'text/plain' }).end(await readFile(file))
}).listen(Number(process.env.PORT ?? 4001), '127.0.0.1', function (this: ReturnType<typeof createServer>) {
  const address = this.address()
  if (typeof address === 'object') console.log(`listening on http://localhost:${address?.port}`)
})

/** The page, the modules of the client, and the package that they import. */
function fileFor(path: string): URL | undefined {
  if (path === '/') return new URL('./index.html', import.meta.url)
  if (path === '/page.js') return new URL('./page.js', import.meta.url)
  if (/^\/client(?:\/[\w.-]+)?\.js$/.test(path)) return new URL(`../../dist${path}`, import.meta.url)
  const [, module] = /^\/eventsource-parser\/([\w-]+\.js)$/.exec(path) ?? []
  if (module !== undefined) return new URL(module, import.meta.resolve('eventsource-parser'))
  return undefined
}
