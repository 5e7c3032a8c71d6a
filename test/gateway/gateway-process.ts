import { createGateway } from '../../src/gateway/gateway.ts'
import { silentLogger } from '../support/logger.ts'

/** Starts a gateway with the options of its first argument, for tests that kill it. Prints its address. */
const gateway = await createGateway({ ...JSON.parse(process.argv[2] ?? '{}'), logger: silentLogger, console: false })
process.stdout.write(`${gateway.url}\n`)
