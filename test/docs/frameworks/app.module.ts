// app.module.ts
import 'reflect-metadata'
import { Module } from '@nestjs/common'

/** The module of an application, without the decorator syntax, which Node does not run. */
export class AppModule {}
Module({})(AppModule)
