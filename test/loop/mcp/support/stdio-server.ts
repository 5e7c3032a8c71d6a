import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { testServer } from './test-server.ts'

serveStdio(() => testServer())
