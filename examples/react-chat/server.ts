import { createServer } from 'node:http'
import { agent, createHandler } from 'parley-a2a'
import { toListener } from 'parley-a2a/node'
import { rolldown } from 'rolldown'
import { z } from 'zod'

/**
 * A chat with an agent in React: node examples/react-chat/server.ts, then open the printed address. Reload the page while the agent
 * writes, open it in a second tab, stop it, and answer its question. The page is `page.tsx`, with the hook `useAgent`.
 */

const travel = agent(
  {
    name: 'Travel',
    recovery: 'resume',
    skills: [{ id: 'plan', name: 'plan', description: 'Plans a trip.', tags: [] }],
  },
  async (turn) => {
    await turn.status('working', 'Looking for places…')
    const trip = await turn.ask('Where to, and for how many days?', {
      schema: z.object({ city: z.string(), days: z.number().int() }),
    })
    const plan = turn.artifact('plan')
    for (let day = 1; day <= trip.days; day++) {
      for (const word of `Day ${day}: see another part of ${trip.city} and rest. `.split(/(?<= )/)) {
        await plan.write(word)
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
    }
    await turn.data({ city: trip.city, days: trip.days, price: trip.days * 120 }, 'offer')
    return `Have a good time in ${trip.city}!`
  },
)

const handler = createHandler(travel, { auth: 'none', mount: '/agent' })
const answer = toListener(handler.exchange)

/** The page with everything that it imports. An application has a bundler of its own. */
async function bundlePage(): Promise<string> {
  await using bundle = await rolldown({
    input: new URL('./page.tsx', import.meta.url).pathname,
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' }, jsx: 'react-jsx' },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
  return output[0].code
}

const script = await bundlePage()
const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Travel</title><meta name="viewport" content="width=device-width">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff }
ol { list-style: none; padding: 0; display: grid; gap: .75rem }
li { padding: .6rem .9rem; border-radius: .8rem; max-width: 85%; background: #f0f2f5; white-space: pre-wrap }
li.user { justify-self: end; background: #dbe8ff }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin-top: 1rem }
label { display: grid; font-size: .85rem } input { font: inherit; padding: .45rem .6rem; border: 1px solid #9aa4b1; border-radius: .5rem }
button { font: inherit; padding: .5rem .9rem; border: 0; border-radius: .5rem; background: #1a56db; color: #fff }
button.quiet { background: #5b6472 } table { border-collapse: collapse } td { padding: .1rem .8rem .1rem 0 }
[role=alert] { color: #a61b1b } [role=status] { color: #57606a; min-height: 1.5em }
</style><main id="root"></main><script type="module" src="/page.js"></script></html>`

createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname === '/agent' || pathname.startsWith('/agent/')) return answer(request, response)
  if (pathname === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  if (pathname === '/page.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
  return response.writeHead(404).end()
}).listen(Number(process.env.PORT ?? 4002), '127.0.0.1', function (this: ReturnType<typeof createServer>) {
  const address = this.address()
  if (typeof address === 'object') console.log(`listening on http://localhost:${address?.port}`)
})
