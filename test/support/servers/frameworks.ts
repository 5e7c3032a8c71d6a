import 'reflect-metadata'
import { PassThrough } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { bodyParser } from '@koa/bodyparser'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import express5 from 'express'
// @ts-expect-error There are no types for the name of this version.
import express4Untyped from 'express-4'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import koaMount from 'koa-mount'
import { onTestFinished } from 'vitest'
import { fastifyPlugin } from '../../../src/entries/fastify.ts'
import { honoHandler } from '../../../src/entries/hono.ts'
import { koaMiddleware } from '../../../src/entries/koa.ts'
import { type RouteHandlers, routeHandlers } from '../../../src/entries/next.ts'
import { toListener } from '../../../src/entries/node.ts'
import type { Handler } from '../../../src/entries/server.ts'
import { startHttpServer } from './http-server.ts'

/** Where an application has its agent. */
export interface Place {
  /** The path of the agent: empty for the root. */
  readonly mount: string
  /** Whether the application reads bodies before the agent gets a request. */
  readonly parsesBodies: boolean
}

/** The application has a page of its own, which is registered after the agent. */
export const ownPage = { path: '/about', text: 'the rest of the application' }

export type StartApplication = (handler: Handler, place: Place) => Promise<string>

/** Real applications with an agent, by the name of their framework. Each returns its origin. */
export const applications: Readonly<Record<string, StartApplication>> = {
  'Express 4': (handler, place) => startExpress(express4, handler, place),
  'Express 5': (handler, place) => startExpress(express5, handler, place),

  async Fastify(handler, { mount, parsesBodies }) {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    // Such a hook decompresses bodies, for example.
    if (parsesBodies) app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough()))
    await app.register(fastifyPlugin(handler), { prefix: mount })
    app.get(ownPage.path, async () => ownPage.text)
    return await app.listen({ port: 0, host: '127.0.0.1' })
  },

  Hono(handler, { mount, parsesBodies }) {
    const app = new Hono()
    if (parsesBodies) {
      app.use(async ({ req }, next) => {
        if (req.method === 'POST') await req.json().catch(() => {})
        await next()
      })
    }
    app.all(`${mount}/*`, honoHandler(handler))
    app.get(ownPage.path, (context) => context.text(ownPage.text))
    return startHttpServer(getRequestListener(app.fetch))
  },

  Koa(handler, { mount, parsesBodies }) {
    const app = new Koa()
    if (parsesBodies) app.use(bodyParser())
    app.use(mount === '' ? koaMiddleware(handler) : koaMount(mount, koaMiddleware(handler)))
    app.use((context) => {
      if (context.path === ownPage.path) context.body = ownPage.text
    })
    return startHttpServer(app.callback())
  },

  async NestJS(handler, { mount, parsesBodies }) {
    class AppModule {}
    Module({})(AppModule)
    const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: false, bodyParser: false })
    onTestFinished(() => app.close())
    if (parsesBodies) app.useBodyParser('json')
    if (mount === '') app.use(toListener(handler.exchange))
    else app.use(mount, toListener(handler.exchange))
    app.use(ownPage.path, (_request: unknown, response: express5.Response) => void response.send(ownPage.text))
    await app.listen(0, '127.0.0.1')
    return (await app.getUrl()).replace('[::1]', '127.0.0.1')
  },

  'Next.js': (handler, { mount }) => startHttpServer(getRequestListener(routeLikeNext(routeHandlers(handler), mount))),
}

const express4 = express4Untyped as typeof express5

function startExpress(express: typeof express5, handler: Handler, { mount, parsesBodies }: Place): Promise<string> {
  const app = express()
  if (parsesBodies) app.use(express.json())
  if (mount === '') app.use(toListener(handler.exchange))
  else app.use(mount, toListener(handler.exchange))
  app.get(ownPage.path, (_request, response) => void response.send(ownPage.text))
  return startHttpServer(app)
}

/** Calls the handlers of `app<mount>/[[...path]]/route.ts` as Next.js does, which redirects away from trailing slashes. */
function routeLikeNext(handlers: RouteHandlers, mount: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === ownPage.path) return new Response(ownPage.text)
    if (pathname.endsWith('/') && pathname !== '/') return Response.redirect(request.url.replace(/\/$/, ''), 308)
    const path = pathname.slice(mount.length).split('/').filter(Boolean).map(decodeURIComponent)
    const handle = handlers[request.method as keyof RouteHandlers]
    return await handle(request, { params: Promise.resolve(path.length === 0 ? {} : { path }) })
  }
}
