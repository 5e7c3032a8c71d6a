import { NestFactory } from '@nestjs/core'
import { toListener } from '../../../src/entries/node.ts'
import { AppModule } from './app.module.ts'
import { handler } from './handler.ts'

export const app = await NestFactory.create(AppModule)
app.use('/agents/echo', toListener(handler.exchange))
