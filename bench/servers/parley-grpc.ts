import { createMemoryLog, serve } from 'parley-a2a'
import { control } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** Parley with the memory log, serving gRPC and HTTP. */
const { port } = await serve(createBenchAgent(), { log: createMemoryLog(), signals: false, grpc: true })
control(port)
