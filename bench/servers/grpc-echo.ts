import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { a2aMethods } from '../grpc-methods.ts'
import { sampleResponse } from '../sample-responses.ts'
import { control } from './control.ts'

/** `@grpc/grpc-js` reads the message and sends a prepared response. */
const { task } = JSON.parse(sampleResponse).result
const timestamp = { seconds: Math.floor(Date.now() / 1_000), nanos: 1_000_000 }
const response = { task: { ...task, status: { ...task.status, timestamp } } }
const SendMessage: handleUnaryCall<unknown, unknown> = (_, respond) => respond(null, response)

const server = new Server()
server.addService(a2aMethods, { SendMessage })
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  control(port)
})
