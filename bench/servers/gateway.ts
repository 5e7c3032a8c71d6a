import { createGateway } from 'parley-a2a/gateway'
import { control } from './control.ts'

/** A gateway with its records in SQLite, in front of the given port. */
const [port, mode, directory = ''] = process.argv.slice(2)
const agents = {
  bench: { url: `http://127.0.0.1:${port}`, mode: mode === 'durable' ? 'durable' : 'pass-through' },
} as const
const gateway = await createGateway({ agents, directory, signals: false, console: false })
control(gateway.port)
