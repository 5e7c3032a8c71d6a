import { onTestFinished } from 'vitest'
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts'
import type { GatewayOptions } from '../../src/gateway/options.ts'
import { silentLogger } from '../support/logger.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** Starts a gateway on loopback, with its files in a directory of the test. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const directory = options.databaseUrl === undefined ? { directory: await temporaryDirectory() } : {}
  const gateway = await createGateway({
    logger: silentLogger,
    signals: false,
    console: false,
    ...directory,
    ...options,
  })
  let isClosed = false
  onTestFinished(async () => {
    if (!isClosed) await gateway.close()
  })
  return {
    ...gateway,
    async close() {
      isClosed = true
      await gateway.close()
    },
  }
}
