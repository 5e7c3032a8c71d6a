import { readdir, readFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { ClientFactory } from '@a2a-js/sdk/client'
import { getRequestListener } from '@hono/node-server'
import { expect, it } from 'vitest'
import { readAsSnippet } from '../support/package/snippets.ts'
import { sdkFactoryClient } from '../support/sdk/factory-client.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { app as expressApp } from './frameworks/express.ts'
import { app as fastifyApp } from './frameworks/fastify.ts'
import { app as honoApp } from './frameworks/hono.ts'
import { app as koaApp } from './frameworks/koa.ts'
import { app as nestApp } from './frameworks/nest.ts'
import { DELETE, GET, HEAD, OPTIONS, POST } from './frameworks/next-route.ts'

const page = await readFile(new URL('../../docs/guides/frameworks.md', import.meta.url), 'utf8')
const recipes = new URL('./frameworks/', import.meta.url)

it('the page shows every recipe file', async () => {
  const names = await readdir(recipes)
  expect(names).toHaveLength(9)
  for (const name of names) expect(page).toContain(`\`\`\`ts\n${await readAsSnippet(new URL(name, recipes))}\`\`\``)
})

/** The applications of the page. */
const applications: Readonly<Record<string, () => Promise<RequestListener>>> = {
  Express: async () => expressApp,
  NestJS: async () => (await nestApp.init()).getHttpAdapter().getInstance(),
  Fastify: async () => {
    await fastifyApp.ready()
    return (request, response) => fastifyApp.routing(request, response)
  },
  Koa: async () => koaApp.callback(),
  Hono: async () => getRequestListener(honoApp.fetch),
  'Next.js': async () =>
    getRequestListener((request) => {
      const path = new URL(request.url).pathname.split('/').slice(3).filter(Boolean)
      const handlers: Readonly<Record<string, typeof GET>> = { DELETE, GET, HEAD, OPTIONS, POST }
      const handle = handlers[request.method] ?? POST
      return handle(request, { params: Promise.resolve({ path }) })
    }),
}

it.each(Object.keys(applications))('the official SDK calls the agent of the page in %s', async (name) => {
  const listener = await applications[name]?.()
  if (!listener) throw new Error(`there is no ${name}`)
  const origin = await startHttpServer(listener)
  const client = await sdkFactoryClient(new ClientFactory(), `${origin}/agents/echo/`)
  expect(await client.send('hello')).toEqual({ message: 'You said: hello' })
})
