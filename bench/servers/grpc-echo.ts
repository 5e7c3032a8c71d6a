import { fileURLToPath } from 'node:url'
import { type handleUnaryCall, loadPackageDefinition, Server, ServerCredentials } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { sampleAnswer } from '../samples.ts'
import { control } from './control.ts'

/** No work: `@grpc/grpc-js` reads the message, and answers what Parley would, prepared. */
const { task } = JSON.parse(sampleAnswer).result
const seconds = Math.floor(Date.parse(task.status.timestamp) / 1_000)
const answer = { task: { ...task, status: { ...task.status, timestamp: { seconds, nanos: 1_000_000 } } } }

const definition = loadSync('lf/a2a/v1/a2a.proto', {
  includeDirs: [fileURLToPath(new URL('../../proto', import.meta.url))],
})
const packages = loadPackageDefinition(definition)
void packages
const sendMessage: handleUnaryCall<unknown, unknown> = (_call, callback) => callback(null, answer)
const server = new Server()
server.addService(definition['lf.a2a.v1.A2AService'] as Parameters<Server['addService']>[0], {
  SendMessage: sendMessage,
})
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  control(port)
})
