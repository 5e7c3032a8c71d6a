import Koa from 'koa'
import mount from 'koa-mount'
import { koaMiddleware } from '../../../src/entries/koa.ts'
import { handler } from './handler.ts'

export const app = new Koa()
app.use(mount('/agents/echo', koaMiddleware(handler)))
