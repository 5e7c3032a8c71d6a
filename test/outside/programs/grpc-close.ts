import { connect } from 'parley-a2a/client'
import { grpc } from 'parley-a2a/node'

const transport = grpc()
const worker = await connect(`${process.env.AGENT_URL}`, { bindings: [transport, 'JSONRPC'] })
console.log((await worker.send('hello')).text)
transport.close()
