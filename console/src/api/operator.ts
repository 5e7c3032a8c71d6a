import { createOperatorClient } from 'parley-a2a/operator'
import { consoleUrl } from '../router/links.ts'
import { watchedFetch } from './connection.ts'

/** The operator API of the server that serves this console. */
export const operator = createOperatorClient({ url: consoleUrl.href, fetch: watchedFetch })
