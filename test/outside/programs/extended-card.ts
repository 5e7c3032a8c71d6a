import { connect } from 'parley-a2a/client'
import { apiKeyCredentials } from 'parley-a2a/client/auth'

const auth = [apiKeyCredentials(() => `${process.env.AGENT_KEY}`)]
const worker = await connect(`${process.env.SECURED_URL}`, { auth })
console.log((await worker.extendedCard()).description)
